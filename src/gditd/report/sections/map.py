"""The map of the embedding."""

from __future__ import annotations

import numpy as np

from gditd.embedding_map import EmbeddingMap
from gditd.report.charts import Mark, figure, legend, map_chart
from gditd.report.charts.figure import mark_sample
from gditd.report.figures import UNSEEN
from gditd.report.material import MOST_CLASSES, Material, Part
from gditd.report.page import paragraph
from gditd.report.words import name

LONGEST_NAME = 40  # in the legend

HOW_TO_READ = (
    "Each circle is a class. A row inside a circle gets that class as its verdict; a row outside all circles is called "
    "OOD. Within a circle, rows further out are less usual for the class; outside, distances are compressed. A row "
    "leans to the side of the class that it differs towards. Distances between circles mean little."
)


def embedding_map(material: Material) -> Part:
    """Circles, and a sample of rows."""
    kept = material.collected.sample.kept
    drawn = EmbeddingMap(material.model, alpha=material.alpha)
    places = drawn.place(kept.rows)
    unseen = kept.classes == UNSEEN
    layers = [(Mark.of_class(c), places[kept.classes == c]) for c in range(len(material.names))]
    layers += [(Mark.of_flagged(), places[kept.flagged & ~unseen]), (Mark.of_unseen(), places[unseen])]
    entries = []
    if len(material.names) <= MOST_CLASSES:
        entries = [
            (mark_sample(Mark.of_class(c)), name(words, LONGEST_NAME))
            for c, words in enumerate(material.names)
            if (kept.classes == c).any()
        ]
    if (kept.flagged & ~unseen).any():
        entries.append((mark_sample(Mark.of_flagged()), "known class, but called OOD"))
    if unseen.any():
        entries.append((mark_sample(Mark.of_unseen()), "class that training did not see"))
    label = (
        f"Map of {len(material.names)} classes with {len(places):,} rows. Outside all circles: "
        f"{np.count_nonzero(kept.flagged & ~unseen):,} of {np.count_nonzero(~unseen):,} rows of known classes, "
        f"{np.count_nonzero(kept.flagged & unseen):,} of {np.count_nonzero(unseen):,} rows of unseen classes."
    )
    caption = f"{len(places):,} rows"
    if len(places) < len(material.scored.classes):
        caption += f" of {len(material.scored.classes):,}, drawn at random from each class alike"
    drawing = map_chart(drawn.circles, layers, label=label)
    body = paragraph(HOW_TO_READ) + figure(
        "Classes and rows", drawing, f"{caption}. Marks show the true class.", key=legend(entries), wide=True
    )
    return Part("map", "Map of the classes", body)
