"""Errors as JSON with a status: what went wrong, where, and never a traceback."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import pyarrow as pa
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.responses import Response

from gditd.tables import TableError

LONGEST = 1_000  # characters of a message: a name that it quotes may be as long as a body

_PLACE = re.compile(r'^column "(?P<column>.*)", row (?P<row>\d+): ', re.DOTALL)
_ROW = re.compile(r"\brow (?P<row>\d+): ")


class Refusal(Exception):
    """A request that is not answered as asked."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        column: str | None = None,
        row: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = shortened(message)
        self.column = None if column is None else shortened(column)
        self.row = row
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """The answer: {"error": {"message", "column"?, "row"?}}."""
        error: dict[str, Any] = {"message": self.message}
        if self.column is not None:
            error["column"] = self.column
        if self.row is not None:
            error["row"] = self.row
        return Response(to_json({"error": error}), self.status, self.headers, media_type="application/json")


def refusal_of(error: Exception) -> Refusal | None:
    """What to answer to an error that a request can cause; None for one that is our own fault."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TableError):
        return of_table(str(error))
    if isinstance(error, ValidationError):
        return of_validation(error)
    if isinstance(error, pa.ArrowException):
        # Arrow's own words may quote a cell, which belongs to whoever asked: they may see it.
        return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"the table cannot be read ({first_line(error)})")
    if isinstance(error, TimeoutError):
        return Refusal(
            HTTPStatus.GATEWAY_TIMEOUT, "the request took longer than the service allows: send fewer rows at once"
        )
    return None


def of_table(message: str) -> Refusal:
    """Find the place that a message about a table names."""
    place = _PLACE.match(message)
    if place:
        return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, message, column=place["column"], row=int(place["row"]))
    row = _ROW.search(message)
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, message, row=int(row["row"]) if row else None)


def of_validation(error: ValidationError) -> Refusal:
    """A body or an option that pydantic refused; only the first fault is told."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = first["loc"]
    if first["type"] == "json_invalid":
        return Refusal(HTTPStatus.BAD_REQUEST, f"the body is no JSON ({first['msg'].removeprefix('Invalid JSON: ')})")
    match place:
        case ("rows", int(row), str(column), *_):
            return Refusal(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f'column "{column}", row {row + 1}: a value must be a number, a text, true, false or null',
                column=column,
                row=row + 1,
            )
        case ("rows", int(row)):
            message = f'row {row + 1}: a row must be an object such as {{"column": value}}'
            return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, message, row=row + 1)
        case ("rows",) | ():
            message = 'the body must be {"rows": [{"column": value, ...}, ...]}'
            return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, message)
    name = ".".join(str(part) for part in place)
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"option {name}: {first['msg']}")


def shortened(text: str) -> str:
    """The text, without its middle where it is too long, and without what UTF-8 has no bytes for."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    return text.encode(errors="replace").decode()


def first_line(error: Exception) -> str:
    """The first line of what an error says."""
    text = str(error)
    return text.splitlines()[0] if text else type(error).__name__
