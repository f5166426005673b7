"""The one error this room raises about a user's data."""


class TableError(ValueError):
    """A table that cannot be used as it is; the message names the place and the cure."""


def quoted(names: list[str], limit: int = 5) -> str:
    """Column names for a message: the first few, quoted, and how many more there are."""
    shown = ", ".join(f'"{name}"' for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
