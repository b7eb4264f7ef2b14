"""The experiments of a study: one row for each combination of the axes, with what all its stages found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.rates import EDGE_RATE, harmonic_mean, rates
from gravel.stages.sections.studies import coordinates

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Measurement, Ordering, Verification

Value = str | float | None


@dataclass(frozen=True)
class Experiments:
    """The combinations of a study's axes, in the order of the report's inputs.

    `axes` are those that differ between experiments. `columns` are named findings, each with a value for
    every experiment, None where none of its stages has one. `graphs` tells which experiments searched one
    graph: only their times compare.
    """

    axes: dict[str, list[str]]
    cells: list[dict[str, str]]
    columns: dict[str, list[Value]]
    graphs: list[str | None]


def _order(one: Ordering) -> dict[str, Value]:
    return {"mean gap": one.statistics.get("mean_gap")}


def _layout(one: CompressedGraph) -> dict[str, Value]:
    return {"bits per arc": one.statistics.get("bits_per_arc")}


def _measured(one: Measurement) -> dict[str, Value]:
    times = [search["milliseconds"] for search in one.searches]
    speeds = rates(one.searches, "edges")
    return {
        "strategy": one.strategy,
        "median ms": median(times) if times else None,
        EDGE_RATE: harmonic_mean(speeds) if speeds else None,
    }


def _verified(one: Verification) -> dict[str, Value]:
    return {"verified": "passed" if all(check["passed"] for check in one.checks) else "FAILED"}


FINDINGS: dict[str, Callable[[Any], dict[str, Value]]] = {
    "Ordering": _order,
    "CompressedGraph": _layout,
    "Measurement": _measured,
    "Verification": _verified,
}
"""What an artifact adds to the row of an experiment."""


def experiments(
    members: Sequence[tuple[str, Any]], beside: Mapping[str, Mapping[str, Value]] | None = None
) -> Experiments | None:
    """Join what stages found along the axes of a study; None where nothing varies.

    `members` are labelled artifacts of any kinds, of repeated measurements one repetition each; `beside` is
    what the measurement of a label is in comparison with others. A result belongs to every experiment that
    agrees with it on the axes that reach it.
    """
    found = [
        (label.partition("[")[0], coordinates(label), type(one).__name__, (label, one))
        for label, one in members
        if type(one).__name__ in FINDINGS
    ]
    cells = _largest([at for _, at, _, _ in found])
    names = list(dict.fromkeys(axis for cell in cells for axis in cell))
    values = {name: list(dict.fromkeys(cell[name] for cell in cells if name in cell)) for name in names}
    axes = {name: each for name, each in values.items() if len(each) > 1}
    if len(cells) < 2 or not axes:
        return None
    entries = {
        kind: list(dict.fromkeys(entry for entry, _, of, _ in found if of == kind)) for kind in FINDINGS
    }
    columns: dict[str, list[Value]] = {}
    for kind, tell in FINDINGS.items():
        short = _short(entries[kind])
        for entry in entries[kind]:
            results = [(at, tell(one)) for name, at, of, (_, one) in found if of == kind and name == entry]
            for finding in dict.fromkeys(name for _, told in results for name in told):
                title = f"{short[entry]}: {finding}" if len(entries[kind]) > 1 else finding
                columns[title] = [_value(cell, results, finding) for cell in cells]
    compared = [
        (at, (beside or {}).get(label, {})) for _, at, kind, (label, _) in found if kind == "Measurement"
    ]
    if len(entries["Measurement"]) == 1:
        for finding in dict.fromkeys(name for _, told in compared for name in told):
            columns[finding] = [_value(cell, compared, finding) for cell in cells]
    searched = [(at, one.graph.get("digest")) for _, at, kind, (_, one) in found if kind == "Measurement"]
    graphs = [next((name for at, name in searched if at.items() <= cell.items()), None) for cell in cells]
    return Experiments(axes, cells, columns, graphs)


def _short(entries: Sequence[str]) -> dict[str, str]:
    """Name entries without the workflows that they come from, where that still tells them apart."""
    names = {entry: entry.rpartition(".")[2] for entry in entries}
    return names if len(set(names.values())) == len(entries) else {entry: entry for entry in entries}


def _largest(several: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the combinations that are not part of another."""
    distinct = [dict(each) for each in dict.fromkeys(tuple(one.items()) for one in several)]
    items = [set(each.items()) for each in distinct]
    return [
        each for each, mine in zip(distinct, items, strict=True) if not any(mine < other for other in items)
    ]


def _value(
    cell: Mapping[str, str], results: Sequence[tuple[Mapping[str, str], Mapping[str, Value]]], finding: str
) -> Value:
    return next((told.get(finding) for at, told in results if at.items() <= cell.items()), None)


def experiments_table(study: Experiments, rules: str = "") -> dict[str, Any]:
    """Make the table of all experiments: their coordinates, then their findings; `rules` explain some."""
    columns = {name: each for name, each in study.columns.items() if any(value is not None for value in each)}
    rows = [
        [*(cell.get(axis) for axis in study.axes), *(each[place] for each in columns.values())]
        for place, cell in enumerate(study.cells)
    ]
    return {
        "kind": "table",
        "title": "Experiments",
        "about": (
            "Each row is one combination of the axes. Times are medians over the sources of an experiment, "
            f"{EDGE_RATE} are harmonic means over them. {rules}"
        ).strip(),
        "columns": [*study.axes, *columns],
        "rows": rows,
    }
