"""`typed`, under the name by which the service knows it."""

from gditd.tables.typed import typed

__all__ = ["typed"]
