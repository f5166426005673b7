"""The members' networks and heads. Members stay stacked, (members, n, d), as a cohort runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gditd.integrations.onnx.builder import GraphBuilder, Value
from gditd.integrations.onnx.numbers import encoded_numbers
from gditd.integrations.onnx.operations import as_double, bounded, picked, product, reduced, side_by_side
from gditd.integrations.onnx.sums import sum_of_row
from gditd.lens import Lens
from gditd.nn import MLP, ResidualMLP
from gditd.nn.descriptor import LARGEST_DISTANCE
from gditd.training import Cohort

Tensors = Mapping[str, Tensor]


def inputs_of(graph: GraphBuilder, features: Value, cohort: Cohort) -> Value:
    """Rows (n, width) as the members are shown them."""
    return seen_through(graph, features, cohort.lens) if isinstance(cohort.lens, Lens) else features


def layer_outputs(graph: GraphBuilder, inputs: Value, cohort: Cohort) -> list[Value]:
    """What each layer of all members makes of its inputs, the embedding last: (members, n, d) each."""
    network, tensors = cohort.architecture.network, cohort.network
    if isinstance(network, MLP):
        return mlp_layers(graph, inputs, tensors, len(network.layers))
    assert isinstance(network, ResidualMLP)  # `refuse_unfit` has let nothing else pass
    return residual_layers(graph, inputs, tensors, network)


def seen_through(graph: GraphBuilder, features: Value, lens: Lens) -> Value:
    """Features (n, width) with normal scores in some places: set beside all others, and picked from there."""
    places = lens.places.numpy()
    numbers = as_double(graph, picked(graph, features, places.tolist()))
    scores = encoded_numbers(graph, numbers, lens.scores).features
    order = np.arange(lens.width)
    order[places] = lens.width + np.arange(len(places))
    return picked(graph, side_by_side(graph, [features, scores]), order.tolist())


def mlp_layers(graph: GraphBuilder, value: Value, tensors: Tensors, n_layers: int) -> list[Value]:
    """Linear layers with ReLU between them."""
    outputs = []
    for number in range(n_layers - 1):
        value = graph("Relu", linear(graph, value, tensors, f"layers.{number}"))
        outputs.append(value)
    return [*outputs, linear(graph, value, tensors, f"layers.{n_layers - 1}")]


def residual_layers(graph: GraphBuilder, value: Value, tensors: Tensors, network: ResidualMLP) -> list[Value]:
    """A linear stem, and blocks that add to what came in."""
    outputs = [linear(graph, value, tensors, "stem")]
    for number, block in enumerate(network.blocks):
        assert isinstance(block.norm, nn.LayerNorm)
        name = f"blocks.{number}"
        normal = layer_norm(graph, outputs[-1], tensors, f"{name}.norm", block.norm.eps)
        expanded = graph("Relu", linear(graph, normal, tensors, f"{name}.expand"))
        outputs.append(graph("Add", outputs[-1], linear(graph, expanded, tensors, f"{name}.contract")))
    return outputs


def linear(graph: GraphBuilder, value: Value, tensors: Tensors, name: str) -> Value:
    """One layer of all members."""
    weight, bias = array(tensors[f"{name}.weight"]), array(tensors[f"{name}.bias"])
    return graph("Add", product(graph, value, weight), bias[:, None])


def layer_norm(graph: GraphBuilder, value: Value, tensors: Tensors, name: str, eps: float) -> Value:
    """Mean 0 and variance 1 over the last dimension, then scaled and shifted."""
    centred = graph("Sub", value, reduced(graph, "Mean", value, -1))
    variance = reduced(graph, "Mean", graph("Mul", centred, centred), -1)
    normal = graph("Div", centred, graph("Sqrt", graph("Add", variance, np.float32(eps))))
    scaled = graph("Mul", normal, array(tensors[f"{name}.weight"])[:, None])
    return graph("Add", scaled, array(tensors[f"{name}.bias"])[:, None])


def zeta_of_members(graph: GraphBuilder, embedding: Value, cohort: Cohort) -> Value:
    """Zeta by every member, (members, n, classes), in float64 as the cohort has it."""
    head = {name: value.detach().cpu().double() for name, value in cohort.head.items()}
    log_radii = head["log_radii"].clamp_min(0)
    half_precision = (-2 * log_radii).exp() / 2
    squared = squared_distances(graph, as_double(graph, embedding), array(head["centers"]))
    scaled = graph("Mul", squared, array(half_precision.unsqueeze(-2)))
    distance = graph("Add", scaled, array((head["centers"].shape[-1] * log_radii).unsqueeze(-2)))
    return graph("Sub", array(log_radii.exp().unsqueeze(-2)), distance)


def squared_distances(graph: GraphBuilder, points: Value, centers: NDArray[Any]) -> Value:
    """Squared distance of every point to every centre, (..., n, d) and (..., k, d) -> (..., n, k)."""
    kind = centers.dtype.type
    means = torch.from_numpy(centers)
    of_centers = (means * means).sum(-1).unsqueeze(-2).numpy()
    of_points = sum_of_row(graph, graph("Mul", points, points), centers.shape[-1])
    cross = product(graph, points, np.swapaxes(centers, -1, -2))
    squared = graph("Add", of_points, of_centers)
    squared = graph("Sub", squared, graph("Mul", cross, kind(2)))
    return bounded(graph, squared, kind(0), kind(LARGEST_DISTANCE))


def picked_member(graph: GraphBuilder, values: Value, member: int) -> Value:
    """One of the members, (members, n, d) -> (n, d)."""
    return graph("Gather", values, np.int64(member), axis=0)


def array(tensor: Tensor) -> NDArray[Any]:
    """A tensor's numbers."""
    numbers: NDArray[Any] = tensor.detach().cpu().numpy()
    return numbers
