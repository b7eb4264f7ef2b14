"""The cost model beyond what can be run: Graph500 graphs on 1 to 1,024 ranks of other machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Curves, Line
from gravel.stages.sections.rates import GENERATED_RATE
from gravel.stages.sections.section import Made, Section, figure, table

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division
    from gravel.kernels.partition.machines import Machine
    from gravel.kernels.partition.model import Prediction

COUNTS = tuple(2**power for power in range(11))

RANK_SCALE = 26
"""Of weak scaling: each rank has 2^26 vertices (the paper's figure 9)."""

STRONG_SCALE = 30
"""Of strong scaling (the paper's figure 11)."""

PARTS = ("local", "masks", "vertices", "barriers")

TITLES = {"Weak": "weak: 2^26 vertices a rank", "Strong": "strong: 2^30 vertices"}

PAPER_RATES = {1: 22.9, 2: 32.5, 4: 39.8, 8: 53.13, 124: 259.8}
"""GTEPS (generated edges) by GPUs in table II of Pan, Pearce, Owens 2018 (section VI-C): scales 24, 25,
26, 29 and 33."""


@dataclass(frozen=True)
class Point:
    """Prediction of the model for one number of ranks."""

    ranks: int
    hosts: int
    division: Division
    prediction: Prediction

    @property
    def gteps(self) -> float:
        """Billions of edges of the generator's list a second: the divisions count duplicates."""
        return self.prediction.gteps(self.division.arcs)


def curve(machine: Machine, *, weak: bool) -> list[Point]:
    """Predict growing machines on Graph500 graphs, each with the threshold suggested for it."""
    from gravel.kernels.papers.pan2018.kronecker import kronecker_divisions
    from gravel.kernels.partition.model import Searching, hosts_of, predict
    from gravel.kernels.partition.threshold import suggest

    points = []
    for power, ranks in enumerate(COUNTS):
        scale = RANK_SCALE + power if weak else STRONG_SCALE
        hosts = hosts_of(ranks, machine)
        facts: dict[str, Any] = {"vertices": 2**scale, "ranks": ranks, "hosts": hosts}
        facts |= {"machine": machine, "searching": Searching()}
        best = suggest(kronecker_divisions(scale), **facts)
        points.append(Point(ranks, hosts, best, predict(best, **facts)))
    return points


def efficiencies(points: Sequence[Point]) -> list[float]:
    """Give each rate over the ideal from the first point."""
    first = points[0]
    return [point.gteps * first.ranks / (first.gteps * point.ranks) for point in points]


def paper_efficiency() -> float:
    """Give the rate for each GPU that table II of the paper has for its largest search, over that for one."""
    most = max(PAPER_RATES)
    return PAPER_RATES[most] / (most * PAPER_RATES[1])


def paper_slope(first: int) -> float:
    """Give the slope of log(rate) over log(GPUs) in table II, from so many GPUs to the most; 1 is linear."""
    most = max(PAPER_RATES)
    return math.log(PAPER_RATES[most] / PAPER_RATES[first]) / math.log(most / first)


def thousand_sections(predict: bool = True) -> list[Made]:
    """Draw and list what the model predicts for machines that were not measured."""
    from gravel.kernels.partition.machines import H200_NCCL, H200_PEER, P100_RAY

    machines = (H200_PEER, H200_NCCL, P100_RAY)
    found = {
        kind: {machine.name: curve(machine, weak=kind == "Weak") for machine in machines} for kind in TITLES
    }
    return [_figure(found), _table(found)]


COUNTED = Axis(label="ranks", scale="log2", ticks=COUNTS[::2])


def _figure(found: dict[str, dict[str, list[Point]]]) -> Made:
    def rates(kind: str, title: str) -> Curves:
        return Curves(
            title=title,
            x=COUNTED,
            y=Axis(label=GENERATED_RATE, scale="log10"),
            lines=tuple(
                Line(
                    name=name,
                    x=tuple(point.ranks for point in points),
                    y=tuple(point.gteps for point in points),
                    draw="marked",
                    color=place,
                )
                for place, (name, points) in enumerate(found[kind].items())
            ),
        )

    def parts(kind: str) -> Curves:
        points = next(iter(found[kind].values()))
        return Curves(
            title=f"{kind.lower()}, parts of a search",
            x=COUNTED,
            y=Axis(label="ms", low=0),
            lines=tuple(
                Line(
                    name=name,
                    x=tuple(point.ranks for point in points),
                    y=tuple(1e3 * getattr(point.prediction, name) for point in points),
                    color=place,
                )
                for place, name in enumerate(PARTS, 4)
            ),
            stacked=True,
        )

    first = next(iter(found["Weak"]))
    return figure(
        "Predicted for other machines, to 1,024 ranks",
        "A prediction by the cost model for machines that were not measured here, and for "
        "Graph500 graphs, not for the graphs of this page. Their divisions are computed for "
        "each size from the R-MAT distribution. Each size has its suggested threshold. Below:"
        f" what a search spends its time on, on {first}. Ranks of a host read each other's memory. "
        "Links between hosts of H200 GPUs are assumed (a 400 Gb/s card for each).",
        [*(rates(kind, title) for kind, title in TITLES.items()), *map(parts, TITLES)],
        {
            kind: {
                name: {
                    "ranks": [point.ranks for point in points],
                    "gteps_generated": [point.gteps for point in points],
                    "milliseconds": [1e3 * point.prediction.seconds for point in points],
                    "threshold": [point.division.threshold for point in points],
                }
                for name, points in several.items()
            }
            for kind, several in found.items()
        },
        columns=2,
        alt="Predicted rates and times from 1 to 1,024 ranks",
    )


def _table(found: dict[str, dict[str, list[Point]]]) -> Made:
    rows: list[list[Any]] = []
    for kind, several in found.items():
        for machine, points in several.items():
            for point, share in zip(points, efficiencies(points), strict=True):
                predicted = point.prediction
                facts = (kind.lower(), machine, point.ranks, point.hosts, point.division.threshold)
                figures = (point.division.delegates / 8, *(1e3 * getattr(predicted, name) for name in PARTS))
                rows.append([*facts, *figures, 1e3 * predicted.seconds, point.gteps, 100 * share])
    return table(
        "Predicted times to 1,024 ranks",
        "Times in ms, nothing overlapped; the efficiency is the rate of a rank over that of one "
        "rank alone, "
        "which sends nothing. It falls because nn arcs are a share of all arcs however many ranks there "
        "are, because d < 4 n / p forces higher thresholds and so more of them, and because every rank "
        "tests all delegates. In the paper's table II it is "
        f"{100 * paper_efficiency():.2g} %: 22.9 GTEPS (generated edges) on one GPU (scale 24), 259.8 on "
        "124 (scale 33). "
        f"Its text calls weak scaling linear (section VI-C); the slope of table II is {paper_slope(1):.2f} "
        f"from 1 GPU and {paper_slope(8):.2f} from 8.",
        [
            "scaling",
            "machine",
            "ranks",
            "hosts",
            "threshold",
            "mask bytes",
            *PARTS,
            "search",
            GENERATED_RATE,
            "efficiency, %",
        ],
        rows,
    )


SECTIONS = (Section(rank=200, make=thousand_sections, needs=("predict",)),)
