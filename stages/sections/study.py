"""Results of a study as a whole: its experiments in one table, pictures along its axes, scaling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

from gravel.stages.charts import COLORS, MAX_SIDE, Axis, Curves, Line, map_panel
from gravel.stages.sections.experiments import Experiments, experiments, experiments_table
from gravel.stages.sections.layouts import Cell, swept
from gravel.stages.sections.rates import EDGE_RATE
from gravel.stages.sections.scaling import WORKERS, scaling_sections
from gravel.stages.sections.section import Made, Place, Section, figure
from gravel.stages.sections.studies import Study
from gravel.stages.sections.suite import compared, comparison_rules


def study_sections(
    members: Sequence[tuple[str, Any]],
    measured: Sequence[tuple[str, Any]],
    joined: Sequence[Cell],
    found: Sequence[Study],
    many_data_sets: bool,
) -> list[Made]:
    """Make the table of all experiments and its pictures from artifacts of several kinds; none without axes.

    `measured` has one repetition of each measurement, `joined` the cells and `found` the graphs of these.
    """
    others = [(label, one) for label, one in members if type(one).__name__ != "Measurement"]
    several = [study for study in found if len(study.members) > 1]
    beside = {member.label: compared(study, member) for study in several for member in study.members}
    study = experiments(swept([*others, *measured], joined), beside, many_data_sets)
    if study is None:
        return []
    rules = comparison_rules(several) if "standing" in study.columns else ""
    lists = [each for each in scaling_sections(measured) if each["kind"] == "table"]
    listed = any(len(each["rows"]) == len(study.cells) for each in lists)
    covered_by = ("times of scaling",) if listed else ()
    return [experiments_table(study, rules, covered_by), *axis_figures(study)]


MAX_MAPS = 6
"""Heat maps of one finding: one for each combination of the axes beyond two."""

MAX_CURVES = 8
"""Curves in one picture: as many as there are colours."""

MAX_TICKS = 10
"""Values of an axis of numbers up to which each is named."""

FAR = 20
"""The largest over the smallest value from which on a scale is logarithmic."""

LEAST_NUMBERS = 3
"""Values of an axis of numbers from which on it is drawn as a line."""

FINDINGS = ("median ms", EDGE_RATE, "bits per arc")
"""What is drawn, as `experiments` names it."""

ALONG: dict[str, Place] = {"median ms": {"answer": 50}, EDGE_RATE: {"result": 340}}
"""Where curves of what all experiments have stand; those of one entry among several are details."""

OVER: dict[str, Place] = {
    "median ms": {"answer": 60, "covered_by": ("strategies side by side", "times by order")},
    "bits per arc": {"result": 350, "name": "bits over axes", "covered_by": ("bits by order",)},
}
"""The same of heat maps."""

Coordinates = Mapping[str, str]


def axis_figures(study: Experiments) -> list[Made]:
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
            figure = _curves(title, max(along, key=lambda axis: len(study.axes[axis])), axes, numbers)
        elif finding != EDGE_RATE and len(axes) > 1:
            figure = _maps(title, axes, study, numbers)
        else:
            continue
        if figure is not None:
            figures.append(figure)
    return figures


def _deciding(axes: Mapping[str, Sequence[str]], numbers: Sequence[tuple[Coordinates, float]]) -> list[str]:
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
    title: str, along: str, axes: Sequence[str], numbers: Sequence[tuple[Coordinates, float]]
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

    ticks = sorted({x for points in lines.values() for x, _ in points})
    scale: Literal["linear", "log10"] = "log10" if ticks[-1] > FAR * ticks[0] > 0 else "linear"
    values = [value for _, value in numbers]
    far = max(values) > FAR * min(values) > 0
    panel = Curves(
        x=Axis(label=along, scale=scale, ticks=tuple(ticks) if len(ticks) <= MAX_TICKS else None),
        y=Axis(label=title, scale="log10") if far else Axis(label=title, low=0),
        lines=tuple(
            Line(name=name, x=x, y=y, draw="marked", color=place % COLORS)
            for place, (name, points) in enumerate(lines.items())
            for x, y in [tuple(zip(*points, strict=True))]
        ),
    )
    alt = f"{title} along {along}, {len(lines)} curves"
    return figure(f"{_capital(title)} along {along}", "", [panel], lines, alt=alt, **ALONG.get(title, {}))


def _maps(
    title: str, axes: Sequence[str], study: Experiments, numbers: Sequence[tuple[Coordinates, float]]
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
            name = ", ".join(each)
            panels.append(map_panel(name, grid, study.axes[down], study.axes[across], unit=title, like=like))
            data[", ".join(each)] = grid
    return figure(
        f"{_capital(title)} over {down} and {across}",
        f"Darker cells have larger values. The smallest {'of each graph' if several else 'of a map'} has a "
        "frame." + (" Shades compare within one graph only." if several else ""),
        panels,
        {"down": study.axes[down], "across": study.axes[across], "maps": data},
        columns=3 if sides[1] <= 3 else 2,
        alt=f"Heat map of {title} over {down} and {across}",
        **OVER.get(title, {}),
    )


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]


SECTIONS = (
    Section(
        rank=10,
        make=study_sections,
        kinds=("Graph", "Traversal", "Ordering", "CompressedGraph", "Measurement", "Verification"),
        needs=("measured", "cells", "studies", "many_data_sets"),
    ),
)
