"""Pan, Pearce, Owens, Scalable Breadth-First Search on a GPU Cluster, IPDPS 2018."""

from __future__ import annotations

from tests.benchmarks.figures.model import Paper, Run
from tests.benchmarks.figures.pan2018_ranks import SCALING, SCALING_RUNS
from tests.benchmarks.figures.pan2018_thresholds import THRESHOLD_RUNS, THRESHOLDS

RUNS: tuple[Run, ...] = (*THRESHOLD_RUNS, *SCALING_RUNS)

PAPER = Paper(
    "pan2018",
    "Pan, Pearce, Owens, IPDPS 2018",
    RUNS,
    tuple(sorted((*THRESHOLDS, *SCALING), key=lambda figure: figure.number)),
    {"22": "no threshold leaves few delegates and nn arcs in generated communities."},
)
