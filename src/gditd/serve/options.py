"""What a request asks for behind the question mark."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field

from gditd.serve.scoring import OnError


class ModelOption(BaseModel):
    """Which model; may be left out where there is only one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str | None, Field(max_length=200)] = None


class PredictOptions(ModelOption):
    """How to give verdicts."""

    alpha: Annotated[float | None, Field(gt=0, lt=1)] = None
    explain: Annotated[int | None, Field(ge=1, le=1000)] = None
    on_error: OnError = "raise"
    map: bool = False

    @property
    def verdicts_only(self) -> bool:
        """Whether nothing is asked for besides verdicts."""
        return self.explain is None and not self.map


class ExplainOptions(ModelOption):
    """How to explain: at most this many columns a row."""

    columns: Annotated[int, Field(ge=1, le=1000)] = 5


def given(query: bytes) -> dict[str, str]:
    """The options by name, also those without a value, which are to be refused rather than passed over."""
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))


@lru_cache(1024)
def predict_options(query: bytes) -> PredictOptions:
    """Read the query string; most requests bring one of a few."""
    return PredictOptions.model_validate(given(query))


@lru_cache(1024)
def explain_options(query: bytes) -> ExplainOptions:
    """Read the query string."""
    return ExplainOptions.model_validate(given(query))


@lru_cache(1024)
def model_option(query: bytes) -> ModelOption:
    """Read the query string."""
    return ModelOption.model_validate(given(query))
