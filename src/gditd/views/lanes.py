"""Adding up several small whole numbers at once, for compiled loops.

Written as a vector of LLVM's own, for any processor. As a loop it stays one: what is read might lie where the sums are
written, for all that the compiler knows, so it takes one number after the other.

A compiled loop is kept for the next process until its own file changes: after a change here, touch those that use it.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

LANES = 8  # numbers that are added up at a time


def in_lanes(count: int) -> int:
    """So many numbers, filled up to whole lanes."""
    return -(-count // LANES) * LANES


@intrinsic  # type: ignore[untyped-decorator]
def add_lanes(context: Any, sums: Any, place: Any, values: Any, first: Any) -> Any:
    """Add `LANES` values, int16 from `first` on, to as many sums, int32 from `place` on; nothing is checked."""
    small, large = (ir.VectorType(ir.IntType(bits), LANES) for bits in (16, 32))

    def build(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def lanes_at(array: int, start: int, kind: Any) -> Any:
            data = target.make_array(signature.args[array])(target, builder, arguments[array]).data
            return builder.bitcast(builder.gep(data, [arguments[start]]), kind.as_pointer())

        own, more = lanes_at(0, 1, large), lanes_at(2, 3, small)
        added = builder.add(builder.load(own, align=4), builder.sext(builder.load(more, align=2), large))
        builder.store(added, own, align=4)
        return target.get_dummy_value()

    return numba.types.void(sums, place, values, first), build
