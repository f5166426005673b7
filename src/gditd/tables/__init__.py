"""A raw table in, a tensor out: reading, column kinds, and the encoding of rows for a network."""

from .convert import to_arrow
from .encoder import EncodedTable, TableEncoder
from .errors import TableError
from .module import EncoderModule
from .pieces import Piece, TablePiece
from .readers import iter_csv, iter_csv_pieces, iter_pieces, iter_tables, read_table
from .schema import ColumnSchema, TableSchema

__all__ = [
    "ColumnSchema",
    "EncodedTable",
    "EncoderModule",
    "Piece",
    "TableEncoder",
    "TableError",
    "TablePiece",
    "TableSchema",
    "iter_csv",
    "iter_csv_pieces",
    "iter_pieces",
    "iter_tables",
    "read_table",
    "to_arrow",
]
