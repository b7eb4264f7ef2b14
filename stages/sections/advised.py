"""What `auto` chose for an order and a layout, what it expected, how far it is from the best of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.sections.cells import Cell
from gravel.stages.sections.section import Section, table


def advised_sections(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Make the table of `auto` against the best cell of its place, and that of what it foretold."""
    rows, foretold = [], []
    for cell in (cell for cell in cells if cell.advised):
        foretold.append(_foretold(cell))
        others = [other for other in cells if not other.advised and _comparable(cell, other)]
        if others:
            rows.append(_against(cell, min(others, key=lambda other: other.milliseconds), len(others)))
    found = []
    if rows:
        found.append(_table(rows))
    if foretold:
        found.append(_foretold_table(foretold))
    return found


def _comparable(cell: Cell, other: Cell) -> bool:
    """Tell whether another cell differs only in what `auto` was free to choose."""
    same_layout = cell.advice_of_layout is not None or cell.layout == other.layout
    same_order = cell.advice_of_order is not None or cell.order == other.order
    return cell.place == other.place and same_layout and same_order


def _against(cell: Cell, best: Cell, count: int) -> list[Any]:
    return [
        cell.graph,
        cell.placement,
        cell.title.partition(",")[0],
        f"{cell.order}, {cell.layout}",
        cell.milliseconds,
        f"{best.order}, {best.layout}",
        best.milliseconds,
        100 * (cell.milliseconds / best.milliseconds - 1),
        count,
        next(each["reason"] for each in (cell.advice_of_order, cell.advice_of_layout) if each),
    ]


def _table(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return table(
        "auto against the best order and layout",
        "The best is the fastest cell with the same graph, placement and algorithm. The "
        "choice of auto was measured again, so cells of one order and layout differ by their "
        "spread.",
        "graph | placement | algorithm | auto chose | ms | best | best ms | behind the best, % | "
        "cells | because",
        [list(row) for row in rows],
        result=70,
    )


def _foretold(cell: Cell) -> list[Any]:
    expected = _expected(cell)
    return [
        cell.graph,
        cell.placement,
        cell.title.partition(",")[0],
        f"{cell.order}, {cell.layout}",
        expected.get("bits_per_arc"),
        cell.bits,
        expected.get("search_milliseconds"),
        cell.milliseconds,
        len({each["order"] for each in _considered(cell.advice_of_order)}) or None,
    ]


def _expected(cell: Cell) -> Mapping[str, Any]:
    """Find what was expected of the choice, by the layout's advice rather than by the order's before it."""
    for advice in (cell.advice_of_layout, cell.advice_of_order):
        for record in _considered(advice):
            if record["layout"] == cell.layout and (
                advice is cell.advice_of_layout or record["order"] == cell.order
            ):
                return record
    return {}


def _considered(advice: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    return () if advice is None else advice["considered"]


def _foretold_table(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return table(
        "What auto expected",
        "Bits per arc are estimated from samples, and times by a model of searches on one "
        "H200. The times are for comparing choices; they do not predict a run.",
        "graph | placement | algorithm | auto chose | bits per arc expected | bits per arc | ms "
        "expected | ms | orders tried",
        [list(row) for row in rows],
    )


SECTIONS = (Section(rank=13, make=advised_sections, needs=("cells",)),)
