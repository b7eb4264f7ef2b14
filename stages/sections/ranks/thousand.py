"""The cost model beyond what can be run: 1 to 1,024 ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.sections.plot import PALETTE, draw_panels
from stages.sections.ranks.splits import SplitGraph

if TYPE_CHECKING:
    from kernels.partition.census import Division
    from kernels.partition.machines import Machine
    from kernels.partition.model import Prediction

COUNTS = tuple(2**power for power in range(11))

VERTICES_PER_RANK = 1 << 26
"""Of weak scaling (the paper's figure 9)."""

STRONG_VERTICES = 1 << 30
"""Of strong scaling (the paper's figure 11)."""

PARTS = ("local", "masks", "vertices", "meetings")

TITLES = {"Weak": "weak: 2^26 vertices a rank", "Strong": "strong: 2^30 vertices"}


@dataclass(frozen=True)
class Point:
    """What the model says of one number of ranks."""

    ranks: int
    hosts: int
    division: Division
    prediction: Prediction

    @property
    def gteps(self) -> float:
        """Undirected edges, in billions a second."""
        return self.prediction.gteps(self.division.arcs)


def curve(graph: SplitGraph, machine: Machine, *, weak: bool, directions: bool = True) -> list[Point]:
    """Predict growing machines on a graph whose degrees are distributed alike, each at its best threshold."""
    from kernels.partition.model import Searching, grown, hosts_of, predict
    from kernels.partition.threshold import choose

    how = Searching(direction_optimized=directions)
    points = []
    for ranks in COUNTS:
        vertices = VERTICES_PER_RANK * ranks if weak else STRONG_VERTICES
        hosts = hosts_of(ranks, machine)
        factor = vertices / graph.vertices
        divisions = [grown(each, factor) for each in graph.divisions]
        facts: dict[str, Any] = {"vertices": vertices, "ranks": ranks, "hosts": hosts}
        facts |= {"machine": machine, "searching": how}
        best = choose(divisions, **facts)
        points.append(Point(ranks, hosts, best, predict(best, **facts)))
    return points


def efficiencies(points: Sequence[Point]) -> list[float]:
    """Give each rate over the ideal from the first point."""
    first = points[0]
    return [point.gteps * first.ranks / (first.gteps * point.ranks) for point in points]


def thousand_sections(graphs: Sequence[SplitGraph]) -> list[dict[str, Any]]:
    """Draw and list the model for a graph like the largest one here."""
    if not graphs:
        return []
    from kernels.partition.machines import H200_NCCL, H200_PEER, P100_RAY

    graph = max(graphs, key=lambda each: each.arcs)
    directed = not graph.splits[0].symmetric
    machines = (H200_PEER, H200_NCCL, P100_RAY)
    found = {
        kind: {
            machine.name: curve(graph, machine, weak=kind == "Weak", directions=not directed)
            for machine in machines
        }
        for kind in TITLES
    }
    return [_figure(graph, found), _table(found, H200_PEER.name)]


def _figure(graph: SplitGraph, found: dict[str, dict[str, list[Point]]]) -> dict[str, Any]:
    def rates(kind: str) -> Any:
        def paint(axes: Any) -> None:
            for color, (name, points) in zip(PALETTE, found[kind].items(), strict=False):
                axes.plot(
                    [point.ranks for point in points],
                    [point.gteps for point in points],
                    marker="o",
                    ms=2.5,
                    lw=1.3,
                    color=color,
                    label=name,
                )
            axes.set_yscale("log")
            axes.set_ylabel("GTEPS", fontsize=8)
            _counts(axes)

        return paint

    def parts(kind: str) -> Any:
        def paint(axes: Any) -> None:
            points = next(iter(found[kind].values()))
            each = [[1e3 * getattr(point.prediction, name) for point in points] for name in PARTS]
            axes.stackplot(
                [point.ranks for point in points],
                each,
                labels=PARTS,
                colors=PALETTE[4:8],
                alpha=0.85,
            )
            axes.set_ylabel("ms", fontsize=8)
            _counts(axes)

        return paint

    first = next(iter(found["Weak"]))
    return {
        "kind": "figure",
        "title": "The model to 1,024 ranks",
        "about": (
            f"As if a graph of {graph.arcs / graph.vertices:.3g} arcs a vertex had the same shares of "
            f"delegates and arcs at every threshold as {graph.name}, each machine at its best threshold; "
            f"below, what a search goes to on {first}. Ranks of a host read each other's memory; what joins "
            "hosts of H200 GPUs is assumed (a 400 Gb/s card for each)."
        ),
        "svg": draw_panels(
            [
                *((title, rates(kind)) for kind, title in TITLES.items()),
                *((f"{kind.lower()}, parts of a search", parts(kind)) for kind in TITLES),
            ],
            columns=2,
            height=2.2,
            across="ranks",
            alt="Predicted rates and times from 1 to 1,024 ranks",
        ),
        "data": {
            kind: {
                name: {
                    "ranks": [point.ranks for point in points],
                    "gteps": [point.gteps for point in points],
                    "milliseconds": [1e3 * point.prediction.seconds for point in points],
                    "threshold": [point.division.threshold for point in points],
                }
                for name, points in several.items()
            }
            for kind, several in found.items()
        },
    }


def _counts(axes: Any) -> None:
    axes.set_xscale("log", base=2)
    ticks = COUNTS[::2]
    axes.set_xticks(ticks, [str(count) for count in ticks])
    axes.minorticks_off()


def _table(found: dict[str, dict[str, list[Point]]], machine: str) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for kind, several in found.items():
        points = several[machine]
        for point, share in zip(points, efficiencies(points), strict=True):
            predicted = point.prediction
            rows.append(
                [
                    kind.lower(),
                    point.ranks,
                    point.hosts,
                    point.division.threshold,
                    point.division.delegates / 8,
                    *(1e3 * getattr(predicted, name) for name in PARTS),
                    1e3 * predicted.seconds,
                    point.gteps,
                    100 * share,
                ]
            )
    return {
        "kind": "table",
        "title": "Predicted times to 1,024 ranks",
        "about": f"On {machine}, nothing overlapped: times in ms, and the efficiency over one rank.",
        "columns": [
            "scaling",
            "ranks",
            "hosts",
            "threshold",
            "mask bytes",
            *PARTS,
            "search",
            "GTEPS",
            "efficiency, %",
        ],
        "rows": rows,
    }
