"""The sections in their order, as one file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from gditd import __version__
from gditd.atomic import write_atomically
from gditd.report.charts import CHART_STYLE
from gditd.report.material import Absent, Material, Part
from gditd.report.page import document, fact_list, section
from gditd.report.sections.alarms import alarms
from gditd.report.sections.confusion import confusion
from gditd.report.sections.curves import curves
from gditd.report.sections.data import data
from gditd.report.sections.drifted import drifted
from gditd.report.sections.flagged import flagged
from gditd.report.sections.map import embedding_map
from gditd.report.sections.overview import overview
from gditd.report.sections.scores import scores
from gditd.report.sections.training import training
from gditd.report.tables import TABLE_STYLE
from gditd.report.words import name

NAV_STYLE = """
nav ul { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; padding: 0; list-style: none; font-size: .9rem; }
a { color: var(--c0); }
@media print { nav { display: none; } }
"""
ENDINGS = (".html", ".htm")


def refuse_unfit_path(path: Path, *others: Path) -> None:
    """Find out before the work that a report cannot be written there, or would replace another file in use."""
    if not path.name.lower().endswith(ENDINGS):
        raise ValueError(f"the report {path} is a page of HTML: give it a name that ends in .html")
    if path.is_dir():
        raise ValueError(f"the report {path} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"cannot write the report {path}: there is no folder {path.parent}")
    for other in others:
        if path.resolve() == other.resolve():
            raise ValueError(f"the report would replace {other}: choose another name")


def write_report(material: Material, path: Path, *, title: str, context: Mapping[str, str]) -> None:
    """Make all sections and write the page whole."""
    text = report_page(material, title=title, context=context)
    write_atomically(path, lambda temporary: _write_text(temporary, text))


def report_page(material: Material, *, title: str, context: Mapping[str, str]) -> str:
    """The page."""
    drifts = material.collected.drift.drifts()
    drift = drifted(material, drifts)
    names = [name(column.column, 40) for column in drifts if column.changes] if isinstance(drift, Part) else []
    found = [
        overview(material, drifted=names),
        data(material, drifts),
        training(material),
        embedding_map(material),
        scores(material),
        alarms(material),
        curves(material),
        confusion(material),
        flagged(material),
        drift,
    ]
    parts = [part for part in found if isinstance(part, Part)]
    absent = [part for part in found if isinstance(part, Absent)]
    if absent:
        parts.append(not_here(absent))
    body = fact_list(facts(material, context)) + contents(parts)
    body += "".join(section(part.title, part.body, anchor=part.anchor) for part in parts)
    return document(title, body, style=CHART_STYLE + TABLE_STYLE + NAV_STYLE)


def facts(material: Material, context: Mapping[str, str]) -> dict[str, str]:
    """When, with what, and how."""
    summary = material.model.summary()
    members = summary["members"]
    return {
        **context,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "gditd": __version__,
        "settings": f"preset {summary['preset']}, {members} member{'s' * (members > 1)}, rule {summary['rule']}, "
        f"calibration {summary['calibration']}, alpha {material.alpha:g}",
    }


def contents(parts: list[Part]) -> str:
    """Links to the sections."""
    links = "".join(f'<li><a href="#{part.anchor}">{escape(part.title)}</a></li>\n' for part in parts)
    return f'<nav aria-label="Sections">\n<ul>\n{links}</ul>\n</nav>\n'


def not_here(absent: list[Absent]) -> Part:
    """What a reader may look for in vain, and why."""
    items = "".join(f"<li>{escape(part.title)}: {escape(part.why)}.</li>\n" for part in absent)
    return Part("absent", "Not in this report", f"<ul>\n{items}</ul>\n")


def _write_text(path: Path, text: str) -> None:
    # A label may hold half a surrogate pair, which no file can.
    path.write_text(text, encoding="utf-8", errors="replace")
