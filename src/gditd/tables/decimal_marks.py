"""CSVs that write 1,5 for 1.5: their tables say so, and only what is read as numbers gets points.

A text such as 1,5 may as well be a size or a code in a column of texts, which has to stay as it is.
"""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

_REMARK = {b"gditd decimal mark": b","}
_DECIMAL_COMMA = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"


def with_remark(schema: pa.Schema) -> pa.Schema:
    """The columns of a CSV with decimal commas; the remark stays with what is cut or selected from the table."""
    return schema.with_metadata(_REMARK)


def has_decimal_commas(table: pa.Table) -> bool:
    """Whether a table is of a CSV with decimal commas."""
    return _REMARK.items() <= (table.schema.metadata or {}).items()


def with_decimal_points(table: pa.Table, numbers: Collection[str]) -> pa.Table:
    """The table itself, but for texts in the columns that hold `numbers`, where a decimal comma becomes a point."""
    if not has_decimal_commas(table):
        return table
    for place, field in enumerate(table.schema):
        if field.name in numbers and pa.types.is_string(field.type):
            pointed = pc.replace_substring_regex(table.column(place), pattern=_DECIMAL_COMMA, replacement=r"\1.\2")
            table = table.set_column(place, field, pointed)
    return table
