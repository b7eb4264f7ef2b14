"""Closeness and betweenness of a Kronecker graph on 1, 2, ... workers: sources a second, and efficiency.

    python -m tests.benchmarks.centralities 24 --workers 1 2 4 8 --closeness 4194304 --betweenness 131072
    python -m tests.benchmarks.centralities 14 --cluster local --closeness 16384 --betweenness 2048

Each number of workers is a run of its own with an empty cache of results, on one GPU a worker, or with
`--cluster local` on processes of one thread each. Values must be equal to the last bit with every number,
distances of some sources are checked against a search of their own, and sums of betweenness against
distances. Sources a second are those from the first batch to the end of the last, without loading the graph;
"whole" is the rate with it. Efficiency is beside the first number. Exits with 2 where there are fewer GPUs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

import gravel
import gravel.stages.artifacts
from gravel.kernels.distances.closeness import closeness
from gravel.kernels.distances.many import aggregate
from gravel.kernels.placement.device_copies import on_device
from gravel.pipeline.core.hardware import find_devices
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.cache import Cache
from gravel.stages.traversal.preparation import draw_sources
from tests.benchmarks.many_sources import check
from tests.benchmarks.program import parser_of, say

WORKFLOW = """
workflow: centralities
parameters: {workers: 1}
stages:
  edges: {stage: ingest, source: {rmat: {scale: SCALE, edge_factor: 16, seed: 1}}}
  graph: {stage: symmetrize, input: edges, keep: true}
  closeness:
    stage: centrality
    input: graph
    measure: closeness
    vertices: {random: CLOSENESS, seed: 7}
    workers: "${workers}"
  betweenness:
    stage: centrality
    input: graph
    measure: betweenness
    sources: {random: BETWEENNESS, seed: 7}
    normalized: false
    workers: "${workers}"
"""

MEASURES = ("closeness", "betweenness")

CHECKED = 64
"""Sources that are searched from once more."""


def missing(workers: int, cluster: str) -> str:
    """Say why so many workers cannot be had; empty where they can."""
    there = len(find_devices())
    if cluster == "local" or workers <= there:
        return ""
    return f"{workers} workers need {workers} GPUs, and this machine has {there}"


@dataclass(frozen=True)
class Measured:
    """Values of a measure, the seconds of its searches and of its stage, and the sources of each worker."""

    values: Any
    sources: int
    seconds: float
    whole: float
    shares: list[int]


def measure(file: Path, root: Path, workers: int, cluster: str) -> dict[str, Measured]:
    """Run the workflow and compute the measures anew."""
    on_gpus = cluster == "cuda"
    study = gravel.run(
        file,
        cache=root,
        force=MEASURES,
        set={"workers": workers},
        cluster=cluster,
        backend="cuda" if on_gpus else "cpu",
        workers=None if on_gpus else workers,
        progress=False,
    )
    cache, found = Cache(root), {}
    for stage in study.record["stages"]:
        if stage["key"] not in MEASURES:
            continue
        values, batches = map(cache.open, stage["outputs"])
        shares = [0] * workers
        for each in batches.batches:
            shares[each["worker"]] += each["sources"]
        seconds = max(each["began"] + each["milliseconds"] for each in batches.batches) / 1e3
        found[stage["key"]] = Measured(
            numpy.asarray(values.value[:]), sum(shares), seconds, stage["seconds"], shares
        )
    return found


def check_values(root: Path, found: dict[str, Measured], cluster: str) -> None:
    """Compare closeness with searches of some vertices, and betweenness with the distances of its sources."""
    graph = find_graph(root)
    rows = numpy.asarray(graph.row_offsets[:]), numpy.asarray(graph.column_indices[:])
    offsets, candidates = rows[0], numpy.count_nonzero(numpy.diff(rows[0]))
    if cluster == "cuda":
        rows = on_device(rows[0]), on_device(rows[1])
    close, between = found["closeness"], found["betweenness"]
    chosen = numpy.sort(draw_sources(offsets, close.sources, 7))
    places = numpy.linspace(0, len(chosen) - 1, CHECKED).astype(int)
    again = aggregate(*rows, chosen[places], symmetric=True)
    check(rows, chosen[places], again)
    numpy.testing.assert_array_equal(close.values[places], closeness(again, graph.vertex_count))
    drawn = aggregate(*rows, numpy.sort(draw_sources(offsets, between.sources, 7)), symmetric=True)
    inner = float((drawn.total - (drawn.reached - 1)).sum())
    expected = inner / 2 * candidates / between.sources
    assert abs(between.values.sum() - expected) <= 1e-8 * expected, (between.values.sum(), expected)


def find_graph(root: Path) -> Any:
    """Open the graph of the last run."""
    _, record = find_run(root, None)
    return next(Cache(root).open(each["outputs"][0]) for each in record["stages"] if each["key"] == "graph")


def main() -> None:
    """Measure each number of workers and print a line for each measure."""
    parser = parser_of(__doc__)
    parser.add_argument("scale", type=int)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cluster", choices=("cuda", "local"), default="cuda")
    parser.add_argument("--closeness", type=int, default=1 << 20, help="sources of closeness")
    parser.add_argument("--betweenness", type=int, default=1 << 16, help="sources of betweenness")
    chosen = parser.parse_args()
    problem = missing(max(chosen.workers), chosen.cluster)
    if problem:
        say(problem)
        sys.exit(2)
    if chosen.cluster == "local":
        os.environ["NUMBA_NUM_THREADS"] = "1"  # workers inherit it
    with tempfile.TemporaryDirectory() as folder:
        file, root = Path(folder) / "centralities.yaml", Path(folder) / "cache"
        text = WORKFLOW.replace("SCALE", str(chosen.scale)).replace("CLOSENESS", str(chosen.closeness))
        file.write_text(text.replace("BETWEENNESS", str(chosen.betweenness)))
        first: dict[str, Measured] = {}
        for workers in chosen.workers:
            found = measure(file, root, workers, chosen.cluster)
            first = first or found
            for name, one in found.items():
                numpy.testing.assert_array_equal(one.values, first[name].values)
                rate, whole = one.sources / one.seconds, one.sources / one.whole
                fewest = first[name].sources / first[name].seconds / chosen.workers[0]
                shares = ", ".join(f"{each:,}" for each in one.shares)
                say(
                    f"kron{chosen.scale} {name:>11} {workers} workers: {rate:12,.1f} sources a second, "
                    f"whole {whole:12,.1f}; efficiency {rate / workers / fewest:6.1%}; "
                    f"{one.sources:,} sources in {one.seconds:.1f} s, of each worker {shares}"
                )
        check_values(root, first, chosen.cluster)
        say("values are equal with every number of workers, and those of searches and sums of distances")


if __name__ == "__main__":
    main()
