"""Centralities: how values spread, which vertices have the largest, and how long batches took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.artifacts import Batches, Centrality
from gravel.stages.charts import COLORS, MAX_POINTS, Axis, Curves, Line
from gravel.stages.sections.rates import capital, count, vertices
from gravel.stages.sections.section import Made, Section, figure, table

TOP = 10
"""Vertices that a table lists of each measure."""

BINS = 60
"""Bars of a distribution, of a measure with more values than that."""

FEW = 50
"""Vertices of the longest bar up to which the scale is linear."""

Members = Sequence[tuple[str, Any]]


def centrality_sections(members: Members) -> list[Made]:
    """Make the tables of all centralities, a distribution of each, and the time by batch."""
    measured = [(label, one) for label, one in members if type(one).__name__ == "Centrality"]
    timed = [(label, one) for label, one in members if type(one).__name__ == "Batches"]
    sections: list[Made] = []
    if measured:
        estimated = [(label, one) for label, one in measured if one.estimate is not None]
        ranked = [(label, one) for label, one in measured if one.convergence is not None]
        sections += [_summary(measured), *([_estimates(estimated)] if estimated else [])]
        sections += [*([_convergence(ranked)] if ranked else []), _top(measured)]
        drawn = [_distribution(label, one) for label, one in measured]
        sections += [each for each in drawn if each is not None]
    if any(one.batches for _, one in timed):
        several = [(label, one) for label, one in timed if one.workers]
        sections += [_batches(timed), *([_workers(several)] if several else []), _times(timed)]
    return sections


def name_of(one: Centrality) -> str:
    """Name a measure with its parameters."""
    name = {"pagerank": "PageRank"}.get(one.measure, one.measure.replace("_", " "))
    if one.measure == "neighbourhood":
        name = f"{name} within {one.hops} hops"
    if one.by == "weights":
        name = f"{name} by weights"
    return name if one.direction == "out" else f"{name} (direction {one.direction})"


def largest(one: Centrality, count: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the vertices, or ends of edges, with the largest values, and these; of equal ones the first."""
    import numpy

    values = numpy.asarray(one.value[:])
    first = numpy.argsort(-values, kind="stable")[:count]
    ends = [each for each in (one.vertex, one.target) if each is not None]
    places = [numpy.asarray(each[:])[first].tolist() for each in ends] or [first.tolist()]
    return list(zip(zip(*places, strict=True), values[first].tolist(), strict=True))


def errors_of_largest(one: Centrality, count: int) -> list[float | None] | None:
    """Return the errors of the largest values, None for one without a bound; None of exact values."""
    import numpy

    if one.error is None:
        return None
    first = numpy.argsort(-numpy.asarray(one.value[:]), kind="stable")[:count]
    errors = numpy.asarray(one.error[:])[first]
    return [float(each) if numpy.isfinite(each) else None for each in errors]


def _summary(measured: Sequence[tuple[str, Centrality]]) -> Made:
    import numpy

    rows = []
    for label, one in measured:
        values = numpy.asarray(one.value[:])
        facts: list[Any] = [None] * 4
        if len(values):
            facts = [
                float(each) for each in (values.min(), numpy.median(values), values.mean(), values.max())
            ]
        first = largest(one, 1) if one.target is None else []
        where = {"vertex": first[0][0][0]} if first else None
        rows.append([label, name_of(one), len(values), one.sources or len(values), *facts, where])
    return table(
        "Centralities",
        "Betweenness and closeness from fewer sources than vertices with edges are estimates.",
        [
            *("run", "measure", "values", "sources"),
            *("smallest", "median", "mean", "largest", "vertex with the largest"),
        ],
        rows,
        result=240,
    )


def _estimates(measured: Sequence[tuple[str, Centrality]]) -> dict[str, Any]:
    return table(
        "Estimates",
        "The mean over all pairs of vertices that reach each other, estimated from searches of some "
        "vertices. With the given confidence it lies between low and high. It is exact after searches of "
        "all vertices.",
        "run | measure | searches | value | low | high | confidence",
        [
            [label, name_of(one), len(one.value)]
            + [one.estimate[name] for name in ("value", "low", "high", "confidence")]
            for label, one in measured
        ],
    )


def _convergence(ranked: Sequence[tuple[str, Centrality]]) -> Made:
    names = ("by", "damping", "tolerance", "iterations", "residual")
    return table(
        "PageRank",
        "The residual is the sum of all changes in the last iteration. It is less than the tolerance times "
        "the number of vertices.",
        ["run", "measure", *names],
        [[label, name_of(one), *(one.convergence[name] for name in names)] for label, one in ranked],
    )


def _top(measured: Sequence[tuple[str, Centrality]]) -> Made:
    columns, lists = ["rank"], []
    for label, one in measured:
        ends = ("vertex",) if one.target is None else ("source", "target")
        columns += [*(f"{label}: {end}" for end in ends), name_of(one)]
        columns += [] if one.error is None else [f"{label}: standard error"]
        lists.append((label, len(ends), largest(one, TOP), errors_of_largest(one, TOP)))
    rows: list[list[Any]] = []
    for rank in range(max(len(each) for _, _, each, _ in lists)):
        row: list[Any] = [rank + 1]
        for label, width, each, errors in lists:
            if rank < len(each):
                row += [*({"vertex": vertex, "run": label} for vertex in each[rank][0]), each[rank][1]]
                row += [] if errors is None else [errors[rank]]
            else:
                row += [None] * (width + 1 + (errors is not None))
        rows.append(row)
    return table(
        "Top vertices",
        "The vertices, or edges, with the largest values, under the ids of the input file. The standard "
        "error of an estimate is the largest that its sample allows.",
        columns,
        rows,
        result=230,
    )


def _distribution(label: str, one: Centrality) -> dict[str, Any] | None:
    import numpy

    values = numpy.asarray(one.value[:])
    # Whole numbers are -1, and others not finite, of a vertex that reaches none.
    known = values[numpy.isfinite(values) if values.dtype.kind == "f" else values >= 0]
    distinct, counts = numpy.unique(known, return_counts=True)
    if len(distinct) < 2:
        return None
    until = None
    if len(distinct) > BINS or values.dtype.kind == "f":
        counts, edges = numpy.histogram(known, min(BINS, max(2, len(known) // 4)))
        distinct, until = edges[:-1], tuple(edges[1:].tolist())
    what = "vertices" if one.target is None else "edges"
    line = Line(
        name=what,
        x=tuple(distinct.tolist()),
        y=tuple(count or None for count in counts.tolist()),
        draw="bars",
        until=until,
    )
    panel = Curves(
        x=Axis(label=name_of(one), whole=until is None and values.dtype.kind == "i"),
        y=Axis(label=what, scale="log10") if counts.max() > FEW else Axis(label=what, low=0),
        lines=(line,),
    )
    data = {"value": distinct.tolist(), what: counts.tolist()}
    alt = f"Number of {what} by {name_of(one)}, {label}"
    left = len(values) - len(known)
    about = f"{vertices(left)} without a value {'is' if left == 1 else 'are'} left out." if left else ""
    title = f"Distribution of {name_of(one)}, {label}"
    return figure(title, about, [panel], data, alt=alt, answer=100, result=260, single=True)


def _batches(timed: Sequence[tuple[str, Batches]]) -> Made:
    rows = []
    for label, one in timed:
        sources = sum(each["sources"] for each in one.batches)
        seconds = _elapsed(one)
        resumed = sum(each["sources"] for each in one.batches if each["resumed"])
        rate = sources / seconds if seconds > 0 else None
        facts = (one.measure, one.backend, one.form, max(1, len(one.workers)), len(one.batches))
        rows.append([label, *facts, sources, resumed, seconds, rate])
    return table(
        "Batches of centralities",
        "Resumed sources are those of an earlier run that did not end; its time counts too. Eccentricities "
        "of all vertices come from bounds, and each vertex whose bounds meet counts as a source. PageRank "
        "has one batch, of all vertices.",
        [
            *("run", "measure", "backend", "form", "workers", "batches", "sources", "resumed", "seconds"),
            "sources a second",
        ],
        rows,
        result=250,
    )


def _elapsed(one: Batches) -> float:
    """Return the seconds from the first batch to the end of the last, in the runs that searched."""
    return max((each["began"] + each["milliseconds"] for each in one.batches), default=0.0) / 1e3


def _workers(timed: Sequence[tuple[str, Batches]]) -> Made:
    rows = []
    for label, one in timed:
        now = [each for each in one.batches if not each["resumed"]]
        begun = min((each["began"] for each in now), default=0.0)
        for number, name in enumerate(one.workers):
            own = [each for each in now if each["worker"] == number]
            busy = sum(each["milliseconds"] for each in own) / 1e3
            whole = _elapsed(one) - begun / 1e3
            facts = (len(own), sum(each["sources"] for each in own), busy)
            rows.append([label, number, name, *facts, busy / whole if whole > 0 else None])
    return table(
        "Workers of batches",
        "Batches of this run alone: how many each worker searched, and the share of time that it was busy.",
        "run | worker | name | batches | sources | seconds | share of the time",
        rows,
    )


def _times(timed: Sequence[tuple[str, Batches]]) -> Made:
    lines: list[Line] = []
    data: dict[str, dict[str, list[Any]]] = {}
    for number, (label, one) in enumerate(timed[:COLORS]):
        each = [batch for batch in one.batches if batch["sources"]]
        ends, done = [], 0
        for batch in each:
            done += batch["sources"]
            ends.append(done)
        cost = [batch["milliseconds"] / batch["sources"] for batch in each]
        data[label] = {"sources": ends}
        for name in ("began", "milliseconds", "worker"):
            data[label][name] = [batch[name] for batch in each]
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
        result=270,
    )


def measures_text(several: Sequence[Centrality]) -> str:
    """Name measures, and say of how many vertices they are."""
    *others, last = dict.fromkeys(map(name_of, several))
    names = f"{', '.join(others)} and {last}" if others else last
    sizes = sorted({len(one.value) for one in several if one.target is None})
    if not sizes:
        of = count(max(len(one.value) for one in several), "edge")
    else:
        of = vertices(sizes[0]) if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,} vertices"
    return f"{capital(names)} of {of}"


SECTIONS = (Section(rank=160, make=centrality_sections, kinds=("Centrality", "Batches"), says=measures_text),)
