"""What centralities are: how values spread, which vertices have the largest, and how long batches took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import COLORS, MAX_POINTS, Axis, Curves, Line, figure

if TYPE_CHECKING:
    from gravel.stages.artifacts import Batches, Centrality

TOP = 10
"""Vertices that a table lists of each measure."""

BINS = 60
"""Bars of a distribution, of a measure with more values than that."""

FEW = 50
"""Vertices of the longest bar up to which the scale is linear."""

Members = Sequence[tuple[str, Any]]


def centrality_sections(members: Members) -> list[dict[str, Any]]:
    """Make the tables of all centralities, a distribution of each, and the time by batch."""
    measured = [(label, one) for label, one in members if type(one).__name__ == "Centrality"]
    timed = [(label, one) for label, one in members if type(one).__name__ == "Batches"]
    sections: list[dict[str, Any]] = []
    if measured:
        sections += [_summary(measured), _top(measured)]
        sections += [_distribution(label, one) for label, one in measured if len(one.value) > 1]
    if any(one.batches for _, one in timed):
        sections += [_batches(timed), _times(timed)]
    return sections


def name_of(one: Centrality) -> str:
    """Name a measure with its parameters."""
    name = f"{one.measure} within {one.hops} hops" if one.measure == "neighbourhood" else one.measure
    return name if one.direction == "out" else f"{name} (direction {one.direction})"


def largest(one: Centrality, count: int) -> list[tuple[int, float]]:
    """Return the vertices with the largest values, and these; of equal ones the first."""
    import numpy

    values = numpy.asarray(one.value[:])
    first = numpy.argsort(-values, kind="stable")[:count]
    vertices = first if one.vertex is None else numpy.asarray(one.vertex[:])[first]
    return list(zip(vertices.tolist(), values[first].tolist(), strict=True))


def _summary(measured: Sequence[tuple[str, Centrality]]) -> dict[str, Any]:
    import numpy

    rows = []
    for label, one in measured:
        values = numpy.asarray(one.value[:])
        facts: list[Any] = [None] * 4
        if len(values):
            facts = [
                float(each) for each in (values.min(), numpy.median(values), values.mean(), values.max())
            ]
        first = largest(one, 1)
        where = {"vertex": first[0][0]} if first else None
        rows.append([label, name_of(one), len(values), one.sources or len(values), *facts, where])
    return {
        "kind": "table",
        "title": "Centralities",
        "about": "Betweenness from fewer sources than vertices with edges is an estimate.",
        "columns": [
            *("run", "measure", "vertices", "sources"),
            *("smallest", "median", "mean", "largest", "vertex with the largest"),
        ],
        "rows": rows,
    }


def _top(measured: Sequence[tuple[str, Centrality]]) -> dict[str, Any]:
    columns, lists = ["rank"], []
    for label, one in measured:
        columns += [f"{label}: vertex", name_of(one)]
        lists.append(largest(one, TOP))
    rows: list[list[Any]] = []
    for rank in range(max(map(len, lists))):
        row: list[Any] = [rank + 1]
        for each in lists:
            row += [{"vertex": each[rank][0]}, each[rank][1]] if rank < len(each) else [None, None]
        rows.append(row)
    return {
        "kind": "table",
        "title": "Top vertices",
        "about": "The vertices with the largest values, under the ids of the input file.",
        "columns": columns,
        "rows": rows,
    }


def _distribution(label: str, one: Centrality) -> dict[str, Any]:
    import numpy

    values = numpy.asarray(one.value[:])
    distinct, counts = numpy.unique(values, return_counts=True)
    until = None
    if len(distinct) > BINS or values.dtype.kind == "f":
        counts, edges = numpy.histogram(values, min(BINS, max(2, len(values) // 4)))
        distinct, until = edges[:-1], tuple(edges[1:].tolist())
    line = Line(
        name="vertices",
        x=tuple(distinct.tolist()),
        y=tuple(count or None for count in counts.tolist()),
        draw="bars",
        until=until,
    )
    panel = Curves(
        x=Axis(label=name_of(one), whole=until is None and values.dtype.kind == "i"),
        y=Axis(label="vertices", scale="log10") if counts.max() > FEW else Axis(label="vertices", low=0),
        lines=(line,),
    )
    data = {"value": distinct.tolist(), "vertices": counts.tolist()}
    alt = f"Number of vertices by {name_of(one)}, {label}"
    return figure(f"Distribution of {name_of(one)}, {label}", "", [panel], data, alt=alt)


def _batches(timed: Sequence[tuple[str, Batches]]) -> dict[str, Any]:
    rows = []
    for label, one in timed:
        sources = sum(each["sources"] for each in one.batches)
        seconds = sum(each["milliseconds"] for each in one.batches) / 1e3
        resumed = sum(each["sources"] for each in one.batches if each["resumed"])
        rate = sources / seconds if seconds > 0 else None
        rows.append(
            [label, one.measure, one.backend, one.form, len(one.batches), sources, resumed, seconds, rate]
        )
    return {
        "kind": "table",
        "title": "Batches of centralities",
        "about": (
            "Sources that an earlier run searched from, which did not end, count as resumed, and their time "
            "counts. Eccentricities of all vertices come from bounds: their sources are vertices decided."
        ),
        "columns": [
            *("run", "measure", "backend", "form", "batches", "sources", "resumed", "seconds"),
            "sources a second",
        ],
        "rows": rows,
    }


def _times(timed: Sequence[tuple[str, Batches]]) -> dict[str, Any]:
    lines, data = [], {}
    for number, (label, one) in enumerate(timed[:COLORS]):
        each = [batch for batch in one.batches if batch["sources"]]
        ends, done = [], 0
        for batch in each:
            done += batch["sources"]
            ends.append(done)
        cost = [batch["milliseconds"] / batch["sources"] for batch in each]
        data[label] = {"sources": ends, "milliseconds": [batch["milliseconds"] for batch in each]}
        step = max(1, -(-len(ends) // MAX_POINTS))
        lines.append(
            Line(
                name=f"{label}: {one.measure}",
                x=tuple(ends[::step]),
                y=tuple(cost[::step]),
                draw="marked",
                color=number,
            )
        )
    panel = Curves(
        x=Axis(label="sources done", low=0),
        y=Axis(label="ms a source, of each batch", scale="log10"),
        lines=tuple(lines),
    )
    return figure(
        "Time by batch",
        "A point is a batch: when it ended, and its time divided by its sources.",
        [panel],
        data,
        alt="Milliseconds a source of each batch, over the sources that were done",
    )
