"""Heat maps: shades from numbers, and the least of those that compare in a frame."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gravel.stages.charts.model import Cells

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
