"""Matplotlib set up for small inline SVG that follows the page's text colour and never changes by itself."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

INK = "#010203"
"""Stands for the page's text colour; replaced by `currentColor` in the SVG."""
PALETTE = ("#3b82c4", "#d9822b", "#3f9b6b", "#b2518f", "#8a7cc9", "#c2504a", "#7d8b3a", "#4aa3a8")
"""Eight hues that keep their contrast on white and on near-black."""

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gravel",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.color": "#888888",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def draw(paint: Callable[[Any], None], *, width: float = 6.4, height: float = 2.8, alt: str) -> str:
    """Let `paint` fill a Matplotlib `Axes` and return the picture as an SVG element.

    Parameters
    ----------
    width, height : inches; the page scales the picture to its column.
    alt : what the picture shows, for people who do not see it.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace(INK, "currentColor").replace("\n", " ")
    label = alt.replace("&", "and").replace('"', "'").replace("<", "").replace(">", "")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()
