"""The description of the API at /openapi.json, with examples from the models that are served."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from gditd.serve.formats import Format
from gditd.serve.models import Registry
from gditd.serve.options import ExplainOptions, ModelOption, PredictOptions
from gditd.serve.parsing import RowsBody

Description = dict[str, Any]

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message"],
            "properties": {
                "message": {"type": "string"},
                "column": {"type": "string"},
                "row": {"type": "integer", "minimum": 1},
            },
        }
    },
}
VERDICT = {
    "type": "object",
    "required": ["verdict", "known_class", "p_value", "ood_score"],
    "properties": {
        "verdict": {"type": "string", "description": 'A known class, or "OOD".'},
        "known_class": {"type": "string", "description": "The most likely known class in any case."},
        "p_value": {"type": ["number", "null"], "description": "Of the best class; small means OOD."},
        "ood_score": {"type": "number", "description": "Higher = stranger."},
        "error": {"type": ["string", "null"], "description": "With on_error=ood: why the row could not be read."},
        "reason": {"type": "array", "items": {"type": "string"}, "description": "With explain=K."},
        "x": {"type": "number", "description": "With map=true."},
        "y": {"type": "number", "description": "With map=true."},
    },
}
EXPLANATION = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string"},
        "known_class": {"type": "string"},
        "compared_with": {"type": "string"},
        "ood_score": {"type": "number"},
        "columns": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "column": {"type": "string"},
                    "value": {"description": "As it was given; null if missing."},
                    "usual": {"type": "string"},
                    "share": {"type": "number"},
                },
            },
        },
        "text": {"type": "string"},
    },
}
BINARY: Description = {"schema": {"type": "string", "format": "binary"}}
ERRORS: Description = {
    str(status): {"description": meaning, "content": {"application/json": {"schema": ERROR}}}
    for status, meaning in {
        400: "The body cannot be read.",
        401: "The key is missing or wrong.",
        404: "No such model.",
        406: "None of the formats in Accept can be given.",
        413: "Too many bytes or rows.",
        415: "The format is not known.",
        422: "A value or an option does not fit; column and row are named.",
        503: "Starting, or too many requests under way.",
        504: "It took too long.",
    }.items()
}


HEALTHY: Description = {
    "type": "object",
    "required": ["status", "models"],
    "properties": {
        "status": {"enum": ["ok", "starting"]},
        "models": {"type": "array", "items": {"type": "string"}},
    },
}


def some_of(*statuses: int) -> Description:
    """Errors that a route may answer with."""
    return {str(status): ERRORS[str(status)] for status in statuses}


def parameters(options: type[BaseModel]) -> list[Description]:
    """Query parameters from the model that reads them."""
    properties = options.model_json_schema()["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": not_null(schema)}
        for name, schema in properties.items()
    ]


def not_null(schema: Description) -> Description:
    """The schema of an option that may be left out, but cannot be null: a query has no word for it."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    return {"title": schema["title"], **choices[0]} if choices else schema


def list_of(name: str, schema: Description) -> Description:
    """An object with one list."""
    return {"type": "object", "properties": {name: {"type": "array", "items": schema}}}


def answers(schema: Description, errors: Description, other: Description | None = None) -> Description:
    """Responses: one that is fine, and those that are not."""
    content = {"application/json": {"schema": schema}, **(other or {})}
    return {"200": {"description": "As asked.", "content": content}, **errors}


def route(summary: str, options: type[BaseModel] | None, responses: Description, body: bool = False) -> Description:
    """What FastAPI is told about a route that reads its request itself."""
    extra: Description = {"responses": responses, "parameters": [] if options is None else parameters(options)}
    if body:
        content: Description = {"application/json": {"schema": RowsBody.model_json_schema()}}
        content |= {form.value: BINARY for form in Format if form != Format.json}
        extra["requestBody"] = {"required": True, "content": content}
    return {"summary": summary, "openapi_extra": extra}


PREDICT = route(
    "Verdicts on rows",
    PredictOptions,
    answers(list_of("verdicts", VERDICT), ERRORS, {form.value: BINARY for form in Format if form != Format.json}),
    body=True,
)
EXPLAIN = route(
    "Why rows are strange", ExplainOptions, answers(list_of("explanations", EXPLANATION), ERRORS), body=True
)
MODELS = route("The models by name", None, answers(list_of("models", {"type": "object"}), some_of(401)))
SCHEMA = route("What a model knows", ModelOption, answers({"type": "object"}, some_of(401, 404, 422, 503)))
MAP = route(
    "The known classes as circles",
    ModelOption,
    answers(list_of("circles", {"type": "object"}), some_of(401, 404, 422, 503)),
)
STARTING: Description = {"description": "Starting.", "content": {"application/json": {"schema": HEALTHY}}}
HEALTH = route("Whether the service is ready", None, answers(HEALTHY, {"503": STARTING}))
METRICS = route(
    "Figures for Prometheus", None, {"200": {"description": "Text.", "content": {"text/plain": {}}}, **some_of(401)}
)


def described_by(app: FastAPI, registry: Registry) -> Callable[[], Description]:
    """A function that describes the app, with example rows of the models as they are at that moment."""

    def description() -> Description:
        # A copy: what FastAPI returns shares its inner parts with the descriptions above.
        document: Description = copy.deepcopy(get_openapi(title=app.title, version=app.version, routes=app.routes))
        examples = {served.name: {"value": {"rows": [served.example]}} for served in registry.all()}
        for path in ("/v1/predict", "/v1/explain"):
            document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"] = examples
        return document

    return description
