"""Arrow files and streams, checked throughout before anything looks at their values.

Arrow takes what a file says of its own buffers on trust: an offset beyond the end of one, from a damaged file or a
hostile one, crashes the process.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

MAGIC = b"ARROW1"


def arrow_batches(path: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """A file's schema, and its batches as they are read; pa.ArrowInvalid where one contradicts itself."""
    source = pa.OSFile(str(path))  # no memory map: reading behind the end of one crashes the process too
    reader = pa.ipc.open_file(source) if is_file(path) else pa.ipc.open_stream(source)
    return reader.schema, _checked(source, reader)


def is_file(path: Path) -> bool:
    """Whether it is an Arrow file, as opposed to a stream."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _checked(source: pa.NativeFile, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    with source:
        if isinstance(reader, pa.ipc.RecordBatchFileReader):
            batches = (reader.get_batch(place) for place in range(reader.num_record_batches))
        else:
            batches = iter(reader)
        for batch in batches:
            batch.validate(full=True)
            yield batch
