"""Spark schemas and gditd's: what is checked on the driver before a task runs, and what comes out."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from gditd import GDITDClassifier
from gditd.tables import TableError
from gditd.tables.columns import Problem, misfit
from gditd.tables.errors import quoted
from gditd.verdict_columns import VerdictColumns


def checked_schema(schema: StructType, model: GDITDClassifier, adding: VerdictColumns) -> StructType:
    """The schema of a DataFrame with its verdicts; TableError where the model cannot judge such rows.

    A table of that schema without rows is judged, so it says what `gditd predict` says.
    """
    doubles = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if doubles:
        raise TableError(f"the table has more than one column named {quoted(doubles)}: rename them")
    empty = to_arrow_schema(schema).empty_table()
    judged = adding.added_to(empty).table
    for column in model.model_.encoder.schema_.used:
        refuse_misfit(empty.schema.field(column.name), column.kind)
    added = [StructField(name, from_arrow_type(judged.schema.field(name).type)) for name in adding.names]
    return StructType([*schema.fields, *added])


def refuse_misfit(field: pa.Field, kind: str) -> None:
    """Refuse a column whose type cannot hold what the model learned from, in the words used for its first row."""
    what = misfit(field.type, kind)
    if what is not None:
        raise TableError(Problem(field.name, 0, what).message())


def kept_columns(schema: StructType, adding: VerdictColumns, keep: bool | list[str]) -> StructType:
    """The columns of the result: those of the input that are wanted, and the verdicts."""
    if keep is True:
        return schema
    wanted = [] if keep is False else list(keep)
    unknown = [name for name in wanted if name not in schema.names or name in adding.names]
    if unknown:
        raise TableError(f"no column {quoted(unknown)} to keep: there are {quoted(schema.names, 20)}")
    return StructType([field for field in schema.fields if field.name in {*wanted, *adding.names}])


def needed_columns(names: list[str], model: GDITDClassifier, result: StructType) -> list[str]:
    """The input's columns that have to go to the executors' Python: what the model reads, and what is kept."""
    read = getattr(model, "feature_names_in_", None)
    if read is None:  # learned from an array: its columns are known by their places
        return names
    return [name for name in names if name in {*read.tolist(), *result.names}]
