"""The models that are served, by name, and how they are replaced while requests go on."""

from __future__ import annotations

import copy
import threading
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pyarrow as pa

from gditd import GDITDClassifier
from gditd.cli.tasks.models import load_classifier
from gditd.embedding_map import EmbeddingMap
from gditd.explain import Explanation
from gditd.serve.errors import Refusal
from gditd.serve.example import example_row
from gditd.serve.joining import shape_of
from gditd.serve.schema import described
from gditd.serve.scoring import Scorer
from gditd.tables.convert import rows_to_arrow
from gditd.tables.typed import typed

WARM_ROUNDS = 3


class Served:
    """A model with everything that requests need of it, made once."""

    def __init__(self, name: str, model: GDITDClassifier) -> None:
        self.name = name
        self.model = model
        self.scorer = Scorer(model)
        columns = model.model_.encoder.schema_.columns
        self.kinds: dict[str, str] = {column.name: column.kind for column in columns}
        self.has_names = hasattr(model, "feature_names_in_")  # else columns are taken by their places
        # Shares all that was learned. Rows that cannot be read were dealt with when they were scored.
        self._lenient = copy.copy(model).set_params(on_error="ood")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What the model knows, for /v1/schema."""
        return described(self.name, self.model)

    @cached_property
    def example(self) -> dict[str, Any]:
        """A row such as the model takes."""
        return example_row(self.model)

    @cached_property
    def map(self) -> EmbeddingMap:
        """The map of the known classes."""
        return EmbeddingMap.of(self._lenient)

    def shape_of(self, rows: list[dict[str, Any]]) -> Hashable | None:
        """What requests must have in common to be scored together; None for rows that stay alone."""
        return shape_of(rows, self.kinds) if self.has_names else None

    def explain(self, table: pa.Table, n_columns: int) -> list[Explanation]:
        """Say why rows are strange."""
        known = typed(self.known_columns(table), self.kinds)
        explanations: list[Explanation] = self._lenient.explain(known, n_columns=n_columns)
        return explanations

    def places(self, table: pa.Table) -> list[list[float]]:
        """Where rows lie on the map."""
        if table.num_rows == 0:
            return []
        places: list[list[float]] = self.map.place(self.known_columns(table)).tolist()
        return places

    def known_columns(self, table: pa.Table) -> pa.Table:
        """The columns that the model knows; others would only be remarked upon."""
        if not self.has_names:
            return table
        known = [name for name in table.column_names if name in self.kinds]
        return table.select(known or table.column_names[:1])  # without columns, nobody knows how many rows there are

    def warm(self) -> None:
        """Score, place and explain a made-up row, so that no request pays for what is built at first use."""
        table = rows_to_arrow([self.example])
        for _ in range(WARM_ROUNDS):
            self.scorer.verdicts(table, on_error="ood")
        self.explain(table, 1)
        self.places(table)
        assert self.schema


@dataclass(frozen=True)
class Reloaded:
    """What a reload came to: the models now served, and the files that could not be."""

    served: list[str]
    failures: dict[str, str]


class Registry:
    """Models by name. Readers get a whole set, old or new, never a mixture."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._models: dict[str, Served] = {}
        self._loading = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether there is anything to serve yet."""
        return bool(self._models)

    @property
    def names(self) -> list[str]:
        """The models' names, in the order they were given."""
        return list(self._models)

    def all(self) -> list[Served]:
        """The models, in the same order."""
        return list(self._models.values())

    def get(self, name: str | None) -> Served:
        """The model of that name, or the only one."""
        models = self._models
        if name is None and len(models) == 1:
            return next(iter(models.values()))
        if not models:
            raise Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE, "the service is starting: try again", headers={"retry-after": "1"}
            )
        there = ", ".join(models)
        if name is None:
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"there are several models: add ?model= with one of {there}")
        if name not in models:
            raise Refusal(HTTPStatus.NOT_FOUND, f'there is no model "{name}": there are {there}')
        return models[name]

    def load(self) -> None:
        """Load every model for the first time; the first that fails is the error."""
        with self._loading:
            self._models = {name: loaded(name, path) for name, path in named_files(self._paths).items()}

    def reload(self) -> Reloaded:
        """Load every model anew and swap them in at once; one that fails stays as it was."""
        failures: dict[str, str] = {}
        with self._loading:
            try:
                files = named_files(self._paths)
            except (ValueError, OSError) as error:
                return Reloaded(self.names, {"": str(error)})
            models: dict[str, Served] = {}
            for name, path in files.items():
                try:
                    models[name] = loaded(name, path)
                except Exception as error:  # whatever a file can cause, the service goes on with the old model
                    failures[name] = str(error) or type(error).__name__
                    if name in self._models:
                        models[name] = self._models[name]
            if models:
                self._models = models
        return Reloaded(self.names, failures)


def loaded(name: str, path: Path) -> Served:
    """A model from its file, warm."""
    served = Served(name, load_classifier(path))
    served.warm()
    return served


def named_files(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Model files by the name they are served under, which is the file's without its ending."""
    files: dict[str, Path] = {}
    for path in paths:
        found = sorted(path.glob("*.gditd")) if path.is_dir() else [path]
        if not found:
            raise ValueError(f"there is no *.gditd file in the folder {path}: write models there with gditd fit --out")
        for file in found:
            if file.stem in files:
                raise ValueError(
                    f'{files[file.stem]} and {file} would both be served as "{file.stem}": rename one of them'
                )
            files[file.stem] = file
    return files
