"""Colours of static drawings; those of charts are in the page's style sheet."""

from __future__ import annotations

from gravel.stages.charts.model import Color, Dash

INK = "#010203"
"""Stands for the text colour; in a page's SVG it becomes `currentColor`."""
GREY = "#888888"
PALETTE = ("#3b82c4", "#d9822b", "#3f9b6b", "#b2518f", "#8a7cc9", "#c2504a", "#7d8b3a", "#4aa3a8")
"""Eight hues that keep their contrast on white and on near-black."""

LINES: dict[Dash, str] = {"solid": "-", "dashed": "--", "dotted": ":"}
"""How Matplotlib calls them."""


def color_of(color: Color) -> str:
    """Return a colour as Matplotlib takes it."""
    if color == "ink":
        return INK
    return GREY if color == "grey" else PALETTE[int(color)]
