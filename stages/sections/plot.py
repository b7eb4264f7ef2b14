"""Matplotlib set up for small inline SVG that follows the page's text colour and never changes by itself."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from math import ceil, floor, log, log10
from typing import Any

INK = "#010203"
"""Stands for the page's text colour; replaced by `currentColor` in the SVG."""
PALETTE = ("#3b82c4", "#d9822b", "#3f9b6b", "#b2518f", "#8a7cc9", "#c2504a", "#7d8b3a", "#4aa3a8")
"""Eight hues that keep their contrast on white and on near-black."""

FEW_DECADES = 2.5
"""Over so few decades an axis has room for the labels 1, 2 and 5 of each."""

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


WIDTH = 4.8
"""Inches of a picture that a phone shows whole with letters that can be read."""

MOST_POINTS = 300
"""Points of a curve over levels; more would not be told apart, and a road has thousands of levels."""


MAX_SINGLE_LEVELS = 60
"""Levels up to which a picture shows each by itself."""


def thinned(values: Sequence[float]) -> tuple[list[int], list[float]]:
    """Leave at most `MOST_POINTS` of a curve, evenly spread; returns places and values."""
    step = -(-len(values) // MOST_POINTS) or 1
    places = list(range(0, len(values), step))
    return places, [values[place] for place in places]


def bands(levels: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Join levels, ascending, into the first and last of each run of them, at most `MOST_POINTS` of `count`.

    Runs that a picture of so many levels would not tell apart are one.
    """
    gap = 1 + count // MOST_POINTS
    found: list[tuple[int, int]] = []
    for level in levels:
        if found and level - found[-1][1] <= gap:
            found[-1] = found[-1][0], level
        else:
            found.append((level, level))
    return found


def draw(paint: Callable[[Any], None], *, width: float = WIDTH, height: float = 2.7, alt: str) -> str:
    """Let `paint` fill a Matplotlib `Axes` and return the picture as an SVG element.

    Parameters
    ----------
    width, height : inches; the page scales the picture to its column.
    alt : what the picture shows, for people who do not see it.
    """
    return _written(lambda figure: paint(figure.add_subplot()), width, height, alt)


def draw_panels(
    panels: Sequence[tuple[str, Callable[[Any], None]]],
    *,
    columns: int = 3,
    width: float = 6.8,
    height: float = 1.9,
    same_rows: bool = False,
    across: str = "",
    up: str = "",
    alt: str,
) -> str:
    """Draw several small pictures in rows under one legend.

    Parameters
    ----------
    panels : each a title and what fills its `Axes`.
    columns : panels in a row at most.
    width, height : inches of the whole and of one row.
    same_rows : every panel has the same named rows, so that only the first of a row names them.
    across, up : what the axes of all panels show.
    alt : as for `draw`.

    """
    from textwrap import fill as fill_text  # at 5 points a letter, and an edge

    columns = min(columns, len(panels))
    width = width if columns > 1 else min(width, WIDTH)
    rows = -(-len(panels) // columns)

    def paint(figure: Any) -> None:
        axes = figure.subplots(rows, columns, squeeze=False, sharey=same_rows)
        legend: dict[str, Any] = {}
        for place, each in enumerate(axes.flat):
            if place >= len(panels):
                each.set_axis_off()
                continue
            title, fill = panels[place]
            each.set_title(fill_text(title, int(72 * width / columns / 6)), fontsize=8.5, color=INK)
            fill(each)
            each.tick_params(which="both", labelsize=7 if columns > 1 else 8.5)
            handles, labels = each.get_legend_handles_labels()
            legend.update(zip(labels, handles, strict=True))
        if across:
            figure.supxlabel(across, fontsize=8, color=INK)
        if up:
            figure.supylabel(up, fontsize=8, color=INK)
        _legend_above(figure, list(legend.values()), list(legend))

    return _written(paint, width, height * rows + (0.4 if across else 0.1), alt)


def legend_above(axes: Any) -> None:
    """Put the legend above the picture, where it hides no curve, in as many columns as fit."""
    _legend_above(axes.figure, *axes.get_legend_handles_labels())


def _legend_above(figure: Any, handles: list[Any], labels: list[str]) -> None:
    if labels:
        # In points: of 8 a letter takes 4.6 in the mean, the mark and the gaps of a column 36.
        columns = int(72 * figure.get_figwidth() / (36 + 4.6 * max(map(len, labels))))
        columns = max(1, min(columns, len(labels)))
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def _written(paint: Callable[[Any], None], width: float, height: float, alt: str) -> str:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with matplotlib.rc_context(_STYLE):
        # A browser's letters may be taller than those that Matplotlib measured.
        layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.07)
        figure = Figure(figsize=(width, height), layout=layout)
        canvas = FigureCanvasSVG(figure)
        paint(figure)
        figure.patch.set_visible(False)
        for axes in figure.axes:
            axes.patch.set_visible(False)
            _keep_powers_alone(axes.xaxis, axes.get_xlim())
            _keep_powers_alone(axes.yaxis, axes.get_ylim())
        buffer = io.StringIO()
        # `savefig` would lay out and draw all of it once before, to no effect on what is written.
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace(INK, "currentColor").replace("\n", " ")
    label = alt.replace("&", "and").replace('"', "'").replace("<", "").replace(">", "")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def _keep_powers_alone(axis: Any, limits: tuple[float, float]) -> None:
    """Take the marks between the powers off a logarithmic axis.

    A small picture would consist of little else, and take two thirds of its time for them; only where fewer
    than two powers are in sight are they what the axis is read by.
    """
    from matplotlib.ticker import NullLocator

    if axis.get_scale() != "log":
        return
    first, last = (log(limit, axis.get_transform().base) for limit in sorted(limits))
    if floor(last) > ceil(first):
        axis.set_minor_locator(NullLocator())


def label_logarithmic(axis: Any, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers that do not overlap, over however many decades."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    decades = log10(high / low) if high > low > 0 else 0.0
    steps = (1.0, 2.0, 5.0) if decades < FEW_DECADES else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=steps))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
