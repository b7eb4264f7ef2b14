"""Liu et al., FlexBFS, PPoPP 2012 (poster)."""

from __future__ import annotations

from statistics import fmean

from tests.benchmarks.figures.model import Claim, Figure, Paper, Reports, Run, below, order, sets

TIMES = "summary › Traversal times and rates › median ms"

RUNS = (
    Run(
        "flex",
        "papers/flex",
        sets(side=12, road="[40, 3]", sources=2),
        sets(side=1000, road="[20000, 50]", sources=4),
        60,
        preset="flexbfs",
    ),
)


CLASSES = ("regular", "irregular", "road")
"""The poster's three classes of graphs, with a long mesh instead of roads."""


def _ratio(reports: Reports, slower: str, faster: str, graph: str) -> float:
    found = reports["summary"]
    return found.times(search=slower)[graph] / found.times(search=faster)[graph]


def _mean(reports: Reports, slower: str) -> float:
    return fmean(_ratio(reports, slower, "config3", graph) for graph in CLASSES)


def _change(what: str, theirs: str, step: str, before: str, graph: str) -> Claim:
    return Claim(
        f"{what}, {graph}, %",
        theirs,
        "section 4",
        below(-5),
        TIMES,
        lambda reports: 100 * (_ratio(reports, step, before, graph) - 1),
    )


PAPER = Paper(
    "flexbfs",
    "Liu et al., FlexBFS, PPoPP 2012",
    RUNS,
    (
        Figure(
            12,
            "figure 1",
            "FlexBFS against others",
            "flex",
            (
                Claim(
                    "over serial, mean",
                    "5",
                    "section 4",
                    order(5),
                    TIMES,
                    lambda reports: _mean(reports, "serial"),
                ),
                Claim(
                    "over four threads, mean",
                    "2.5",
                    "section 4",
                    order(2.5),
                    TIMES,
                    lambda reports: _mean(reports, "threads"),
                ),
                Claim(
                    "over the hierarchical queue, mean",
                    "1.5",
                    "section 4",
                    order(1.5),
                    TIMES,
                    lambda reports: _mean(reports, "hierarchical_queue"),
                ),
                Claim(
                    "hierarchical queue over serial, irregular",
                    "worse than CPUs",
                    "section 4",
                    below(1),
                    TIMES,
                    lambda reports: _ratio(reports, "serial", "hierarchical_queue", "irregular"),
                ),
            ),
        ),
        Figure(
            13,
            "figure 2, of table 1",
            "The five configurations",
            "flex",
            (
                _change(
                    "fed back over fixed",
                    "faster",
                    "baseline",
                    "fixed",
                    "regular",
                ),
                _change("levels combined", "down to -30", "config1", "baseline", "regular"),
                _change(
                    "queue in two levels",
                    "faster",
                    "config2",
                    "config1",
                    "regular",
                ),
                _change("high degrees apart", "faster, the most", "config3", "config2", "irregular"),
            ),
        ),
    ),
    {
        "12": "here the hierarchical queue is not slow on irregular graphs.",
        "13": "the two-level queue gains nothing on this GPU.",
    },
)
