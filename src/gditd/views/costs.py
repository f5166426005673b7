"""What views cost: about how many nanoseconds a row takes on one core, by the sizes of what it goes through.

Views of one source share most of their cost: all that look at layers need the networks, all of a forest the same walk.
The constants were read off gas; that a preset keeps within its budget by them, and not by a clock, makes a fit come out
the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gditd.training import Cohort
from gditd.views.ferns import Ferns
from gditd.views.forest import Forest, MixedForest
from gditd.views.looks import NETWORKS, ViewSet

A_CALL = 60.0  # whatever the size
A_PRODUCT = 0.028  # of two numbers, where many are multiplied and added up
DESCRIBING = 300.0  # what layers made of a row, whatever their size: distances and zeta are worked out in float64
A_STEP = 2.3  # for each doubling of a tree's nodes
A_STEP_WITH_RANGE = 4.3
A_FERN = 2.4

MOST_TREES = 60  # of a forest that takes what time is left: more find hardly anything


def costs_of_sources(views: ViewSet, cohort: Cohort) -> Mapping[str, float]:
    """Nanoseconds a row for each source of views."""
    found: dict[str, float] = {}
    for name, view in views.views.items():
        if view.of_columns:
            found[name] = of_products(sum(tensor.numel() for tensor in view.state().values()))
        elif NETWORKS not in found:
            found[NETWORKS] = DESCRIBING + of_products(sum(tensor.numel() for tensor in cohort.network.values()))
    found |= {name: of_forest(forest) for name, forest in views.forests.items()}
    return found | {name: of_ferns(ferns) for name, ferns in views.ferns.items()}


def of_products(count: int) -> float:
    """Of a row that is multiplied with matrices of so many numbers in all."""
    return A_CALL + A_PRODUCT * count


def of_forest(forest: Forest) -> float:
    """Of a walk through all trees."""
    steps = doublings(forest)
    n_ranges = forest.ranges.n_trees if isinstance(forest, MixedForest) else 0
    return float(A_STEP_WITH_RANGE * steps[:n_ranges].sum() + A_STEP * steps[n_ranges:].sum())


def of_ferns(ferns: Ferns) -> float:
    """Of all questions of all ferns."""
    return A_CALL + A_FERN * len(ferns.counts)


def affordable(shares: Mapping[str, float], costs: Mapping[str, float], budget: float) -> list[str]:
    """The sources that are kept: those that count most, by their share, and then whatever the budget has room for.

    One is always left.
    """
    first, *others = sorted(shares, key=lambda source: -shares[source])
    kept, spent = [first], costs[first]
    for source in others:
        if spent + costs[source] <= budget:
            kept.append(source)
            spent += costs[source]
    return kept


def filled_up(
    trees: Mapping[str, int], views: ViewSet, cohort: Cohort, budget: float, *, more_rows: float = 1.0
) -> Mapping[str, int]:
    """As many trees for each forest as the budget has room for: those that it has, and as many more for one as another.

    The trees that are added have no ranges. `more_rows` is how many times as many rows the forests will then learn
    from, as their views here did: trees of more rows are deeper.
    """
    if not views.forests:
        return trees
    deeper = float(np.log2(more_rows))
    n_trees = sum(len(forest.trees.node_counts) for forest in views.forests.values())
    costs = sum(costs_of_sources(views, cohort).values()) + A_STEP_WITH_RANGE * deeper * n_trees
    one_more = sum(A_STEP * (doublings(forest).mean() + deeper) for forest in views.forests.values())
    more = int(max(budget - costs, 0) / one_more)
    return {**trees, **{name: max(trees[name], min(trees[name] + more, MOST_TREES)) for name in views.forests}}


def doublings(forest: Forest) -> NDArray[np.float64]:
    """Of the nodes of each tree, (trees,): about as many steps lie between its root and a leaf."""
    found: NDArray[np.float64] = np.log2(forest.trees.node_counts + 1)
    return found
