"""Taking several numbers at once, for compiled loops: adding small whole ones up, and finding the largest of many.

Written as vectors of LLVM's own, for any processor. As loops they stay loops: what is read might lie where the sums are
written, for all that the compiler knows, and which of two numbers is the larger depends on whether they are numbers, so
it takes one after the other.

A compiled loop is kept for the next process until its own file changes: after a change here, touch those that use it.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # numbers that are added up at a time
WIDE_LANES = 16  # and of which the largest is found


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


@intrinsic  # type: ignore[untyped-decorator]
def largest(context: Any, values: Any, first: Any, count: Any) -> Any:
    """The largest of `count` values, float32 from `first` on; they must fill whole wide lanes, and nothing is checked.

    Where some are not numbers it may be any of them.
    """
    wide = ir.VectorType(ir.FloatType(), WIDE_LANES)

    def build(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = target.make_array(signature.args[0])(target, builder, arguments[0]).data
        start, end = arguments[1:]

        def at(place: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(data, [place]), wide.as_pointer()), align=4)

        def larger(one: Any, other: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", one, other), one, other)

        found = cgutils.alloca_once_value(builder, at(start))
        step = ir.Constant(end.type, WIDE_LANES)
        with cgutils.for_range_slice(builder, step, end, step, intp=end.type) as (place, _):
            builder.store(larger(at(builder.add(start, place)), builder.load(found)), found)
        left, width = builder.load(found), WIDE_LANES
        while width > 1:  # one half against the other
            width //= 2
            halves = [[*range(width)], [*range(width, 2 * width)]]
            masks = [ir.Constant(ir.VectorType(ir.IntType(32), width), half) for half in halves]
            left = larger(*(builder.shuffle_vector(left, left, mask) for mask in masks))
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return numba.float32(values, first, count), build
