"""The one error this room raises about a file."""


class ModelFileError(ValueError):
    """A model file that cannot be read, with the reason."""


def what_is_wrong(error: Exception) -> str:
    """Return what an error says about a file, for people: how Python puts a wrong type helps nobody."""
    if isinstance(error, KeyError):
        return f"{first_line(error)} is missing"
    if isinstance(error, ValueError | OSError):
        return first_line(error)
    return "its parts do not fit together"


def first_line(error: Exception) -> str:
    """Return what an error says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
