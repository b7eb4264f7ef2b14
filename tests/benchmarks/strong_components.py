"""Times strongly connected components on a GPU, each result compared with Tarjan's algorithm on the CPU.

    python -m tests.benchmarks.strong_components rmat20:4 rmat22:16 rmat24:16 cnr-2000.graph-txt.gz

`rmat20:4` is a directed Graph500 graph of 2^20 vertices and four times as many arcs before duplicates go. Any
other name is a file of directed arcs that `ingest` reads. Times are medians of eight runs after one. The
rows of predecessors, which the search needs too, are timed apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import cupy
import numpy

from gravel.kernels.csr import build
from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.cuda.wake import wake
from gravel.kernels.generate.rmat import rmat
from gravel.kernels.strong_components import strong_components
from gravel.stages.ingest import read_edges


def rows_of(name: str) -> Any:
    """Make or read the rows of a directed graph."""
    if name.startswith("rmat"):
        scale, factor = map(int, name.removeprefix("rmat").split(":"))
        return build(*rmat(scale, factor, 1, backend="cpu"), 1 << scale, direction="as_given")
    edges, _ = read_edges(Path(name))
    return build(edges.source, edges.target, edges.vertex_count, direction="as_given")


def measure(name: str, runs: int) -> None:
    """Print the times of one graph; raises AssertionError where labels differ."""
    rows = rows_of(name)
    offsets, columns = rows.row_offsets, rows.column_indices
    wanted = strong_components(offsets, columns)
    there = cupy.asarray(offsets), cupy.asarray(columns)
    turned = []
    for _ in range(2):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        back = reversed_rows(*there)[:2]
        cupy.cuda.Device().synchronize()
        turned.append((time.perf_counter() - began) * 1e3)
    times = []
    for _ in range(runs + 1):
        wake()
        found = strong_components(*there, *back)
        times.append(found.milliseconds)
    assert (found.component.get() == wanted.component).all(), name
    count = int((wanted.component == numpy.arange(len(offsets) - 1)).sum())
    print(
        f"{name}: {len(offsets) - 1:,} vertices, {len(columns):,} arcs, {count:,} components; GPU"
        f" {statistics.median(times[1:]):.3f} ms, rows of predecessors in {turned[-1]:.2f} ms, CPU"
        f" {wanted.milliseconds:.1f} ms",
        flush=True,
    )


def main() -> None:
    """Measure the graphs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--runs", type=int, default=8)
    asked = parser.parse_args()
    for name in asked.graphs:
        measure(name, asked.runs)


if __name__ == "__main__":
    main()
