"""How the loss fell."""

from __future__ import annotations

from collections import defaultdict

from gditd.explain.profiles import number
from gditd.report.charts import Line, figure, legend, lines
from gditd.report.charts.figure import line_sample
from gditd.report.charts.style import colour
from gditd.report.material import Absent, Material, Part
from gditd.report.page import paragraph

DASH = "5 4"


def training(material: Material) -> Part | Absent:
    """Training curves of all members."""
    history = material.model.model_.cohort.history
    if not history:
        return Absent("Training curves", "a model file does not keep them: gditd fit --report draws them")
    curves: dict[tuple[int, bool], list[tuple[float, float]]] = defaultdict(list)
    for record in history:
        curves[record.member, False].append((record.epoch, record.training_loss))
        if record.stopping_loss is not None:
            curves[record.member, True].append((record.epoch, record.stopping_loss))
    members = max(record.member for record in history) + 1
    last = {record.member: record for record in history}
    said = f"{'One member was' if members == 1 else f'{members} members were'} trained, "
    said += f"for up to {max(record.epoch for record in history)} epochs. The training loss fell from "
    first = [record.training_loss for record in history if record.epoch == history[0].epoch]
    end = sum(record.training_loss for record in last.values()) / members
    said += f"{number(sum(first) / len(first))} to {number(end)}"
    said += " on the mean over members." if members > 1 else "."
    drawn = [
        Line(points, colour(1) if stopping else colour(0), DASH if stopping else "")
        for (_, stopping), points in curves.items()
    ]
    entries = [(line_sample(colour(0)), "training rows")]
    if any(stopping for _, stopping in curves):
        entries.append((line_sample(colour(1), DASH), "rows kept for early stopping"))
    drawing = lines(drawn, title=f"Training loss by epoch. {said}", axes=("epoch", "loss"))
    caption = "Mean loss of each epoch, a line for each member. It should fall and then level off."
    return Part("training", "Training curves", paragraph(said) + figure("Loss", drawing, caption, key=legend(entries)))
