"""All methods by name: how each is made, and what kind of table it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gditd.bench.experiment import BenchError
from gditd.bench.peers import PEERS, Peer, peer
from gditd.bench.pyod_peers import PREFIX
from gditd.classifier import GDITDClassifier
from gditd.detectors import GDITD, KNN, ODIN, DeepMCDD, Energy, ExtraTrees, Mahalanobis, MaxLogit, Softmax
from gditd.detectors.network import NetworkDetector

Kind = Literal["network", "rows", "table"]
"""network: trained together with others on encoded rows; rows: on encoded rows; table: on the raw table."""


@dataclass(frozen=True)
class Method:
    """How to make one method from a seed and a number of epochs (None: its own)."""

    kind: Kind
    make: Callable[[int, int | None], Any]


def network(detector: type[NetworkDetector], **settings: Any) -> Method:
    """A detector of the package that trains a network."""

    def make(seed: int, epochs: int | None) -> NetworkDetector:
        own: dict[str, Any] = {} if epochs is None else {"max_epochs": epochs}
        return detector(random_state=seed, **own, **settings)

    return Method("network", make)


def classifier(preset: str) -> Method:
    """The package's own classifier."""
    return Method("table", lambda seed, epochs: GDITDClassifier(preset=preset, max_epochs=epochs, random_state=seed))


def without_epochs(make: Callable[[int], Peer]) -> Method:
    """A method that does not train in epochs."""
    return Method("rows", lambda seed, _: make(seed))


LOSSES = ("pull", "score", "efl1", "efl2")

# One loss alone, and all but one: the arms of the paper's ablation.
ABLATION: Mapping[str, Method] = {
    **{
        f"gditd-only-{loss}": network(GDITD, **{f"{other}_weight": float(other == loss) for other in LOSSES})
        for loss in LOSSES
    },
    **{f"gditd-without-{loss}": network(GDITD, **{f"{loss}_weight": 0.0}) for loss in LOSSES},
}

# Readings of the paper where it can be read in more than one way, and two things it did not try.
READINGS: Mapping[str, Method] = {
    "gditd-beta-effective": network(GDITD, beta="effective"),
    "gditd-push-0.1": network(GDITD, push=0.1),
    "gditd-push-200": network(GDITD, push=200.0),  # the sum over other classes not divided by the batch size
    "gditd-mean": network(GDITD, reduction="mean"),
    "gditd-joint": network(GDITD, block_descent=False),
    "gditd-residual": network(GDITD, backbone="residual"),
    "gditd-early-stopping": network(GDITD, validation_fraction=0.1),
}

METHODS: Mapping[str, Method] = {
    "gditd": classifier("default"),
    "gditd-fast": classifier("fast"),
    "gditd-paper": network(GDITD),
    "softmax": network(Softmax),
    "mahalanobis": network(Mahalanobis),
    "deep-mcdd": network(DeepMCDD),
    "max-logit": network(MaxLogit),
    "energy": network(Energy),
    "odin": network(ODIN),
    "knn-embedding": network(KNN),
    "extra-trees": without_epochs(lambda seed: ExtraTrees(random_state=seed)),
    **{name: without_epochs(make) for name, make in PEERS.items()},
    **ABLATION,
    **READINGS,
}


def method_names() -> tuple[str, ...]:
    """Names that `method` takes; any detector of PyOD besides, as pyod:NAME."""
    return tuple(METHODS)


def method(name: str) -> Method:
    """Find a method by name."""
    if name.startswith(PREFIX):
        return Method("rows", lambda seed, _: peer(name, seed=seed))
    if name not in METHODS:
        raise BenchError(f"--methods: unknown method '{name}'; known are {', '.join(METHODS)} and {PREFIX}NAME")
    return METHODS[name]
