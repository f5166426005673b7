"""The formats of bodies and answers, by their media types."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus

from gditd.serve.errors import Refusal


class Format(StrEnum):
    """A format, with the media type that answers in it have."""

    json = "application/json"
    csv = "text/csv"
    parquet = "application/vnd.apache.parquet"
    arrow_stream = "application/vnd.apache.arrow.stream"
    arrow_file = "application/vnd.apache.arrow.file"


_BY_TYPE = {form.value: form for form in Format} | {
    "application/parquet": Format.parquet,
    "application/x-parquet": Format.parquet,
}
_BY_RANGE = {"*/*": Format.json, "application/*": Format.json, "text/*": Format.csv}
_KNOWN = ", ".join(Format)


def body_format(content_type: str | None) -> Format:
    """The format of a body; JSON where nothing is said."""
    if content_type is None:
        return Format.json
    found = _BY_TYPE.get(content_type.partition(";")[0].strip().lower())
    if found is None:
        raise Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f'content-type "{content_type[:100]}" is not known: use one of {_KNOWN}'
        )
    return found


@lru_cache(256)
def answer_format(accept: str | None) -> Format:
    """The format that an Accept header likes best; JSON where anything will do."""
    if accept is None:
        return Format.json
    best, best_liking = None, 0.0
    for choice in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in choice.split(";"))
        form = _BY_RANGE.get(kind) or _BY_TYPE.get(kind)
        liking = _liking(parameters)
        if form is not None and liking > best_liking:
            best, best_liking = form, liking
    if best is None:
        raise Refusal(HTTPStatus.NOT_ACCEPTABLE, f"answers come as one of {_KNOWN}: accept one of them")
    return best


def _liking(parameters: list[str]) -> float:
    """The q of an Accept choice, 1 where it has none or one that is no number."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0
