"""Examples at the end of a command's help."""

from __future__ import annotations


def examples(*pairs: tuple[str, str]) -> str:
    """Lay out (what it is for, what to type) pairs."""
    return "\n\n".join(f"[dim]# Example: {purpose}[/dim]\n[cyan]{line}[/cyan]" for purpose, line in pairs)
