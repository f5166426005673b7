from html.parser import HTMLParser

import pytest

from gditd.bench.report.formats import html, latex, latex_text, markdown
from gditd.bench.report.page import Section, markdown_page, page
from gditd.bench.report.tables import Cell, Row, Table

NASTY = r'50 % of a_b & {c} #1 $x ~y ^z \d <e> |f| "g" [h] *i*'
TABLE = Table(
    title="A & B",
    label_headings=("Metric", "Method"),
    headings=("MDSR 1",),
    rows=(
        Row(("AUROC", "a_b"), (Cell("99.00 ± 0.10", bold=True),)),
        Row(("AUROC", "c|d"), (Cell("\N{MINUS SIGN}1.00"),)),
        Row(("AUPR", "<e>"), (Cell("\N{EN DASH}"),)),
    ),
    notes=("100 % of <them>",),
)
VOID = {"meta", "img", "br"}


class Strict(HTMLParser):
    """Checks that elements close in order, and keeps them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_group_sizes():
    assert TABLE.group_sizes() == [2, 0, 1]
    single = Table("t", ("Method",), ("x",), tuple(Row(("same",), (Cell("1"),)) for _ in range(2)))
    assert single.group_sizes() == [1, 1]


def test_markdown():
    assert markdown(TABLE).splitlines() == [
        "### A & B",
        "",
        "| Metric | Method | MDSR 1 |",
        "| --- | --- | ---: |",
        "| AUROC | a_b | **99.00 ± 0.10** |",
        r"|  | c\|d | " + "\N{MINUS SIGN}1.00 |",
        r"| AUPR | \<e> | " + "\N{EN DASH} |",
        "",
        r"100 % of \<them>",
    ]


def test_latex():
    text = latex(TABLE)
    assert r"\caption{A \& B}" in text
    assert r"AUROC & a\_b & \textbf{99.00 $\pm$ 0.10} \\" in text
    assert r" & c\textbar{}d & $-$1.00 \\" in text
    assert r"AUPR & \textless{}e\textgreater{} & -- \\" in text
    assert text.count(r"\midrule") == 2
    for name in ("table", "tabular"):
        assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}") == 1
    assert text.count("{") == text.count("}")


def test_latex_escapes_every_special_character():
    assert latex_text(NASTY) == (
        r"50 \% of a\_b \& \{c\} \#1 \$x \textasciitilde{}y \textasciicircum{}z \textbackslash{}d "
        r"\textless{}e\textgreater{} \textbar{}f\textbar{} ''g'' {[}h] {*}i{*}"
    )


def test_html_has_headings_for_screen_readers():
    parsed = Strict(html(TABLE))
    scopes = [attrs["scope"] for tag, attrs in parsed.elements if tag == "th"]
    assert scopes == ["col"] * 3 + ["rowgroup", "row", "row", "rowgroup", "row"]
    assert ("th", {"scope": "rowgroup", "rowspan": "2"}) in parsed.elements
    assert [tag for tag, _ in parsed.elements].count("caption") == 1
    assert "&lt;e&gt;" in html(TABLE)


@pytest.mark.parametrize("scheme", ["light dark", "prefers-color-scheme: dark"])
def test_the_page_is_for_light_and_dark(scheme):
    assert scheme in page("t", {}, [])


def test_the_page_escapes_what_it_is_given():
    text = page("<t>", {"command": "gditd bench <x>"}, [Section("S & T", ["a < b", TABLE])])
    Strict(text)
    assert "<x>" not in text
    assert "&lt;t&gt;" in text
    assert "S &amp; T" in text


def test_markdown_page_starts_with_the_context():
    assert markdown_page("T", {"seed": "0"}, ["text"]) == "# T\n\n- seed: 0\n\ntext\n"
