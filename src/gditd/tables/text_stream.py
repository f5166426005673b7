"""A text file's bytes as UTF-8, whatever they were, and the delimiter of a CSV."""

import codecs
import gzip
import io
import re
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from .errors import TableError

_SAMPLE_BYTES = 1 << 18
_SAMPLE_LINES = 100
_DELIMITERS = ",;\t|"


class Utf8Stream(io.RawIOBase):
    """Reads a plain or gzipped text file, or an open stream, and hands it on as UTF-8 without a byte order mark.

    A byte order mark decides the encoding at once. Without one, bytes pass through untouched while they are
    ASCII, and the first block that is not decides: UTF-8 where it is valid, else Windows-1252 (the superset
    of Latin-1 that spreadsheets write). So the choice needs no second pass over a large file.
    """

    def __init__(self, path: Path, file: BinaryIO | None = None) -> None:
        self._path = path
        opener = gzip.open if path.suffix.lower() == ".gz" else open
        self._file = cast("BinaryIO", opener(path, "rb")) if file is None else file
        self._decoder: codecs.IncrementalDecoder | None = None
        self._buffer = b""
        self._buffer = self._marked(self._raw(_SAMPLE_BYTES))

    def readable(self) -> bool:
        """Say yes: Arrow asks before it reads."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most `size` of them; all that is left when `size` is negative."""
        if size < 0:
            blocks = list(iter(lambda: self.read(1 << 20), b""))
            return b"".join(blocks)
        if not self._buffer:
            self._buffer = self._decoded(self._raw(size))
        if len(self._buffer) <= size:  # the usual case, without a copy
            head, self._buffer = self._buffer, b""
        else:
            head, self._buffer = self._buffer[:size], self._buffer[size:]
        return head

    def sample(self) -> str:
        """The first part of the file as text, without taking it out of the stream."""
        return self._buffer.decode("utf-8", errors="ignore")

    def close(self) -> None:
        """Close the file underneath as well."""
        if not self.closed:
            self._file.close()
        super().close()

    def _raw(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise TableError(f'"{self._path}" is not a whole gzip file ({error}): compress it again') from None

    def _marked(self, block: bytes) -> bytes:
        """Settle the encoding by the byte order mark, if there is one, and decode the first block."""
        if block.startswith(codecs.BOM_UTF8):
            block = block[len(codecs.BOM_UTF8) :]
        elif block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")()
        return self._decoded(block)

    def _decoded(self, block: bytes) -> bytes:
        """One block as UTF-8. An empty block is the end of the file; an empty answer means just that."""
        while True:
            if self._decoder is None:
                if block.isascii():
                    return block
                self._decoder = _decoder_for(block)
            try:
                text = self._decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise TableError(
                    f'"{self._path}" is not {error.encoding} throughout: save it as UTF-8 and read it again'
                ) from None
            if text or not block:
                return text.encode("utf-8")
            block = self._raw(_SAMPLE_BYTES)  # only half a character so far


def _decoder_for(block: bytes) -> codecs.IncrementalDecoder:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(block)  # a character cut at the end is no error
    except UnicodeDecodeError:
        return codecs.getincrementaldecoder("cp1252")(errors="replace")
    return codecs.getincrementaldecoder("utf-8")()


class CsvShape(NamedTuple):
    """How a CSV is written: what parts its fields, and its numbers' decimal mark."""

    delimiter: str
    decimal_point: str


def csv_shape(path: Path, sample: str) -> CsvShape:
    """Find the delimiter under which most lines have as many fields as the header, and the most fields."""
    bare = re.sub(r'"(?:[^"]|"")*"', '""', sample)  # what stands in quotes parts nothing
    lines = [line for line in bare.splitlines() if line.strip()][:_SAMPLE_LINES]
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        delimiter = "\t"
    else:
        delimiter = max(_DELIMITERS, key=lambda mark: _fitness(lines, mark))
    comma = delimiter != "," and _writes_decimal_commas(lines, delimiter)
    return CsvShape(delimiter, "," if comma else ".")


def _fitness(lines: list[str], delimiter: str) -> tuple[bool, int, int]:
    widths = [line.count(delimiter) for line in lines]
    if not widths or widths[0] == 0:
        return (False, 0, 0)
    return (True, sum(width == widths[0] for width in widths), widths[0])


def _writes_decimal_commas(lines: list[str], delimiter: str) -> bool:
    fields = [field.strip() for line in lines[1:] for field in line.split(delimiter)]
    commas = any(re.fullmatch(r"[+-]?\d+,\d+", field) for field in fields)
    return commas and not any(re.fullmatch(r"[+-]?\d+\.\d+", field) for field in fields)
