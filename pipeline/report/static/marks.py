"""Marks of static drawings: axes, bars of rows, lines of curves, and their colours."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import log10, nan
from typing import Any

from gravel.stages.charts import Axis, Curves, Line, Rows, RowSeries
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


FEW_DECADES = 2.5
"""Over so few decades an axis has room for the labels 1, 2 and 5 of each."""
MAX_POWERS = 6
"""Powers of two that are named: `256 KiB` is wide."""


def set_axis(axes: Any, which: str, axis: Axis, ends: tuple[float, float] | None = None) -> None:
    """Give the axis `which`, x or y, its scale, ends, label and marks; `ends` are those of its values."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    drawn = getattr(axes, f"{which}axis")
    set_scale, set_limits = getattr(axes, f"set_{which}scale"), getattr(axes, f"set_{which}lim")
    if axis.scale in ("log2", "log10"):
        set_scale("log", base=int(axis.scale.removeprefix("log")))
    elif axis.scale == "symlog":
        set_scale("symlog", linthresh=1)
    if axis.low is not None or axis.high is not None:
        set_limits(axis.low, axis.high)
    getattr(axes, f"set_{which}label")(axis.label, fontsize=8.5)
    if axis.scale == "log2" and axis.ticks is None:
        drawn.set_major_locator(LogLocator(base=2, numticks=MAX_POWERS))
    if axis.unit == "bytes":
        drawn.set_major_formatter(_bytes)
    elif axis.scale == "log2":
        drawn.set_major_formatter(lambda value, _: f"{value:g}")
    elif axis.scale == "log10" and ends is not None and log10(ends[1] / ends[0]) < FEW_DECADES:
        # Plain numbers, which do not overlap.
        drawn.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        drawn.set_major_formatter(StrMethodFormatter("{x:g}"))
        drawn.set_minor_formatter(NullFormatter())
    if axis.whole:
        drawn.get_major_locator().set_params(integer=True)
    if axis.ticks is not None:
        axes.minorticks_off()
        getattr(axes, f"set_{which}ticks")(axis.ticks, [f"{tick:g}" for tick in axis.ticks])


def _bytes(value: float, _: Any = None) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


ROW = 0.22
"""Inches of a row with one bar."""
MAX_HEIGHT = 12.0
MAX_NAME = 36
"""Letters of a name; a longer one would leave no room for what is drawn."""


def rows_height(panel: Rows) -> float:
    """Return the inches that a panel needs."""
    bars = sum(each.draw == "bar" for each in panel.series)
    row = ROW if panel.stacked or bars < 2 else max(ROW, 0.08 * (bars + 1))
    return min(MAX_HEIGHT, 0.8 + row * len(panel.names))


def paint_rows(axes: Any, panel: Rows, *, letters: float) -> None:
    """Draw every row of a panel, the first on top, with words of this size."""
    places = range(len(panel.names))
    bars = [each for each in panel.series if each.draw == "bar"]
    below = [0.0] * len(panel.names)
    for each in panel.series:
        values = [nan if value is None else value for value in each.values]
        if each.low is not None and each.high is not None:
            for place, (low, high) in enumerate(zip(each.low, each.high, strict=True)):
                axes.plot([low, high], [place, place], color=INK, alpha=0.6, lw=1.2)
        if each.draw == "bar":
            thick = 0.7 if panel.stacked else 0.8 / len(bars)
            shift = 0.0 if panel.stacked else (bars.index(each) - (len(bars) - 1) / 2) * thick
            colors = color_of(each.color) if each.colors is None else [color_of(one) for one in each.colors]
            left = below if panel.stacked else None
            at = [place + shift for place in places]
            axes.barh(at, values, left=left, height=thick, color=colors, label=each.name)
            if panel.stacked:
                below = [start + (value or 0) for start, value in zip(below, each.values, strict=True)]
        else:
            _marks(axes, each, values)
        _words(axes, each, letters)
    numbers = [(*each.values, *(each.low or ()), *(each.high or ())) for each in panel.series]
    set_axis(axes, "x", panel.axis, _ends(chain(*numbers)))
    if any(each.words for each in panel.series):
        _leave_room(axes, panel)
    axes.set_yticks(places, [_shortened(name) for name in panel.names])
    axes.set_ylim(len(panel.names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _shortened(name: str) -> str:
    """Leave both ends of a long name: runs differ in either."""
    half = MAX_NAME // 2
    return name if len(name) <= MAX_NAME else f"{name[:half]}…{name[-half:]}"


def _marks(axes: Any, each: RowSeries, values: list[float]) -> None:
    colors = each.colors or (each.color,) * len(values)
    name = each.name if each.in_legend else None
    drawn = [color_of(color) for color in colors]
    point = {"marker": "o", "s": 20}
    marker = point if each.draw == "point" else {"marker": "|", "s": 120, "linewidths": 1.8}
    axes.scatter(values, range(len(values)), c=drawn, label=name, zorder=3, **marker)


def _words(axes: Any, each: RowSeries, letters: float) -> None:
    for place, (value, text) in enumerate(zip(each.values, each.words or (), strict=False)):
        if value is not None:
            high = each.high[place] if each.high is not None else None
            at = (value if high is None else max(value, high), place)
            axes.annotate(text, at, (4, 0), textcoords="offset points", va="center", fontsize=letters)


def _leave_room(axes: Any, panel: Rows) -> None:
    """Lengthen the axis for the words beside the longest."""
    least, most = axes.get_xlim()
    longest = max(len(text) for each in panel.series for text in each.words or ("",))
    share = 0.018 * longest
    if panel.axis.scale == "linear":
        axes.set_xlim(least, least + (most - least) * (1 + share))
    elif 0 < least < most:
        axes.set_xlim(least, most * (most / least) ** (2 * share))


def paint_curves(axes: Any, panel: Curves) -> None:
    """Draw all lines of a panel, what is shaded behind them, and the rules across."""
    for span in panel.spans:
        color = color_of(span.color)
        axes.axvspan(span.first, span.last, color=color, alpha=0.14, lw=0, label=span.name or None)
    below = [0.0] * (len(panel.lines[0].x) if panel.lines and panel.stacked else 0)
    for line in panel.lines:
        values = [nan if value is None else value for value in line.y]
        if panel.stacked:
            color = color_of(line.color)
            top = [start + (value or 0) for start, value in zip(below, line.y, strict=True)]
            if line.draw == "bars":
                axes.bar(line.x, values, bottom=below, color=color, width=0.8, label=line.name)
            else:
                axes.fill_between(line.x, below, top, color=color, alpha=0.85, lw=0, label=line.name)
            below = top
        else:
            _line(axes, line, values)
    for rule in panel.rules:
        draw = axes.axvline if rule.axis == "x" else axes.axhline
        color, style = color_of(rule.color), LINES[rule.dash]
        draw(rule.at, color=color, lw=1, ls=style, alpha=0.8, label=rule.name or None)
    set_axis(axes, "x", panel.x, _ends(x for line in panel.lines for x in line.x))
    set_axis(axes, "y", panel.y, _ends(y for line in panel.lines for y in line.y))


def _ends(values: Iterable[float | None]) -> tuple[float, float] | None:
    above = [value for value in values if value is not None and value > 0]
    return (min(above), max(above)) if above else None


def _line(axes: Any, line: Line, values: list[float]) -> None:
    color = color_of(line.color)
    if line.draw == "bars":
        if line.until is None:
            axes.bar(line.x, values, width=0.8, color=color, label=line.name)
        else:
            width = [last - first for first, last in zip(line.x, line.until, strict=True)]
            axes.bar(line.x, values, width=width, align="edge", color=color, alpha=0.85, label=line.name)
        return
    axes.plot(
        line.x,
        values,
        color=color,
        label=line.name,
        lw=3.5 if line.broad else 1.2,
        alpha=0.35 if line.broad else 1,
        ls="" if line.draw == "points" else LINES[line.dash],
        marker=None if line.draw == "line" else "o",
        ms=4 if line.draw == "points" else 3,
        drawstyle="steps-post" if line.draw == "steps" else "default",
    )
