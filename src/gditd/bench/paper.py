"""The paper's experiments as configurations of the runner."""

from __future__ import annotations

from collections.abc import Iterable

from gditd.bench.experiment import BenchError, Experiment
from gditd.bench.methods import ABLATION, READINGS

PAPER_METHODS = ("softmax", "mahalanobis", "deep-mcdd", "gditd-paper")
EPOCHS = 100
MDSR = (1.0, 0.3, 0.25, 0.2, 0.15, 0.1)
TABLES = {"gas": MDSR, "drive": MDSR, "mnist": MDSR, "disputes": MDSR[:3]}

# Where other readings of the paper are tried out: quick to train, and where the paper's figures are not reached.
READ_ON = ("gas", "drive")


def paper_experiments(
    tables: Iterable[str] = tuple(TABLES), *, epochs: int = EPOCHS, seed: int = 0, max_rows: int | None = None
) -> list[Experiment]:
    """Table 3 on the given tables, Table 4 (on gas), and other readings of the paper on gas and drive."""
    experiments = []
    for name in tables:
        if name not in TABLES:
            raise BenchError(f"--tables: the paper has no table '{name}'; it has {', '.join(TABLES)}")
        common = {"dataset": name, "epochs": epochs, "seeds": (seed,), "max_rows": max_rows}
        experiments.append(Experiment(**common, methods=PAPER_METHODS, mdsr=TABLES[name]))  # type: ignore[arg-type]
        more = (*(ABLATION if name == "gas" else ()), *(READINGS if name in READ_ON else ()))
        if more:
            experiments.append(Experiment(**common, methods=tuple(more)))  # type: ignore[arg-type]
    return experiments
