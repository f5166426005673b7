"""The command reference, made from the commands themselves: a hook of mkdocs that fills in `<!-- commands -->`."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

import typer

from gditd.cli import app

MARKER = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference where a page asks for it; mkdocs calls this for every page."""
    return markdown.replace(MARKER, reference()) if MARKER in markdown else markdown


def reference() -> str:
    """Every command: what it does, what it takes, and its examples, as Markdown."""
    group: Any = typer.main.get_command(app)
    return "\n".join(section(name, command) for name, command in group.commands.items())


def section(name: str, command: Any) -> str:
    """One command."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option" and not param.hidden]
    takes = " ".join(metavar(param) for param in arguments)
    parts = [f"## gditd {name}", linked(command.help), f"```text\ngditd {name} {takes} [OPTIONS]\n```"]
    if arguments:
        parts.append(two_columns("argument", [(f"`{metavar(param)}`", param.help) for param in arguments]))
    if options:
        parts.append(two_columns("option", [(names(param), meaning(param)) for param in options]))
    if command.epilog:
        parts.append(example_block(command.epilog))
    return "\n\n".join(parts) + "\n"


def metavar(param: Any) -> str:
    """What stands for the argument in the usage line."""
    return str(param.metavar or param.name.upper())


def names(param: Any) -> str:
    """An option as it is typed, with what it takes."""
    takes = "" if param.is_flag else f" {param.metavar or '...'}"
    longest_first = sorted(param.opts, key=len, reverse=True)
    others = [*longest_first[1:], *param.secondary_opts]  # the second way to say a yes or no
    return "<br>".join([f"`{longest_first[0]}{takes}`", *(f"`{other}`" for other in others)])


def meaning(param: Any) -> str:
    """An option's help, with what typer would add to it."""
    parts = [param.help]
    if choices(param):
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in choices(param))}.")
    if param.envvar:
        parts.append(f"Also read from `{param.envvar}`.")
    if param.required:
        parts.append("**Required.**")
    elif param.show_default and not param.is_flag and param.default is not None:
        default = param.default.value if isinstance(param.default, Enum) else param.default
        parts.append(f"Default: `{default}`.")
    return " ".join(parts)


def choices(param: Any) -> list[str]:
    """The values that an option takes, if they can be listed."""
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    return [str(choice) for choice in getattr(getattr(param, "type", None), "choices", ())]


def two_columns(title: str, rows: list[tuple[str, str]]) -> str:
    """A table of names and meanings."""
    lines = [f"| {title} | what it is |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {text} |".replace("\n", " ") for name, text in rows])


def example_block(epilog: str) -> str:
    """The examples at the end of a help, without the marks that colour them."""
    plain = re.sub(r"(?<!\\)\[/?(dim|cyan)\]", "", epilog).replace("\\[", "[")
    return "```sh\n" + plain.replace("# Example: ", "# ") + "\n```"


def linked(text: str) -> str:
    """A help text whose mentions of pages are links."""
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](\1.md)", text)
