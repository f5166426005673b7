"""What an unfinished run lacks, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from gditd.bench.report.cells import CELL, RUN

Wanted = Mapping[str, tuple[Sequence[float], Sequence[str]]]


def missing(tidied: pd.DataFrame, wanted: Wanted) -> list[str]:
    """Name, for the MDSRs and methods wanted of each data set, those without any figure and those with fewer runs."""
    counts = runs(tidied)
    lines = []
    for dataset, (mdsrs, methods) in wanted.items():
        if dataset not in set(tidied["dataset"]):
            lines.append(f"Missing: {dataset} (no results).")
            continue
        full = max((n for (d, _, _), n in counts.items() if d == dataset), default=0)
        gaps = [_gap(method, [counts.get((dataset, m, method), 0) for m in mdsrs], mdsrs, full) for method in methods]
        told = [gap for gap in gaps if gap]
        if told:
            lines.append(f"Missing: {dataset}: {'; '.join(told)}.")
    return lines


def runs(tidied: pd.DataFrame) -> dict[tuple[str, float, str], int]:
    """How many runs (folds, seeds and OOD classes) each data set, MDSR and method has."""
    unique = tidied[[*CELL, "method", *RUN]].drop_duplicates()
    found = unique.groupby(["dataset", "mdsr", "method"], sort=False).size()
    return {(str(d), float(m), str(method)): int(n) for (d, m, method), n in found.items()}


def _gap(method: str, counts: list[int], mdsrs: Sequence[float], full: int) -> str:
    absent = [f"{m:g}" for m, n in zip(mdsrs, counts, strict=True) if n == 0]
    if len(absent) == len(mdsrs):
        return method
    short = [f"{n} of {full} runs at MDSR {m:g}" for m, n in zip(mdsrs, counts, strict=True) if 0 < n < full]
    parts = ([f"MDSR {', '.join(absent)}"] if absent else []) + short
    return f"{method} ({', '.join(parts)})" if parts else ""
