"""A graph under construction: nodes are added one at a time and name their results themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Value = str
"""The name of a tensor in the graph."""

Operand = Value | NDArray[Any] | np.generic
"""A tensor of the graph, or numbers that become a constant of it."""

ML = "ai.onnx.ml"


class GraphBuilder:
    """Collects nodes, constants, inputs and outputs; `taken` are names that belong to inputs and outputs."""

    def __init__(self, taken: Iterable[str]) -> None:
        prefix = "gditd."
        while any(name.startswith(prefix) for name in taken):
            prefix = f"_{prefix}"
        self._prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], onnx.TensorProto] = {}
        self.defaults: list[onnx.TensorProto] = []

    def __call__(self, op: str, *operands: Operand, domain: str = "", **attributes: Any) -> Value:
        """Add a node and return its only result."""
        return self._node(helper.make_node(op, self._names(operands), [self._new(op)], domain=domain, **attributes))

    def second_of(self, op: str, *operands: Operand) -> Value:
        """Add a node and return the second of its two results."""
        name = self._new(op)
        self._node(helper.make_node(op, self._names(operands), [f"{name}.first", name]))
        return name

    def with_long_attributes(self, op: str, operand: Value, attributes: Mapping[str, Any]) -> Value:
        """Add a node of ai.onnx.ml with lists so long that checking every element, as usual, would take its time."""
        node = helper.make_node(op, [operand], [self._new(op)], domain=ML)
        node.attribute.extend(long_attribute(name, value) for name, value in attributes.items())
        return self._node(node)

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> Value:
        """Add an input."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def input_with_default(self, name: str, default: np.generic) -> Value:
        """Add an input that need not be given."""
        array = np.asarray(default)
        self.defaults.append(numpy_helper.from_array(array, name))
        return self.input(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    def output(self, name: str, value: Value, kind: int, shape: Sequence[str | int]) -> None:
        """Give a tensor out under a name."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def graph(self, name: str) -> onnx.GraphProto:
        """All of it."""
        constants = [*self.constants.values(), *self.defaults]
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, constants)

    def _node(self, node: onnx.NodeProto) -> Value:
        node.name = node.output[0]
        self.nodes.append(node)
        return str(node.output[0])

    def _new(self, op: str) -> str:
        return f"{self._prefix}{op}.{len(self.nodes)}"

    def _names(self, operands: Iterable[Operand]) -> list[str]:
        return [operand if isinstance(operand, str) else self._constant(operand) for operand in operands]

    def _constant(self, value: NDArray[Any] | np.generic) -> str:
        """The name of a constant; equal ones are kept once."""
        array = np.asarray(value)
        array = array if array.ndim == 0 else np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = tensor(array, f"{self._prefix}constant.{len(self.constants)}")
        return str(self.constants[key].name)


def tensor(array: NDArray[Any], name: str) -> onnx.TensorProto:
    """Numbers or texts as ONNX keeps them."""
    if array.dtype.kind == "U":
        texts = [str(text).encode() for text in array.flat]
        return TensorProto(name=name, data_type=TensorProto.STRING, dims=array.shape, string_data=texts)
    return numpy_helper.from_array(array, name)


def long_attribute(name: str, value: Any) -> onnx.AttributeProto:
    """An attribute; arrays are taken over as they are."""
    if not isinstance(value, np.ndarray):
        return helper.make_attribute(name, value)
    attribute = onnx.AttributeProto(name=name)
    if value.dtype.kind == "i":
        attribute.type = onnx.AttributeProto.INTS
        attribute.ints.extend(value.tolist())
    elif value.dtype.kind == "f":
        attribute.type = onnx.AttributeProto.FLOATS
        attribute.floats.extend(value.tolist())
    else:
        attribute.type = onnx.AttributeProto.STRINGS
        attribute.strings.extend(value.tolist())
    return attribute
