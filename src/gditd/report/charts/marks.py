"""Marks of points: shapes that tell classes apart where colours do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gditd.report.charts.style import N_COLOURS, colour
from gditd.report.charts.svg import element, number

# Each is drawn from the point's place, in relative steps: all points of a class are then one path.
SHAPES = (
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0",  # disc
    "m-2.3-2.3h4.6v4.6h-4.6z",  # square
    "m0-3.1l3 5.2h-6z",  # triangle
    "m0-3.5l3 3.5l-3 3.5l-3-3.5z",  # diamond
    "m0 3.1l3-5.2h-6z",  # triangle, point down
    "m-3.2-1h2.2v-2.2h2v2.2h2.2v2h-2.2v2.2h-2v-2.2h-2.2z",  # plus
)
CROSS = "m-3.2-3.2l6.4 6.4m0-6.4l-6.4 6.4"
RING = "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0"


@dataclass(frozen=True)
class Mark:
    """How the points of a kind look."""

    shape: str
    colour: str
    filled: bool = True

    @classmethod
    def of_class(cls, number: int) -> Mark:
        """The mark of the class with this number; 36 classes have one of their own."""
        return cls(SHAPES[(number + number // N_COLOURS) % len(SHAPES)], colour(number))

    @classmethod
    def of_unseen(cls) -> Mark:
        """The mark of rows of classes that training did not see."""
        return cls(CROSS, "var(--ood)", filled=False)

    @classmethod
    def of_flagged(cls) -> Mark:
        """The ring around a known row that is called OOD."""
        return cls(RING, "var(--ink)", filled=False)

    def at(self, points: Iterable[tuple[float, float]]) -> str:
        """Marks at places of a drawing."""
        path = "".join(f"M{number(x)} {number(y)}{self.shape}" for x, y in points)
        looks = {"fill": self.colour, "fill_opacity": "0.75"} if self.filled else {"fill": "none"}
        if not path:
            return ""
        return element("path", d=path, stroke=self.colour, stroke_width="0.6" if self.filled else "1.4", **looks)
