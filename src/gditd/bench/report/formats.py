"""A table as Markdown, as LaTeX (booktabs) and as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from gditd.bench.report.tables import ABSENT, MINUS, Cell, Table
from gditd.report.page import note, scroll_box

_LATEX: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "[": "{[}",  # after the end of a row LaTeX takes these two for an option
    "*": "{*}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    MINUS: "$-$",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    ABSENT: "--",
    "\N{THIN SPACE}": r"\,",
    "\n": " ",
}
_MARKDOWN: dict[str, str | int | None] = {**{character: f"\\{character}" for character in "\\|*`<"}, "\n": " "}
LATEX_NEEDS = r"% needs \usepackage{booktabs} and \usepackage{graphicx}"


def markdown_text(text: str) -> str:
    """Text that no Markdown reader takes for markup."""
    return text.translate(str.maketrans(_MARKDOWN))


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return text.translate(str.maketrans(_LATEX))


def markdown(table: Table) -> str:
    """The table under a heading, its notes below."""
    align = ["---"] * len(table.label_headings) + ["---:"] * len(table.headings)
    lines = [_markdown_row(map(markdown_text, [*table.label_headings, *table.headings])), _markdown_row(align)]
    for row, size in zip(table.rows, table.group_sizes(), strict=True):
        labels = [markdown_text(label) for label in row.labels]
        cells = [f"**{markdown_text(c.text)}**" if c.bold else markdown_text(c.text) for c in row.cells]
        lines.append(_markdown_row([labels[0] if size else "", *labels[1:], *cells]))
    notes = [markdown_text(note) for note in table.notes]
    return "\n\n".join([f"### {markdown_text(table.title)}", "\n".join(lines), *notes]) + "\n"


def latex(table: Table) -> str:
    """A table environment that shrinks to the width of the text where it is wider."""
    columns = "l" * len(table.label_headings) + "r" * len(table.headings)
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        f"\\caption{{{latex_text(table.title)}}}",
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(map(latex_text, [*table.label_headings, *table.headings])),
    ]
    for row, size in zip(table.rows, table.group_sizes(), strict=True):
        if size and (len(row.labels) > 1 or row is table.rows[0]):
            lines.append(r"\midrule")
        labels = [latex_text(label) for label in row.labels]
        lines.append(_latex_row([labels[0] if size else "", *labels[1:], *map(_latex_cell, row.cells)]))
    lines += [r"\bottomrule", r"\end{tabular}}", r"\par"]
    lines += [f"\\smallskip\n{{\\footnotesize {latex_text(note)}\\par}}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def html(table: Table) -> str:
    """The table in a box of its own that scrolls where the page is narrow, its notes below."""
    headings = "".join(f'<th scope="col" class="label">{escape(text)}</th>' for text in table.label_headings)
    headings += "".join(f'<th scope="col">{escape(text)}</th>' for text in table.headings)
    body = "".join(_html_row(table, place) for place in range(len(table.rows)))
    notes = "".join(note(text) for text in table.notes)
    inner = (
        f"<table>\n<caption>{escape(table.title)}</caption>\n"
        f"<thead><tr>{headings}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
    )
    return scroll_box(table.title, inner) + notes


def _markdown_row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _latex_row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    return f"\\textbf{{{text}}}" if cell.bold else text


def _html_row(table: Table, place: int) -> str:
    row, size = table.rows[place], table.group_sizes()[place]
    first, others = row.labels[0], row.labels[1:]
    span = f' rowspan="{size}"' if size > 1 else ""
    scope = "rowgroup" if others else "row"
    labels = f'<th scope="{scope}"{span}>{escape(first)}</th>' if size else ""
    labels += "".join(f'<th scope="row">{escape(label)}</th>' for label in others)
    cells = "".join(f"<td>{_html_cell(cell)}</td>" for cell in row.cells)
    first_of_group = ' class="group"' if size and others else ""
    return f"<tr{first_of_group}>{labels}{cells}</tr>\n"


def _html_cell(cell: Cell) -> str:
    return f"<strong>{escape(cell.text)}</strong>" if cell.bold else escape(cell.text)
