"""Scaling of searches with workers: strong scaling of one graph, weak scaling of growing ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import COLORS, Axis, Curves, Line
from gravel.stages.sections.rates import EDGE_RATE, mean_rate, median_milliseconds
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.studies import coordinates, is_batched

WORKERS = ("ranks", "workers", "gpus", "devices", "nodes", "processes", "threads", "cores")
"""Names of an axis that counts workers."""

EVEN = 1.6
"""Arcs for each worker may differ by so much in weak scaling: generated graphs lose some to duplicates."""

MAX_SERIES = 8
"""Curves in one picture: as many as there are colours."""


@dataclass(frozen=True)
class Series:
    """One way of searching with 1, 2, ... workers: (workers, measurement) ascending."""

    name: str
    unit: str  # what is counted, such as "ranks"
    points: tuple[tuple[int, Measurement], ...]

    @property
    def strong(self) -> bool:
        """Whether all searched one graph."""
        return len({one.graph["digest"] for _, one in self.points}) == 1

    @property
    def weak(self) -> bool:
        """Whether the arcs for each worker stay about the same."""
        shares = [one.graph["arcs"] / workers for workers, one in self.points]
        return not self.strong and min(shares) > 0 and max(shares) <= EVEN * min(shares)


def scaling_sections(members: Runs) -> list[Made]:
    """Draw and list how times change with workers, for every way of searching with several counts of them."""
    found = _series(members)
    sections = []
    for unit in dict.fromkeys(series.unit for series in found):
        alike = [series for series in found if series.unit == unit]
        strong = [series for series in alike if series.strong]
        weak = [series for series in alike if series.weak]
        for kind, several in (("Strong", strong), ("Weak", weak)):
            if several:
                sections += [_figure(kind, several)] if len(several) <= MAX_SERIES else []
                sections.append(_table(kind, several))
    return sections


def _count(label: str, one: Measurement) -> tuple[str, int] | None:
    """Return what a run counts as workers, and how many it had."""
    at = coordinates(label)
    for name in WORKERS:
        value = at.get(name) or one.asked.get(name)
        if value is not None and str(value).isdigit() and int(value) > 0:
            return name, int(value)
    return None


def _series(members: Runs) -> list[Series]:
    counted = [
        (label, coordinates(label), count, one)
        for label, one in members
        if one.searches and one.graph and not is_batched(one) and (count := _count(label, one)) is not None
    ]
    sizes = {
        entry: _sizes([(at, count) for label, at, count, _ in counted if label.partition("[")[0] == entry])
        for entry in {label.partition("[")[0] for label, *_ in counted}
    }
    groups: dict[tuple[str, str, tuple[str, ...]], dict[int, Measurement]] = {}
    for label, at, (unit, workers), one in counted:
        entry = label.partition("[")[0]
        rest = tuple(value for axis, value in at.items() if axis not in sizes[entry] and axis not in WORKERS)
        strategy = str(one.asked.get("strategy", one.strategy))
        group = groups.setdefault((unit, entry, tuple(dict.fromkeys((strategy, *rest)))), {})
        group.setdefault(workers, one)
    entries = {entry for _, entry, _ in groups}
    return [
        Series(", ".join([entry, *rest] if len(entries) > 1 else rest), unit, tuple(sorted(group.items())))
        for (unit, entry, rest), group in groups.items()
        if len(group) > 1
    ]


def _sizes(several: Sequence[tuple[Mapping[str, str], tuple[str, int]]]) -> set[str]:
    """List axes that name sizes, each with its own count of workers: they do not tell series apart."""
    found = set()
    for axis in {axis for at, _ in several for axis in at}:
        values, counts = {at.get(axis) for at, _ in several}, {count for _, count in several}
        pairs = {(at.get(axis), count) for at, count in several}
        if len(values) == len(counts) == len(pairs) > 1:
            found.add(axis)
    return found


def efficiency(series: Series) -> list[float]:
    """Return how much of an ideal speed-up was reached at each count, over the smallest count.

    Strong scaling: t(p0) p0 / (t(p) p). Weak scaling: rate(p) p0 / (rate(p0) p) in arcs a second.
    """
    first, base = series.points[0]
    reached = []
    for workers, one in series.points:
        gain = median_milliseconds(base) / median_milliseconds(one)
        if not series.strong:
            gain *= one.graph["arcs"] / base.graph["arcs"]
        reached.append(gain * first / workers)
    return reached


def _figure(kind: str, several: Sequence[Series]) -> Made:
    unit = several[0].unit
    counts = sorted({workers for series in several for workers, _ in series.points})

    def panel(
        title: str, value: Callable[[Series], Sequence[float]], ideal: Callable[[int], float], y: Axis
    ) -> Curves:
        best = tuple(ideal(count) for count in counts)
        lines = [Line(name="ideal", x=tuple(counts), y=best, color="grey", dash="dashed")]
        for place, series in enumerate(several):
            workers = tuple(workers for workers, _ in series.points)
            values = tuple(value(series))
            lines.append(Line(name=series.name, x=workers, y=values, draw="marked", color=place % COLORS))
        x = Axis(label=unit, scale="log2", ticks=tuple(counts))
        return Curves(title=title, x=x, y=y, lines=tuple(lines))

    def speedup(series: Series) -> list[float]:
        first = series.points[0][0]
        return [
            share * workers / first
            for share, (workers, _) in zip(efficiency(series), series.points, strict=True)
        ]

    def percent(series: Series) -> list[float]:
        return [100 * share for share in efficiency(series)]

    gained = "speedup" if kind == "Strong" else "growth of the arc rate"
    about = (
        "One graph and more workers: the speedup over the fewest workers"
        if kind == "Strong"
        else "A graph that grows with the workers: the gain in stored arcs per second over the fewest workers"
    )
    return figure(
        f"{kind} scaling with {unit}",
        f"{about}, and its share of the ideal.",
        [
            panel(gained, speedup, lambda count: count / counts[0], Axis(scale="log2")),
            panel("efficiency, %", percent, lambda count: 100, Axis(low=0)),
        ],
        {series.name: _data(series) for series in several},
        alt=f"{kind} scaling of {len(several)} runs over {unit}",
        answer=0 if kind == "Strong" else 10,
        name="scaling",
    )


def _data(series: Series) -> Mapping[str, Any]:
    return {
        series.unit: [workers for workers, _ in series.points],
        "median_milliseconds": [median_milliseconds(one) for _, one in series.points],
        "efficiency": efficiency(series),
    }


def _table(kind: str, several: Sequence[Series]) -> Made:
    rows: list[list[Any]] = []
    for series in several:
        for share, (workers, one) in zip(efficiency(series), series.points, strict=True):
            rows.append(
                [
                    series.name,
                    workers,
                    one.graph["arcs"],
                    median_milliseconds(one),
                    mean_rate(one),
                    100 * share,
                ]
            )
    return table(
        f"Times of {kind.lower()} scaling with {several[0].unit}",
        "Times are medians over the sources. Efficiency is relative to the fewest workers.",
        ["run", several[0].unit, "arcs", "median ms", EDGE_RATE, "efficiency, %"],
        rows,
        result=40 if kind == "Strong" else 50,
        name="times of scaling",
    )


def busy(one: Measurement) -> list[float]:
    """Give the milliseconds that each worker searched, by worker; one worker's where none is named."""
    taken: dict[int, float] = {}
    for search in one.searches:
        worker = search.get("worker", 0)
        taken[worker] = taken.get(worker, 0.0) + search["milliseconds"]
    return [taken[worker] for worker in sorted(taken)]


def worker_sections(members: Runs) -> list[Made]:
    """Make a table of runs over workers, beside those of the same graphs on one; none without such runs."""
    graphs = {
        one.graph.get("digest") for _, one in members if any("worker" in search for search in one.searches)
    }
    rows: list[list[Any]] = []
    for label, one in members:
        if one.algorithm != "bfs" or not one.searches or one.graph.get("digest") not in graphs:
            continue
        taken = busy(one)
        edges, slowest = sum(search["edges"] for search in one.searches), max(taken)
        facts = (label, len(taken), len(one.searches), slowest)
        figures = (edges / slowest / 1e6 if slowest > 0 else None, mean_rate(one))
        rows.append([*facts, *figures, sum(taken) / len(taken) / slowest if slowest > 0 else None])
    if not graphs:
        return []
    return [
        table(
            "Sources over workers",
            "Each worker held the whole graph and searched from its share of the sources. The total rate "
            "counts the edges of all searches over the time of the slowest worker. It is not the rate of "
            "one search. Loading the graph and returning labels are not included.",
            f"run | workers | searches | ms of the slowest worker | {EDGE_RATE} of all | {EDGE_RATE} of a "
            "search, harmonic mean | evenness",
            rows,
            result=130,
        )
    ]


SECTIONS = (
    Section(rank=14, make=scaling_sections, needs=("measured",)),
    Section(rank=120, make=worker_sections, kinds=("Measurement",)),
)
