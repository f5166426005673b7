"""What the demo tells, stage by stage, to somebody who has never seen the program."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from gditd.cli.console import out, percent
from gditd.cli.tasks.demo.files import Files
from gditd.cli.tasks.demo.tables import NEVER_SEEN
from gditd.cli.tasks.demo.words import in_words
from gditd.datasets.disputes.behaviours import LEGITIMATE, THIRD_PARTY
from gditd.explain.profiles import number
from gditd.report.outcomes import Outcome
from gditd.report.words import listed

EDGES = box.SIMPLE_HEAD
MOST_REASONS = 3
LEAST_WEIGHT = 0.02  # what weighs less is no reason
TELLING_WEIGHT = 0.2  # a column that weighs so much is a reason by itself
OUTCOMES: dict[Outcome, str] = {
    "none": "-",
    "kept": "kept",
    "chance": "within chance",
    "together": "shared",
    "broken": "not kept",
}
CAVEATS: dict[Outcome, str] = {
    "chance": "Within chance: the promise is an average over many such tables, and one of this size can exceed it so "
    "far by chance alone.",
    "together": "Shared: with so few rows, kinds are calibrated together, and the promise holds for all their rows.",
    "broken": "Not kept: more false alarms than chance explains. Another --seed shows whether that happens again.",
}


def heading(text: str) -> None:
    """Begin a part."""
    out().print(f"\n{text}", style="bold")


def opening(rows: int) -> None:
    """Say what will be seen, before it takes its time."""
    heading("A dispute desk, simulated")
    out().print(
        f"The desk has labelled two kinds of card disputes: {LEGITIMATE} ones and, rarer, {THIRD_PARTY} (a thief used "
        f"the card). Then a kind arrives that nobody has labelled: {NEVER_SEEN}, where cardholders dispute what they "
        f"bought themselves. All {rows:,} disputes are made up; none is a real case."
    )


def learned(document: dict[str, Any], notes: list[str]) -> None:
    """Say what was learned, and what is promised."""
    classes = document["classes"]
    heading("What was learned")
    kinds = listed([f"{known['rows']:,} {known['class']}" for known in classes])
    out().print(
        f"{document['rows']:,} labelled disputes ({kinds}) with {len(document['columns'])} columns each, "
        f"in {document['seconds']:.0f} s."
    )
    shared = any(known["calibrated_with"] for known in classes)
    whose = "the known kinds' new disputes, taken together" if shared else "each known kind's own new disputes"
    most = " or ".join(sorted({percent(known["promise"]) for known in classes}))
    out().print(
        f"The promise: of {whose}, at most {most} are flagged by mistake, on average, if they come as those learned "
        "from did."
    )
    for note in notes:
        out().print(f"note: {note}")


def judged(document: dict[str, Any], found: list[Outcome]) -> None:
    """Say what became of the new disputes, and of the promise."""
    figures, flagged = document["evaluation"], document["flagged"]
    unseen = figures["unseen_classes"][0]
    caught = count(unseen["ood_recall"], unseen["rows"])
    heading("What became of the new disputes")
    out().print(
        f"Of {figures['n_rows']:,} new disputes, {figures['n_rows'] - flagged:,} were put under a known kind and "
        f"{flagged:,} flagged OOD, for a person to look at."
    )
    out().print(verdict_table(figures["classes"], unseen, found))
    out().print(
        f"Caught: {caught:,} of {unseen['rows']:,} disputes of the new kind. A classifier that knows no OOD puts all "
        f"{unseen['rows']:,} under a wrong kind."
    )
    if flagged:
        out().print(
            f"Worth a look: {percent(caught / flagged)} of what was flagged is of the new kind, which makes up "
            f"{percent(unseen['rows'] / figures['n_rows'])} of all."
        )
    out().print(
        f"Told apart: for {percent(figures['id_accuracy'])} of the disputes of known kinds, the nearest kind is the "
        "right one."
    )
    for outcome in dict.fromkeys(found):
        if outcome in CAVEATS:
            out().print(CAVEATS[outcome])


def verdict_table(classes: list[dict[str, Any]], unseen: dict[str, Any], found: list[Outcome]) -> Table:
    """The kinds, how many of each were flagged, and what was promised."""
    table = Table("what it really was", box=EDGES, pad_edge=False)
    for name in ("disputes", "flagged", "share", "promised\nat most"):
        table.add_column(name, justify="right")
    table.add_column("promise")
    for known, outcome in zip(classes, found, strict=True):
        share, rows = known["false_alarm_rate"], known["rows"]
        cells = (f"{rows:,}", f"{count(share, rows):,}", percent(share), percent(known["promise"]), OUTCOMES[outcome])
        table.add_row(str(known["class"]), *cells)
    share, rows = unseen["ood_recall"], unseen["rows"]
    cells = (f"{rows:,}", f"{count(share, rows):,}", percent(share), "-", "-")
    table.add_row(f"{unseen['class']} (new)", *cells, style="bold")
    return table


def count(share: float | None, rows: int) -> int:
    """How many rows a share of them is."""
    return round((share or 0.0) * rows)


def reasons(explained: list[dict[str, Any]]) -> None:
    """Say which disputes are the strangest, and why."""
    heading("The strangest disputes, and why")
    if not explained:
        out().print("None was flagged, so there is none to explain.")
        return
    for strange in explained:
        verdict = "rightly flagged" if strange["kind"] == NEVER_SEEN else "a false alarm"
        out().print(
            f"Row {strange['row']:,}, {verdict}: it really was {strange['kind']}. It comes closest to "
            f"{strange['compared_with']}, {how_it_differs(strange['columns'])}:"
        )
        out().print(reason_table(strange))
    out().print("(A row mixes three simulated cases: counts have fractions, and yes or no is a share from 0 to 1.)")


def reason_table(strange: dict[str, Any]) -> Table:
    """The columns that set a dispute apart, in words."""
    table = Table("what", box=EDGES, pad_edge=False)
    table.add_column("here", justify="right")
    table.add_column(f"usual for {strange['compared_with']}")
    table.add_column("weight", justify="right")
    first, *others = strange["columns"][:MOST_REASONS]
    for reason in [first, *(other for other in others if other["share"] >= LEAST_WEIGHT)]:
        words = in_words(reason["column"])
        table.add_row(words, number(reason["value"]), reason["usual"], f"{reason['share']:.0%}")
    return table


def how_it_differs(columns: list[dict[str, Any]]) -> str:
    """Whether a dispute is strange for a value of its own or for many together."""
    if columns[0]["share"] >= TELLING_WEIGHT:
        return "but"
    return "but many things differ a little; most of all"


def next_steps(files: Files, explained: list[dict[str, Any]]) -> None:
    """Say where everything is, and what to type."""
    gditd = program()
    model, new = quoted(files.model), quoted(files.new)
    rows = ",".join(str(row) for row in sorted(strange["row"] for strange in explained) or [1])
    heading(f"Now you: everything is in {files.folder}")
    steps = {
        "charts, and the strangest disputes with their reasons: open in a browser": quoted(files.report),
        "each verdict beside what the dispute really was: open in a spreadsheet": quoted(files.verdicts),
        "ask why disputes are strange": f"{gditd} explain {model} {new} --rows {rows}",
        "catch more, for more false alarms: judge again with a looser promise": f"{gditd} predict {model} {new} "
        f"--alpha 0.1 --out {quoted(files.folder / 'looser.csv')}",
        "see what the model knows and promises": f"{gditd} inspect {model}",
        "a page to drop tables on, at http://127.0.0.1:8000": f"{gditd} serve {model}",
        "learn from a table of yours": f"{gditd} fit YOUR.csv --target COLUMN",
    }
    for purpose, line in steps.items():
        out().print(f"  # {purpose}", style="dim", soft_wrap=True)
        out().print(f"  {line}", soft_wrap=True)  # a line that was broken could not be pasted


def quoted(path: Path) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))


def program() -> str:
    """What to type for this program: its name where the shell finds it, else the path it was started by."""
    started = Path(sys.argv[0])
    found = shutil.which("gditd")
    is_script = started.name == "gditd" and started.is_file()
    if not is_script or (found is not None and started.samefile(found)):
        return "gditd"
    return quoted(started)
