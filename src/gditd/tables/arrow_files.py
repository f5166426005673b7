"""Arrow files and streams, checked throughout before anything looks at their values.

Arrow takes what a file says of its own buffers on trust: an offset beyond the end of one, from a damaged file or a
hostile one, crashes the process.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from .errors import TableError

MAGIC = b"ARROW1"
FIRST_FEATHER = b"FEA1"  # begins the first Feather format, which is no Arrow; its reader crashes on damaged files


def arrow_batches(path: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """A file's schema, and its batches as they are read; pa.ArrowInvalid where one contradicts itself."""
    if _begins_with(path, FIRST_FEATHER):
        raise TableError(
            f'"{path}" is written in the first Feather format, which is not read: write it again as Feather '
            "version 2 (the usual one since 2020) or as Parquet"
        )
    source = pa.OSFile(str(path))  # no memory map: reading behind the end of one crashes the process too
    reader = pa.ipc.open_file(source) if is_file(path) else pa.ipc.open_stream(source)
    return _readable(reader.schema), _checked(source, reader)


def is_file(path: Path) -> bool:
    """Whether it is an Arrow file, as opposed to a stream."""
    return _begins_with(path, MAGIC)


def _begins_with(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def _readable(schema: pa.Schema) -> pa.Schema:
    """The schema itself; one whose names are no text is refused, before anything asks for them."""
    try:
        list(schema.names)
    except UnicodeDecodeError:
        raise pa.ArrowInvalid("the name of a column is not UTF-8") from None
    return schema


def _checked(source: pa.NativeFile, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    with source:
        if isinstance(reader, pa.ipc.RecordBatchFileReader):
            batches = (reader.get_batch(place) for place in range(reader.num_record_batches))
        else:
            batches = iter(reader)
        for batch in batches:
            batch.validate(full=True)
            yield batch
