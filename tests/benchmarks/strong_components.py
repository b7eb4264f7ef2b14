"""Times strongly connected components beside other programs; all find the same components.

    python -m tests.benchmarks.strong_components rmat20:4 rmat22:16 rmat24:16 cnr-2000.graph-txt.gz
    python -m tests.benchmarks.strong_components cnr-2000.graph-txt.gz --ecl ./ecl-scc

`rmat20:4` is a directed Graph500 graph of 2^20 vertices and four times as many arcs before duplicates go. Any
other name is a file of directed arcs that `ingest` reads. Times on a GPU are medians of `--runs` after one.
The rows of predecessors, which the search needs too, are timed apart. On the CPU, gravel, SciPy and NetworKit
take one thread, and the best of three runs counts. Labels on a GPU are compared with those of Tarjan's
algorithm. Of other programs only the number of components is.

`--ecl` is ECL-SCC (github.com/burtscher/ECL-SCC), built by nvcc -O3 -arch=sm_90: the median of its own times
in `--ecl-runs` processes, of which each searches once.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.strong_components import strong_components
from gravel.stages.ingest import read_edges
from tests.benchmarks.measure_peers import PEERS, Rows

CPU_RUNS = 3
ECL_MAX = (1 << 31) - 1
"""Vertices and arcs of ECL's format, which counts both in 32 bits."""


def rows_of(name: str) -> Any:
    """Make or read the rows of a directed graph; `web20:8` is one of `web_like`."""
    from tests.benchmarks.web_like import web_like

    if name.startswith("rmat"):
        scale, factor = map(int, name.removeprefix("rmat").split(":"))
        return build(
            *generate("rmat", scale=scale, edge_factor=factor, seed=1, backend="cpu"),
            1 << scale,
            direction="as_given",
        )
    if name.startswith("web") and ":" in name:
        return web_like(*map(int, name.removeprefix("web").split(":")))
    edges, _ = read_edges(Path(name))
    return build(edges.source, edges.target, edges.vertex_count, direction="as_given")


def on_gpu(offsets: Any, columns: Any, component: Any, runs: int) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds of a search on a GPU and of its rows of predecessors.

    Raises AssertionError where labels differ.
    """
    import cupy

    from gravel.kernels.csr.reversed import reversed_rows
    from gravel.kernels.cuda.wake import wake

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
    assert (found.component.get() == component).all(), "a GPU finds other labels"
    yield "gravel, GPU", statistics.median(times[1:])
    yield "gravel, GPU, rows of predecessors", turned[-1]


def write_ecl(path: Path, offsets: Any, columns: Any) -> None:
    """Write a graph as ECL's programs read it: vertices, arcs, offsets and columns, all int32.

    Raises ValueError for a graph that 32 bits do not count.
    """
    counts = len(offsets) - 1, len(columns)
    if max(counts) > ECL_MAX:
        raise ValueError(f"{counts[0]:,} vertices and {counts[1]:,} arcs; ECL's format has up to {ECL_MAX:,}")
    with path.open("wb") as file:
        for array in (numpy.array(counts), offsets, columns):
            array.astype("<i4").tofile(file)


def by_ecl(program: str, path: Path, components: int, runs: int) -> float:
    """Return the median milliseconds that ECL-SCC tells for a graph in its format.

    Raises AssertionError where it finds another number of components, and CalledProcessError with its output
    where it fails.
    """
    # Kernels are loaded before the clock runs, as those of gravel are.
    given = os.environ | {"CUDA_MODULE_LOADING": "EAGER"}
    times = []
    for _ in range(runs):
        done = subprocess.run([program, str(path)], capture_output=True, text=True, check=True, env=given)
        told = dict(re.findall(r"^(compute time|number of SCCs): ([\d.]+)", done.stdout, re.MULTILINE))
        assert int(told["number of SCCs"]) == components, (
            f"{program} finds {told['number of SCCs']} components"
        )
        times.append(float(told["compute time"]) * 1e3)
    return statistics.median(times)


def on_cpu(offsets: Any, columns: Any, components: int, names: list[str]) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds of gravel and of others that are installed, each the best of a few runs.

    Raises AssertionError where one finds another number of components.
    """
    yield "gravel, CPU", min(strong_components(offsets, columns).milliseconds for _ in range(CPU_RUNS))
    rows = Rows(offsets, columns, numpy.ones(len(columns), numpy.uint32), directed=True)
    for name in names:
        try:
            find: Callable[[], Any] = PEERS[name](rows)["strong"]
        except ImportError:
            continue
        times = []
        for _ in range(CPU_RUNS):
            began = time.perf_counter()
            found = find()
            times.append((time.perf_counter() - began) * 1e3)
        count = len(numpy.unique(numpy.asarray(found)))
        assert count == components, f"{name} finds {count} components"
        yield f"{name}, CPU", min(times)


def measure(name: str, asked: argparse.Namespace) -> None:
    """Print the times of one graph; raises AssertionError where results differ."""
    rows = rows_of(name)
    offsets, columns = rows.row_offsets, rows.column_indices
    component = strong_components(offsets, columns).component
    count = int((component == numpy.arange(len(offsets) - 1)).sum())
    print(f"{name}: {len(offsets) - 1:,} vertices, {len(columns):,} arcs, {count:,} components", flush=True)

    def told(who: str, milliseconds: float) -> None:
        print(f"  {who:36}{milliseconds:12.3f} ms", flush=True)

    if not asked.cpu:
        for each in on_gpu(offsets, columns, component, asked.runs):
            told(*each)
    if asked.ecl:
        with tempfile.TemporaryDirectory(prefix="gravel-") as folder:
            path = Path(folder) / "graph.egr"
            write_ecl(path, offsets, columns)
            told("ECL-SCC, GPU", by_ecl(asked.ecl, path, count, asked.ecl_runs))
    for each in on_cpu(offsets, columns, count, asked.peers):
        told(*each)


def main() -> None:
    """Measure the graphs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--cpu", action="store_true", help="leave the GPU out")
    parser.add_argument("--peers", nargs="*", choices=sorted(PEERS), default=["SciPy", "networkit"])
    parser.add_argument("--ecl", metavar="PROGRAM", help="ECL-SCC, to be timed beside")
    parser.add_argument("--ecl-runs", type=int, default=5)
    asked = parser.parse_args()
    for name in asked.graphs:
        measure(name, asked)


if __name__ == "__main__":
    main()
