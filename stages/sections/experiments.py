"""The experiments of a study: one row for each combination of the axes, with what all its stages found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from gravel.stages.artifacts import Measurement, Traversal
from gravel.stages.sections.components import component_sizes
from gravel.stages.sections.rates import EDGE_RATE, mean_rate, median_milliseconds
from gravel.stages.sections.section import Place, table
from gravel.stages.sections.studies import coordinates

Value = str | float | None

Result = TypeVar("Result")


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


def _measured(one: Measurement) -> dict[str, Value]:
    return {
        "strategy": one.strategy,
        "median ms": median_milliseconds(one) if one.searches else None,
        EDGE_RATE: mean_rate(one),
    }


FINDINGS: dict[str, Callable[[Any], dict[str, Value]]] = {
    "Ordering": lambda one: {"mean gap": one.statistics.get("mean_gap")},
    "CompressedGraph": lambda one: {"bits per arc": one.statistics.get("bits_per_arc")},
    "Measurement": _measured,
    "Verification": lambda one: {
        "verified": "passed" if all(check["passed"] for check in one.checks) else "FAILED"
    },
}
"""What an artifact adds to the row of an experiment."""


def _searched(one: Measurement) -> dict[str, Value]:
    if one.algorithm != "bfs" or not one.searches or not one.graph:
        return _measured(one)
    share = 100 * fmean(search["reached"] for search in one.searches) / max(one.graph["vertices"], 1)
    return {"reached, %": share, "depth": max(search["depth"] for search in one.searches), **_measured(one)}


def _components(one: Traversal) -> dict[str, Value]:
    if one.component is None:
        return {}
    _, sizes = component_sizes(one)
    return {"components": len(sizes), "largest component": int(sizes.max(initial=0))}


OF_DATA_SETS: dict[str, Callable[[Any], dict[str, Value]]] = {
    "Graph": lambda one: {"vertices": one.vertex_count, "arcs": one.arc_count},
    "Traversal": _components,
    **FINDINGS,
    "Measurement": _searched,
}
"""The same for the row of a data set, where there are many."""


def experiments(
    members: Sequence[tuple[str, Any]],
    beside: Mapping[str, Mapping[str, Value]] | None = None,
    many_data_sets: bool = False,
) -> Experiments | None:
    """Join what stages found along the axes of a study; None where nothing varies.

    `members` are labelled artifacts of any kinds, of repeated measurements one repetition each; `beside` is
    what the measurement of a label is in comparison with others. A result belongs to every experiment that
    agrees with it on the axes that reach it.
    """
    findings = OF_DATA_SETS if many_data_sets else FINDINGS
    found = [
        (label.partition("[")[0], coordinates(label), type(one).__name__, (label, one))
        for label, one in members
        if type(one).__name__ in findings
    ]
    cells = _largest([at for _, at, _, _ in found])
    names = list(dict.fromkeys(axis for cell in cells for axis in cell))
    values = {name: list(dict.fromkeys(cell[name] for cell in cells if name in cell)) for name in names}
    axes = {name: each for name, each in values.items() if len(each) > 1}
    if len(cells) < 2 or not axes:
        return None
    entries = {
        kind: list(dict.fromkeys(entry for entry, _, of, _ in found if of == kind)) for kind in findings
    }
    columns: dict[str, list[Value]] = {}
    for kind, tell in findings.items():
        short = _short(entries[kind])
        for entry in entries[kind]:
            results = [(at, tell(one)) for name, at, of, (_, one) in found if of == kind and name == entry]
            of_cells: list[Mapping[str, Value] | None] = list(_first_of_each(cells, results))
            for finding in dict.fromkeys(name for _, facts in results for name in facts):
                title = f"{short[entry]}: {finding}" if len(entries[kind]) > 1 else finding
                columns[title] = [None if facts is None else facts.get(finding) for facts in of_cells]
    compared = [
        (at, (beside or {}).get(label, {})) for _, at, kind, (label, _) in found if kind == "Measurement"
    ]
    if len(entries["Measurement"]) == 1:
        of_cells = list(_first_of_each(cells, compared))
        for finding in dict.fromkeys(name for _, facts in compared for name in facts):
            columns[finding] = [None if facts is None else facts.get(finding) for facts in of_cells]
    searched = [(at, one.graph.get("digest")) for _, at, kind, (_, one) in found if kind == "Measurement"]
    return Experiments(axes, cells, columns, _first_of_each(cells, searched))


def _short(entries: Sequence[str]) -> dict[str, str]:
    """Name entries without the workflows that they come from, where that still tells them apart."""
    names = {entry: entry.rpartition(".")[2] for entry in entries}
    return names if len(set(names.values())) == len(entries) else {entry: entry for entry in entries}


def _largest(several: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the combinations that are not part of another."""
    distinct = {frozenset(each.items()): dict(each) for each in reversed(several)}
    by_axes: dict[frozenset[str], list[dict[str, str]]] = {}
    for each in distinct.values():
        by_axes.setdefault(frozenset(each), []).append(each)
    parts = {
        frozenset((axis, each[axis]) for axis in axes)
        for axes in by_axes
        for more, larger in by_axes.items()
        if axes < more
        for each in larger
    }
    unique = dict.fromkeys(frozenset(each.items()) for each in several)
    return [distinct[items] for items in unique if items not in parts]


def _first_of_each(
    cells: Sequence[Mapping[str, str]], results: Sequence[tuple[Mapping[str, str], Result]]
) -> list[Result | None]:
    """Return for each cell the first result that agrees with it on all axes that reach the result."""
    by_axes: dict[tuple[str, ...], dict[tuple[str, ...], tuple[int, Result]]] = {}
    for place, (at, one) in enumerate(results):
        axes = tuple(sorted(at))
        by_axes.setdefault(axes, {}).setdefault(tuple(at[axis] for axis in axes), (place, one))
    found: list[Result | None] = []
    for cell in cells:
        fitting = [
            there[values]
            for axes, there in by_axes.items()
            if (values := tuple(cell.get(axis, "") for axis in axes)) in there and cell.keys() >= set(axes)
        ]
        found.append(min(fitting, key=lambda each: each[0])[1] if fitting else None)
    return found


def experiments_table(
    study: Experiments, rules: str = "", covered_by: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Make the table of all experiments: their coordinates, then their findings; `rules` explain some.

    `covered_by` names what lists the same experiments, each in a row.
    """
    columns = {name: each for name, each in study.columns.items() if any(value is not None for value in each)}
    rows = [
        [*(cell.get(axis) for axis in study.axes), *(each[place] for each in columns.values())]
        for place, cell in enumerate(study.cells)
    ]
    place: Place = {"result": 30, "covered_by": covered_by}
    if "standing" in columns or [*study.axes] == ["dataset"]:
        place["name"] = "experiments"
    return table(
        "Experiments",
        f"Each row is {'a data set' if [*study.axes] == ['dataset'] else 'one combination of the axes'}. "
        "Times are "
        f"medians over the searches of a row, and rates are harmonic means. {rules}".strip(),
        [*study.axes, *(f"{name} that ran" if name in study.axes else name for name in columns)],
        rows,
        **place,
    )
