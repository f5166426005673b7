"""Embeddings in the plane, side by side: how far the OOD rows lie from the known classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from gditd.bench.report.figures.canvas import Picture, Style, line, new_figure, picture, styles

MOST_ROWS = 3000  # more take minutes and make a blot
FEWEST_ROWS = 5

Points = NDArray[np.floating[Any]]
Labels = NDArray[Any]
Rows = NDArray[np.int64]


def sample_rows(n_rows: int, seed: int = 0, most: int = MOST_ROWS) -> Rows:
    """Rows to show, in order: all of them, or so many drawn at random."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def project(embedding: NDArray[Any], seed: int = 0) -> Points:
    """An (n, d) embedding in two dimensions by t-SNE, (n, 2)."""
    if embedding.ndim != 2 or not FEWEST_ROWS <= len(embedding) <= MOST_ROWS:
        raise ValueError(
            f"t-SNE is for {FEWEST_ROWS} to {MOST_ROWS} rows of an (n, d) embedding, got {embedding.shape}: "
            "choose rows with sample_rows"
        )
    perplexity = min(30.0, (len(embedding) - 1) / 3)
    points: Points = TSNE(perplexity=perplexity, random_state=seed).fit_transform(embedding)
    return points


def embedding_picture(embeddings: Mapping[str, tuple[Points, Labels, Any]]) -> Picture:
    """A scatter for each name of (points, labels, the label that is OOD)."""
    shown = {name: (points, labels.astype(str), str(ood)) for name, (points, labels, ood) in embeddings.items()}
    known = sorted({label for _, labels, ood in shown.values() for label in labels[labels != ood]}, key=_numbers_first)
    looks = styles(known)
    figure = new_figure(4.3 * len(shown), 5.0)
    for axes, (name, (points, labels, ood)) in zip(
        figure.subplots(1, len(shown), squeeze=False).flat, shown.items(), strict=True
    ):
        _scatter(axes, points, labels, ood, looks)
        axes.set_title(name, fontsize=11)
    oods = sorted({ood for _, _, ood in shown.values()})
    handles = [line(look, linestyle="", label=label) for label, look in looks.items()]
    handles.append(line(Style("white", "X"), linestyle="", markeredgecolor="black", label=f"OOD ({', '.join(oods)})"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)), frameon=False, fontsize=9)
    caption = "Embeddings of test rows in two dimensions; OOD rows are crosses with a dark edge."
    return picture(figure, "embeddings", caption)


def _scatter(axes: Any, points: Points, labels: Labels, ood: str, looks: Mapping[str, Style]) -> None:
    for label, look in looks.items():
        mine = points[labels == label]
        # Thousands of points as vectors make a page nobody can open.
        axes.scatter(*mine.T, s=14, c=look.colour, marker=look.marker, alpha=0.6, linewidths=0, rasterized=True)
    strange = points[labels == ood]
    axes.scatter(*strange.T, s=30, c="white", marker="X", edgecolors="black", linewidths=0.6, rasterized=True)
    axes.set_xticks([])
    axes.set_yticks([])


def _numbers_first(label: str) -> tuple[int, float, str]:
    return (0, float(label), label) if label.replace(".", "", 1).isdigit() else (1, 0.0, label)
