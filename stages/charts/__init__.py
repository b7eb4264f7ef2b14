"""Charts as data: what a report draws, for a page that draws it in the browser and for Matplotlib.

A chart has panels, each of one of three kinds: curves over numbers, rows of named things, cells of a grid.
It says what is shown, never how many pixels or inches it takes: that is a drawer's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gravel.stages.charts.model import COLORS as COLORS
from gravel.stages.charts.model import Axis as Axis
from gravel.stages.charts.model import Cells as Cells
from gravel.stages.charts.model import Chart as Chart
from gravel.stages.charts.model import Curves as Curves
from gravel.stages.charts.model import Line as Line
from gravel.stages.charts.model import Panel as Panel
from gravel.stages.charts.model import Rows as Rows
from gravel.stages.charts.model import RowSeries as RowSeries
from gravel.stages.charts.model import Rule as Rule
from gravel.stages.charts.model import Span as Span

MAX_POINTS = 300
"""Points of a curve over levels; more would not be told apart, and a road has thousands of levels."""

MAX_SINGLE_LEVELS = 60
"""Levels up to which a picture shows each by itself."""


def thinned(values: Sequence[float]) -> tuple[list[int], list[float]]:
    """Keep at most `MAX_POINTS` of a curve, evenly spread; returns places and values."""
    step = -(-len(values) // MAX_POINTS) or 1
    places = list(range(0, len(values), step))
    return places, [values[place] for place in places]


def bands(levels: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Join levels, ascending, into the first and last of each run of them, at most `MAX_POINTS` of `count`.

    Runs that a picture of so many levels would not tell apart are one.
    """
    gap = 1 + count // MAX_POINTS
    found: list[tuple[int, int]] = []
    for level in levels:
        if found and level - found[-1][1] <= gap:
            found[-1] = found[-1][0], level
        else:
            found.append((level, level))
    return found


MAX_SIDE = 24
"""Rows or columns of a heat map beyond which its numbers cannot be read."""

DARKEST = 15
"""The largest shade, a hexadecimal digit."""


def map_panel(
    title: str,
    grid: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    unit: str = "",
    like: Sequence[Sequence[str | None]] | None = None,
) -> Cells:
    """Make a heat map; `like` names for each cell the group of cells that it compares with, else all do."""
    groups = like or [[None] * len(columns) for _ in rows]
    ranges: dict[str | None, tuple[float, float]] = {}
    for values, names in zip(grid, groups, strict=True):
        for value, group in zip(values, names, strict=True):
            if value is not None:
                least, most = ranges.get(group, (value, value))
                ranges[group] = min(least, value), max(most, value)
    framed = [
        (down, across)
        for down, values in enumerate(grid)
        for across, value in enumerate(values)
        if value is not None and value == ranges[groups[down][across]][0]
    ]
    return Cells(
        title=title,
        unit=unit,
        rows=tuple(rows),
        columns=tuple(columns),
        values=tuple(tuple(row) for row in grid),
        shades=tuple(
            "".join(
                " " if value is None else shade_digits([_share(value, *ranges[group])])
                for value, group in zip(values, names, strict=True)
            )
            for values, names in zip(grid, groups, strict=True)
        ),
        framed=tuple(framed),
    )


def shade_digits(shares: Sequence[float]) -> str:
    """Write shares between 0 and 1 as shades."""
    return "".join(f"{round(DARKEST * share):x}" for share in shares)


def _share(value: float, least: float, most: float) -> float:
    """Place a value between the least and the most, by logarithm where they are far apart."""
    if most <= least:
        return 0.0
    if least > 0 and most > 3 * least:
        return math.log(value / least) / math.log(most / least)
    return (value - least) / (most - least)


def figure(
    title: str, about: str, panels: Sequence[Curves | Rows | Cells], data: Any, *, alt: str, columns: int = 3
) -> dict[str, Any]:
    """Make the section of a figure.

    Parameters
    ----------
    title, about : its heading and its caption.
    panels : what is drawn.
    data : the same for a program to read, in the words of the section.
    alt : what it shows, for people who do not see it.
    columns : panels side by side at most.
    """
    chart = Chart(about=alt, panels=tuple(panels), columns=columns)
    return {
        "kind": "figure",
        "title": title,
        "about": about,
        "chart": chart.model_dump(mode="json", exclude_defaults=True),
        "data": data,
    }
