"""Pictures of a study chosen by its axes: heat maps of two, curves along numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from gravel.stages.sections.experiments import Experiments
from gravel.stages.sections.plot import INK, PALETTE, draw, draw_panels, legend_above
from gravel.stages.sections.rates import EDGE_RATE
from gravel.stages.sections.scaling import WORKERS

MAX_MAPS = 6
"""Heat maps of one finding: one for each combination of the axes beyond two."""

MAX_CURVES = 8
"""Curves in one picture: as many as there are colours."""

MAX_SIDE = 24
"""Rows or columns of a heat map beyond which its numbers cannot be read."""

MAX_TICKS = 10
"""Values of an axis of numbers up to which each is named."""

LEAST_NUMBERS = 3
"""Values of an axis of numbers from which on it is drawn as a line."""

FINDINGS = ("median ms", EDGE_RATE, "bits per arc")
"""What is drawn, as `experiments` names it."""

Cell = Mapping[str, str]


def axis_figures(study: Experiments) -> list[dict[str, Any]]:
    """Draw each finding over the axes that it depends on."""
    figures = []
    for title, values in study.columns.items():
        finding = title.rpartition(": ")[2]
        numbers = [
            (cell, float(value))
            for cell, value in zip(study.cells, values, strict=True)
            if isinstance(value, int | float)
        ]
        if finding not in FINDINGS or len({value for _, value in numbers}) < 2:
            continue
        axes = _deciding(study.axes, numbers)
        along = [axis for axis in axes if axis not in WORKERS and _is_numbers(study.axes[axis])]
        if any(axis in WORKERS for axis in axes):
            continue  # scaling curves show them
        if along:
            figure = _curves(title, max(along, key=lambda axis: len(study.axes[axis])), axes, study, numbers)
        elif finding != EDGE_RATE and len(axes) > 1:
            figure = _maps(title, axes, study, numbers)
        else:
            continue
        if figure is not None:
            figures.append(figure)
    return figures


def _deciding(axes: Mapping[str, Sequence[str]], numbers: Sequence[tuple[Cell, float]]) -> list[str]:
    """List the axes along which a finding changes while all others stay."""
    found = []
    for axis in axes:
        groups: dict[tuple[tuple[str, str], ...], set[float]] = {}
        for cell, value in numbers:
            rest = tuple(item for item in cell.items() if item[0] != axis)
            groups.setdefault(rest, set()).add(value)
        if any(len(values) > 1 for values in groups.values()):
            found.append(axis)
    return found


def _is_numbers(values: Sequence[str]) -> bool:
    try:
        return len(values) >= LEAST_NUMBERS and all(math.isfinite(float(value)) for value in values)
    except ValueError:
        return False


def _curves(
    title: str, along: str, axes: Sequence[str], study: Experiments, numbers: Sequence[tuple[Cell, float]]
) -> dict[str, Any] | None:
    """Draw one finding along an axis of numbers, a curve for each combination of the other axes."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for cell, value in numbers:
        if along in cell:
            name = ", ".join(cell[axis] for axis in axes if axis != along and axis in cell)
            lines.setdefault(name, []).append((float(cell[along]), value))
    lines = {name: sorted(points) for name, points in lines.items()}
    if len(lines) > MAX_CURVES:
        return None

    def paint(drawing: Any) -> None:
        for place, (name, points) in enumerate(lines.items()):
            x, y = zip(*points, strict=True)
            drawing.plot(x, y, marker="o", ms=3, lw=1.3, color=PALETTE[place % len(PALETTE)], label=name)
        ticks = sorted({x for points in lines.values() for x, _ in points})
        if len(ticks) <= MAX_TICKS:
            drawing.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        drawing.set_xlabel(along)
        drawing.set_ylabel(title)
        if max(value for _, value in numbers) > 20 * min(value for _, value in numbers) > 0:
            drawing.set_yscale("log")
        else:
            drawing.set_ylim(bottom=0)
        if any(lines):
            legend_above(drawing)

    return {
        "kind": "figure",
        "title": f"{_capital(title)} along {along}",
        "about": "",
        "svg": draw(paint, alt=f"{title} along {along}, {len(lines)} curves"),
        "data": lines,
    }


def _maps(
    title: str, axes: Sequence[str], study: Experiments, numbers: Sequence[tuple[Cell, float]]
) -> dict[str, Any] | None:
    """Draw one finding over two axes, a heat map for each combination of the others."""
    # The two axes with most values span the maps; the shorter of them runs across, as a page is narrow.
    ranked = sorted(axes, key=lambda axis: -len(study.axes[axis]))
    down, across = ranked[:2]
    rest = [axis for axis in axes if axis not in (down, across)]
    maps = list(product(*(study.axes[axis] for axis in rest)))
    sides = [len(study.axes[down]), len(study.axes[across])]
    if len(maps) > MAX_MAPS or max(sides) > MAX_SIDE:
        return None
    spanned = (down, across, *rest)
    by_cell = {tuple(cell.get(axis) for axis in spanned): value for cell, value in numbers}
    graph_of = {
        tuple(cell.get(axis) for axis in spanned): graph
        for cell, graph in zip(study.cells, study.graphs, strict=True)
    }
    several = title.endswith("ms") and len(set(study.graphs)) > 1
    panels = []
    data: dict[str, Any] = {}
    for each in maps:
        grid = [
            [by_cell.get((row, column, *each)) for column in study.axes[across]] for row in study.axes[down]
        ]
        if any(value is not None for row in grid for value in row):
            like = [
                [graph_of.get((row, column, *each)) if several else None for column in study.axes[across]]
                for row in study.axes[down]
            ]
            panels.append((", ".join(each), _painter(grid, like, study.axes[down], study.axes[across])))
            data[", ".join(each)] = grid
    height = 0.85 + 0.28 * sides[0]
    alt = f"Heat map of {title} over {down} and {across}"
    return {
        "kind": "figure",
        "title": f"{_capital(title)} over {down} and {across}",
        "about": (
            f"The darker, the more; the least {'on each graph' if several else 'of a map'} is framed."
            + (" Shades compare on one graph alone." if several else "")
        ),
        "svg": draw_panels(
            panels,
            columns=3 if sides[1] <= 3 else 2,
            width=4.8 if len(panels) == 1 else 6.8,
            height=height,
            alt=alt,
        ),
        "data": {"down": study.axes[down], "across": study.axes[across], "maps": data},
    }


def paint_map(
    grid: Sequence[Sequence[float | None]], rows: Sequence[str], columns: Sequence[str]
) -> Callable[[Any], None]:
    """Return what fills an `Axes` with a heat map of numbers that all compare; the least is framed."""
    return _painter(grid, [[None] * len(columns) for _ in rows], rows, columns)


def _painter(
    grid: Sequence[Sequence[float | None]],
    like: Sequence[Sequence[str | None]],
    rows: Sequence[str],
    columns: Sequence[str],
) -> Callable[[Any], None]:
    ranges: dict[str | None, tuple[float, float]] = {}
    for values, groups in zip(grid, like, strict=True):
        for value, group in zip(values, groups, strict=True):
            if value is not None:
                least, most = ranges.get(group, (value, value))
                ranges[group] = min(least, value), max(most, value)

    def paint(axes: Any) -> None:
        from matplotlib.patches import Rectangle

        for (down, row), across in product(enumerate(grid), range(len(columns))):
            value = row[across]
            if value is None:
                continue
            least, most = ranges[like[down][across]]
            share = _share(value, least, most)
            # A transparent shade keeps the page's own text readable on it, by day and by night.
            axes.add_patch(
                Rectangle((across, down), 1, 1, facecolor=PALETTE[0], alpha=0.08 + 0.57 * share, lw=0)
            )
            if value == least:
                axes.add_patch(
                    Rectangle((across + 0.03, down + 0.06), 0.94, 0.88, fill=False, edgecolor=INK, lw=1.2)
                )
            axes.text(across + 0.5, down + 0.5, f"{value:.3g}", ha="center", va="center", fontsize=8)
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([place + 0.5 for place in range(len(columns))], columns)
        axes.set_yticks([place + 0.5 for place in range(len(rows))], rows)
        if len(columns) * max(map(len, columns)) > 36:
            axes.tick_params(axis="x", rotation=35)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)

    return paint


def _share(value: float, least: float, most: float) -> float:
    """Place a value between the least and the most, by logarithm where they are far apart."""
    if most <= least:
        return 0.0
    if least > 0 and most > 3 * least:
        return math.log(value / least) / math.log(most / least)
    return (value - least) / (most - least)


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]
