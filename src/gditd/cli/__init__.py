"""The `gditd` command."""

from gditd.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; this is what `gditd` in a shell calls."""
    app()
