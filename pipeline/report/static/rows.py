"""Panels of named rows with bars, points and ranges."""

from __future__ import annotations

from math import nan
from typing import Any

from gravel.pipeline.report.static.axes import set_axis
from gravel.pipeline.report.static.colors import INK, color_of
from gravel.stages.charts import Rows, RowSeries

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
            axes.barh(
                [place + shift for place in places],
                values,
                left=below if panel.stacked else None,
                height=thick,
                color=_colors(each),
                label=each.name,
            )
            if panel.stacked:
                below = [start + (value or 0) for start, value in zip(below, each.values, strict=True)]
        else:
            _marks(axes, each, values)
        _words(axes, each, letters)
    set_axis(axes, "x", panel.axis, _ends(panel))
    if any(each.words for each in panel.series):
        _leave_room(axes, panel)
    axes.set_yticks(places, [_shortened(name) for name in panel.names])
    axes.set_ylim(len(panel.names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _shortened(name: str) -> str:
    """Leave both ends of a long name: runs differ in either."""
    half = MAX_NAME // 2
    return name if len(name) <= MAX_NAME else f"{name[:half]}…{name[-half:]}"


def _colors(each: RowSeries) -> str | list[str]:
    return color_of(each.color) if each.colors is None else [color_of(color) for color in each.colors]


def _marks(axes: Any, each: RowSeries, values: list[float]) -> None:
    colors = each.colors or (each.color,) * len(values)
    name = each.name if each.in_legend else None
    marker = (
        {"marker": "o", "s": 20} if each.draw == "point" else {"marker": "|", "s": 120, "linewidths": 1.8}
    )
    axes.scatter(
        values, range(len(values)), c=[color_of(color) for color in colors], label=name, zorder=3, **marker
    )


def _words(axes: Any, each: RowSeries, letters: float) -> None:
    for place, (value, text) in enumerate(zip(each.values, each.words or (), strict=False)):
        if value is not None:
            ends = [value, each.high[place]] if each.high is not None else [value]
            at = max(end for end in ends if end is not None)
            axes.annotate(
                text, (at, place), (4, 0), textcoords="offset points", va="center", fontsize=letters
            )


def _leave_room(axes: Any, panel: Rows) -> None:
    """Lengthen the axis for the words beside the longest."""
    least, most = axes.get_xlim()
    longest = max(len(text) for each in panel.series for text in each.words or ("",))
    share = 0.018 * longest
    if panel.axis.scale == "linear":
        axes.set_xlim(least, least + (most - least) * (1 + share))
    elif 0 < least < most:
        axes.set_xlim(least, most * (most / least) ** (2 * share))


def _ends(panel: Rows) -> tuple[float, float] | None:
    values = [
        value for each in panel.series for value in (*each.values, *(each.low or ()), *(each.high or ()))
    ]
    above = [value for value in values if value is not None and value > 0]
    return (min(above), max(above)) if above else None
