"""What Arrow and the system say about a file, turned into one sentence that names it and the cure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from .errors import TableError


@contextmanager
def errors_about(path: Path, label: str) -> Iterator[None]:
    """Raise a `TableError` about the file for what goes wrong inside; `label` is the name of its format."""
    try:
        yield
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f'there is no file "{path}": check the path') from None
    except (OSError, pa.ArrowException) as error:
        raise TableError(_sentence(path, label, str(error))) from None


def _sentence(path: Path, label: str, text: str) -> str:
    if "Empty CSV file" in text:
        return f'"{path}" is empty: it needs a line of column names and rows'
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text)
    if ragged:
        row, expected, found = map(int, ragged.groups())
        return (
            f'"{path}", row {row}: {found} fields where the column names have {expected}: '
            "quote the fields that hold the delimiter, or complete the row"
        )
    reason = text.splitlines()[0] if text else "it is cut short or damaged"
    return f'"{path}" cannot be read as {label} ({reason}): write the file again'


def counted_from(rows_before: int, error: pa.ArrowInvalid) -> pa.ArrowInvalid:
    """The error about a row, counted from the start of the file; a negative count leaves rows out."""
    return pa.ArrowInvalid(re.sub(r"Row #(\d+)", lambda row: f"Row #{int(row[1]) + rows_before}", str(error)))
