"""The result in plain words, and all figures."""

from __future__ import annotations

from typing import Any

from gditd.report.figures import FIGURES
from gditd.report.material import Material, Part
from gditd.report.outcomes import outcomes
from gditd.report.page import note, paragraph
from gditd.report.tables import Cell, Figure, Text, table
from gditd.report.words import columns_text, listed, name, percent, rows_text
from gditd.summary import forecast_words

WEAK = 0.1  # accuracy below the mean over classes by so much is worth a word

SOURCES = {
    "held out": (
        "These rows were held out of training to calibrate the model. It did not learn from them, so accuracy is what "
        "new rows of the same kind get; but they set the thresholds, so the share of them called OOD is close to alpha "
        "by construction and proves nothing. Measure on other rows with gditd evaluate."
    ),
    "training": (
        "The model was trained on these rows. Training rows look better than new rows do: take the figures as a check "
        "that it learned its table, and measure on other rows with gditd evaluate."
    ),
}


def overview(material: Material, *, drifted: list[str]) -> Part:
    """One paragraph, then the figures."""
    sentences = [*what_was_done(material), *known_rows(material), *unseen_rows(material)]
    if drifted:
        are = "is" if len(drifted) == 1 else "are"
        sentences.append(f"{columns_text(len(drifted))} {are} not as in training: {listed(drifted)}.")
    body = paragraph(" ".join(sentences))
    summary = material.model.summary()
    if summary["rule"] == "conformal":
        body += paragraph(forecast_words(summary["forecast"]))
    if material.source != "new":
        body += note(SOURCES[material.source])
    return Part("result", "The result in short", body + figure_table(material.figures))


def what_was_done(material: Material) -> list[str]:
    """What the rows are."""
    figures = material.figures
    learned = f"The model knows {len(material.names):,} class{'es' * (len(material.names) > 1)}"
    learned += f" from {rows_text(int(material.model.class_counts_.sum()))}."
    if material.source == "new":
        return [learned, f"It was measured on {rows_text(figures['n_rows'])}."]
    kind = "held out of training" if material.source == "held out" else "of its training table"
    return [learned, f"The figures are from {rows_text(figures['n_rows'])} {kind}."]


def known_rows(material: Material) -> list[str]:
    """How rows of known classes did."""
    figures = material.figures
    n_known = figures["n_rows"] - figures["n_ood"]
    if not n_known:
        return ["None of them is of a class the model knows, so nothing can be said on accuracy and false alarms."]
    said = [
        f"Of {rows_text(n_known)} of known classes, {percent(figures['id_accuracy'])} got the right class "
        f"(mean over classes {percent(figures['balanced_accuracy'])}), and {percent(figures['false_alarm_rate'])} were "
        f"called OOD{promise_words(material)}."
    ]
    weak = weakest(figures)
    if weak is not None:
        said.append(f"The weakest class is {name(weak['class'])}: {percent(weak['accuracy'])} right.")
    found = outcomes(material.model, figures)
    broken = [words for words, outcome in zip(material.names, found, strict=True) if outcome == "broken"]
    if broken and material.source == "new":
        said.append(
            f"More rows of {listed(broken)} were called OOD than promised, and more than chance explains: these rows "
            "do not come as training rows did."
        )
    return said


def promise_words(material: Material) -> str:
    """What was promised on false alarms, if anything."""
    promises = [known["promise"] for known in material.figures["classes"] if known["promise"] is not None]
    if not promises:
        return " (nothing is promised)"
    least, most = percent(min(promises)), percent(max(promises))
    return f" (promised: at most {most})" if least == most else f" (promised: at most {least} to {most}, by class)"


def unseen_rows(material: Material) -> list[str]:
    """How rows of unseen classes did."""
    figures = material.figures
    if not figures["n_ood"]:
        return [] if material.source != "new" else ["No row is of a class that training did not see."]
    caught = round(figures["ood_recall"] * figures["n_ood"])
    said = [
        f"Of {rows_text(figures['n_ood'])} of classes that training did not see, {caught:,} "
        f"({percent(figures['ood_recall'])}) were called OOD."
    ]
    if figures["ood_auroc"] is not None:
        auroc = percent(figures["ood_auroc"])
        said.append(f"The chance that such a row scores stranger than a known one (AUROC) is {auroc}.")
    return said


def weakest(figures: dict[str, Any]) -> dict[str, Any] | None:
    """The class that is far less often right than classes are on the mean."""
    seen = [known for known in figures["classes"] if known["accuracy"] is not None]
    worst: dict[str, Any] = min(seen, key=lambda known: known["accuracy"])
    return worst if worst["accuracy"] < figures["balanced_accuracy"] - WEAK else None


def figure_table(figures: dict[str, Any]) -> str:
    """The figures of `gditd evaluate`, by the names they have in its JSON."""
    rows: list[list[Cell]] = [
        [key, Figure(percent(figures[key]), figures[key]), Text([meaning])] for key, meaning in FIGURES.items()
    ]
    notes = [f"The rarest class is {name(figures['minority_class'])}; alpha is {figures['alpha']:g}."]
    if figures["n_ood"] == 0:
        notes.append("There is no row of an unseen class, so figures on OOD rows are not defined.")
    return table("All figures", ["figure", "value", "what it is"], rows, notes=notes)
