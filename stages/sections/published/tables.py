"""A table for each printed table: the paper's value, the measured one in the same convention, their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.published.model import CONVENTIONS

if TYPE_CHECKING:
    from gravel.stages.published import Published, Row, Table
    from gravel.stages.sections.published.experiments import Experiment

SAME_SIZE = 0.01
"""Stored arcs may differ by this share for a graph to count as the paper's: collections drop duplicates."""


def published_tables(published: Published, measured: Sequence[Experiment]) -> list[dict[str, Any]]:
    """Make a section of each printed table that any experiment compares with."""
    made = [_section(published, table, measured) for table in published.tables if not table.printed]
    return [section for section in made if section["rows"]]


def _section(published: Published, table: Table, measured: Sequence[Experiment]) -> dict[str, Any]:
    unit = CONVENTIONS[table.convention]
    rows = [
        _row(row, table, one) for row in table.rows for one in measured if one.fits(table.match, row.match)
    ]
    if table.convention == "order_milliseconds":
        rows = [row for row in rows if row[2] is not None]  # it is measured by searches of columns alone
    about = [
        f"{published.papers[table.paper]}; measured there on {table.machine}.",
        f"Both columns of values count {unit}.",
    ]
    if any(row[-1] is None for row in rows) and table.convention == "generated":
        about.append("A rate per generated edge needs the edge list among the inputs of the report.")
    return {
        "kind": "table",
        "title": f"Beside {table.paper}, {table.table}",
        "about": " ".join(about),
        "columns": ["paper's row", f"paper, {unit}", f"here, {unit}", "here / paper", "graph", "run"],
        "rows": rows,
    }


def _row(row: Row, table: Table, one: Experiment) -> list[Any]:
    found = one.value(table.convention)
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
