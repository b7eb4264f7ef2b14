"""A table for each printed one: the paper's value, the measured one in the same convention, their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.published.model import CONVENTIONS
from gravel.stages.sections.section import table

if TYPE_CHECKING:
    from gravel.stages.published import Published, Row, Table
    from gravel.stages.sections.published.experiments import Experiment

SAME_SIZE = 0.01
"""Stored arcs may differ by this share for a graph to count as the paper's: collections drop duplicates."""


def published_tables(published: Published, measured: Sequence[Experiment]) -> list[dict[str, Any]]:
    """Make a section of each printed table that any experiment compares with."""
    made = [_section(published, printed, measured) for printed in published.tables if not printed.printed]
    return [section for section in made if section["rows"]]


def _section(published: Published, printed: Table, measured: Sequence[Experiment]) -> dict[str, Any]:
    unit = CONVENTIONS[printed.convention]
    rows = [
        _row(row, printed, one)
        for row in printed.rows
        for one in measured
        if one.fits(printed.match, row.match)
    ]
    if printed.convention == "order_milliseconds":
        rows = [row for row in rows if row[2] is not None]  # it is measured by searches of columns alone
    about = [
        f"{published.papers[printed.paper]}; measured there on {printed.machine}.",
        f"Both columns of values count {unit}.",
    ]
    if any(row[-1] is None for row in rows) and printed.convention == "generated":
        about.append("A rate per generated edge needs the edge list among the inputs of the report.")
    return table(
        f"Beside {printed.paper}, {printed.table}",
        " ".join(about),
        f"paper's row | paper, {unit} | here, {unit} | here / paper | graph | run",
        rows,
        result=80,
        compared=_ratios(printed, rows),
    )


def _ratios(printed: Table, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Give the range of ratios to the printed values."""
    ratios = [row[3] for row in rows if row[3] is not None]
    if not ratios:
        return ()
    least, most = f"{min(ratios):.3g}", f"{max(ratios):.3g}"
    told = least if min(ratios) == max(ratios) else f"{least} to {most}"
    others = "" if all(row[4] == "the paper's size" for row in rows) else ", on other graphs"
    return (f"{told} times the values of {printed.paper}, {printed.table}{others}.",)


def _row(row: Row, printed: Table, one: Experiment) -> list[Any]:
    found = one.value(printed.convention)
    return [
        row.row,
        row.value,
        found,
        None if found is None or row.value is None else found / row.value,
        graph_size(row, one),
        one.label,
    ]


def graph_size(row: Row, one: Experiment) -> str:
    """Say whether the graph is the paper's, by its stored arcs, or another of the same kind."""
    here = one.one.graph["arcs"]
    if row.arcs is None:
        return f"{here:,} arcs"
    if abs(here - row.arcs) <= SAME_SIZE * row.arcs:
        return "the paper's size"
    return f"same kind, {here / row.arcs:.3g} of its arcs"
