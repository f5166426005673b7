"""Who detects what was never labelled: gditd and its peers on nine tables, the same rows and seeds for each.

Folds 1 and 2 of 5, at most four classes of a table in turn as the OOD class, at most 20,000 rows, and one other class
kept whole (MDSR 1) or thinned to a tenth. Results are kept as they come: a stopped run goes on where it was. The
summary has means and worst cases. Needs GDITD_DATA, or --data.

    python benchmarks/detection.py [--results DIR] [--methods a,b] [--tables a,b] [--out FILE] [--json] [--workers N]
"""

from __future__ import annotations

from pathlib import Path

from gditd.bench import Experiment

# The classes that play the unknown one. Where a table has more than four they are those that the method was not
# developed with; of shuttle and NSL-KDD the large ones and the attacks.
TABLES: dict[str, tuple[str, ...]] = {
    "gas": ("0", "2", "3", "5"),
    "drive": ("0", "1", "3", "4"),
    "mnist": ("0", "1", "2", "3"),
    "shuttle": ("0", "3", "4"),
    "nsl-kdd": ("dos", "probe", "r2l", "u2r"),
    "disputes": ("legitimate", "first-party fraud", "third-party fraud"),
    "digits": ("0", "2", "3", "4"),
    "wine": ("0", "1", "2"),
    "woodland": ("0", "1", "2", "6"),
}
PEERS = ("extra-trees", "knn", "lof", "ecod", "softmax", "mahalanobis", "deep-mcdd")

RESULTS = Path("results/detection")


def experiments(tables: list[str], methods: tuple[str, ...]) -> list[Experiment]:
    """The same cells for every method."""
    return [
        Experiment(
            dataset=name, methods=methods, mdsr=(1.0, 0.1), only_folds=(1, 2), ood_classes=TABLES[name], max_rows=20_000
        )
        for name in tables
    ]
