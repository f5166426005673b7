"""What to measure: a table, methods, and the ways to split the table."""

from __future__ import annotations

from dataclasses import dataclass


class BenchError(ValueError):
    """A measurement cannot be done; the one-line message names the option and the cure."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Methods on one table, measured on every combination of OOD class, MDSR, fold and seed.

    Attributes
    ----------
    dataset : a name that `load_dataset` knows, or the path of a table file.
    methods : names that `method_names()` lists.
    mdsr : shares of the minority class to keep, drawn before the folds.
    folds : stratified folds of the known rows.
    only_folds : the folds to measure, from 1; by default all.
    epochs : of every method that trains in epochs; by default each method's own.
    seeds : each draws its own folds and starts every method anew.
    ood_classes : classes held out in turn; by default the data set's own.
    minority_class : the class made rarer; by default the data set's own, or the rarest known one.
    target, ignore : the label column of a table file, and columns to leave out.
    max_rows : take at most so many rows of the table, each class in proportion.
    """

    dataset: str
    methods: tuple[str, ...]
    mdsr: tuple[float, ...] = (1.0,)
    folds: int = 5
    only_folds: tuple[int, ...] | None = None
    epochs: int | None = None
    seeds: tuple[int, ...] = (0,)
    ood_classes: tuple[str, ...] = ()
    minority_class: str | None = None
    target: str | None = None
    ignore: tuple[str, ...] = ()
    max_rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work, by name."""
        if not self.methods or not self.mdsr or not self.seeds:
            raise BenchError("give at least one method, one MDSR and one seed")
        for mdsr in self.mdsr:
            if not 0 < mdsr <= 1:
                raise BenchError(f"mdsr is the share of the minority class to keep, above 0 and at most 1, got {mdsr}")
        if self.folds < 2:
            raise BenchError(f"folds must be at least 2, got {self.folds}")
        for fold in self.only_folds or ():
            if not 1 <= fold <= self.folds:
                raise BenchError(f"there is no fold {fold}: they are numbered from 1 to {self.folds}")
        for name, value in (("epochs", self.epochs), ("max_rows", self.max_rows)):
            if value is not None and value < 1:
                raise BenchError(f"{name} must be at least 1, got {value}")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise BenchError(f"a seed lies between 0 and 4294967295, got {seed}")

    @property
    def measured_folds(self) -> tuple[int, ...]:
        """The numbers of the folds to measure."""
        return self.only_folds or tuple(range(1, self.folds + 1))
