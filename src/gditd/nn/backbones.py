"""Networks that turn an encoded row into an embedding.

Their layers work on plain parameters (2-D weights) and on the stacked parameters of many members (3-D weights)
alike, so a cohort runs them as one program. `stackable = True` tells it so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

Pullback = Callable[[Tensor], dict[str, Tensor]]


class StackableLinear(nn.Module):
    """A linear layer that may carry a leading member dimension. (..., batch, in) -> (..., batch, out).

    The weight has shape (in, out), or (members, in, out) when stacked: this way round its gradient comes out of
    the matrix product contiguous, and the optimiser need not copy it.
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        bound = n_in**-0.5  # as torch.nn.Linear draws its first weights
        self.weight = nn.Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Apply one layer, or one per member in a single batched product."""
        if self.weight.ndim == 2:
            return x @ self.weight + self.bias
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight)

    def extra_repr(self) -> str:
        """Show the sizes in the module's repr."""
        return f"n_in={self.weight.shape[-2]}, n_out={self.weight.shape[-1]}"


class StackableLayerNorm(nn.LayerNorm):
    """Layer normalisation over the last dimension whose scale and shift may carry a member dimension."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise, then scale and shift."""
        if self.weight.ndim == 1:
            return super().forward(x)
        normalised = nn.functional.layer_norm(x, self.normalized_shape, eps=self.eps)
        return torch.addcmul(self.bias.unsqueeze(1), normalised, self.weight.unsqueeze(1))


class MLP(nn.Module):
    """The paper's network: linear layers with ReLU between them and a linear last one. (batch, f) -> (batch, d)."""

    stackable: ClassVar[bool] = True

    def __init__(self, n_features: int, *, widths: Sequence[int] = (128, 128, 128)) -> None:
        super().__init__()
        if n_features < 1 or not widths or min(widths) < 1:
            raise ValueError(f"n_features and every width must be at least 1, got {n_features} and {tuple(widths)}")
        sizes = [n_features, *widths]
        self.layers = nn.ModuleList(StackableLinear(a, b) for a, b in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        """Embed a batch."""
        return self.layer_outputs(x)[-1]

    def layer_outputs(self, x: Tensor) -> list[Tensor]:
        """Return what each layer makes of a batch, the embedding last."""
        *hidden, last = self.layers
        outputs = []
        for layer in hidden:
            x = layer(x).relu_()
            outputs.append(x)
        return [*outputs, last(x)]

    @torch.no_grad()
    def with_pullback(self, tensors: Mapping[str, Tensor], x: Tensor) -> tuple[Tensor, Pullback]:
        """Embed with stacked tensors, and return what turns the embedding's slope into those of the tensors.

        The same numbers as autograd gives, without its bookkeeping: a tenth of a training step.
        """
        weights = [tensors[f"layers.{i}.weight"] for i in range(len(self.layers))]
        biases = [tensors[f"layers.{i}.bias"].unsqueeze(1) for i in range(len(self.layers))]
        inputs = [x]
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            inputs.append(torch.baddbmm(bias, inputs[-1], weight).relu_())
        embedding = torch.baddbmm(biases[-1], inputs[-1], weights[-1])

        @torch.no_grad()
        def pullback(slope: Tensor) -> dict[str, Tensor]:
            slopes = {}
            for i in reversed(range(len(weights))):
                slopes[f"layers.{i}.weight"] = torch.bmm(inputs[i].mT, slope)
                slopes[f"layers.{i}.bias"] = slope.sum(1)
                if i:  # nobody needs the slope of the table
                    slope = torch.bmm(slope, weights[i].mT)
                    # In place: zero where the ReLU was.
                    torch.ops.aten.threshold_backward.grad_input(slope, inputs[i], 0, grad_input=slope)
            return slopes

        return embedding, pullback


class ResidualMLP(nn.Module):
    """A linear stem and residual blocks: x + W2 relu(W1 norm(x)). (batch, f) -> (batch, width)."""

    stackable: ClassVar[bool] = True

    def __init__(self, n_features: int, *, width: int = 128, n_blocks: int = 2) -> None:
        super().__init__()
        if min(n_features, width, n_blocks) < 1:
            raise ValueError(
                f"n_features, width and n_blocks must be at least 1, got {n_features}, {width} and {n_blocks}"
            )
        self.stem = StackableLinear(n_features, width)
        self.blocks = nn.ModuleList(ResidualBlock(width) for _ in range(n_blocks))

    def forward(self, x: Tensor) -> Tensor:
        """Embed a batch."""
        return self.layer_outputs(x)[-1]

    def layer_outputs(self, x: Tensor) -> list[Tensor]:
        """Return what the stem and each block make of a batch, the embedding last."""
        outputs = [self.stem(x)]
        for block in self.blocks:
            outputs.append(block(outputs[-1]))
        return outputs


class ResidualBlock(nn.Module):
    """x + W2 relu(W1 norm(x)); the shape stays."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = StackableLayerNorm(width)
        self.expand = StackableLinear(width, width)
        self.contract = StackableLinear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Add what the block found to what came in."""
        found: Tensor = self.contract(self.expand(self.norm(x)).relu_())
        return x + found
