"""PageRank beside igraph, NetworKit and SciPy on the CPU, to the same residual; with --cuda on a GPU.

    python -m tests.benchmarks.pagerank kron18 shared/data/USA-road-NY.pace.gr.xz
    python -m tests.benchmarks.pagerank kron24 --cuda --layouts csr varint

Graphs are those of `tests.benchmarks.sssp`, symmetric and without weights. Libraries have their graph before
the time begins. They stop where the ranks change by less than `--residual` in all; igraph's solver chooses
its own end. They run in turns. Medians are of processor time with `--threads 1`, else by the clock. Every
result is compared with SciPy's, or on a GPU with that of the CPU; NetworKit's is divided by its sum first. On
a GPU an iteration is compared with the time in which the card copies 12 bytes an arc, half of them read and
half written.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy

from gravel.kernels.layouts import columns_as_rows, encode
from gravel.kernels.pagerank import pagerank
from gravel.kernels.threads import set_threads
from tests.benchmarks.sssp import rows_of

Ranks = tuple[Any, int | None]
"""Ranks, and the iterations that they took if it is known."""

DAMPING = 0.85


def gravel(offsets: Any, columns: Any, residual: float) -> Callable[[], Ranks]:
    rows, degrees = columns_as_rows(offsets, columns), numpy.diff(offsets).astype(numpy.float64)
    tolerance = residual / len(degrees)

    def run() -> Ranks:
        found = pagerank(rows, degrees, tolerance=tolerance, max_iterations=10_000)
        return found.rank, found.iterations

    return run


def scipy(offsets: Any, columns: Any, residual: float) -> Callable[[], Ranks]:
    from scipy.sparse import csr_array

    n, degrees = len(offsets) - 1, numpy.diff(offsets)
    matrix = csr_array((numpy.ones(len(columns)), columns.astype(numpy.int32), offsets), (n, n))
    inverse = numpy.divide(1.0, degrees, out=numpy.zeros(n), where=degrees > 0)
    dangling = degrees == 0

    def run() -> Ranks:
        ranks, iterations, change = numpy.full(n, 1.0 / n), 0, numpy.inf
        while change >= residual:
            last, iterations = ranks, iterations + 1
            ranks = DAMPING * (matrix @ (last * inverse) + last[dangling].sum() / n) + (1 - DAMPING) / n
            change = numpy.abs(ranks - last).sum()
        return ranks, iterations

    return run


def _edges(offsets: Any, columns: Any) -> tuple[Any, Any]:
    tails = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets))
    once = tails <= columns
    return tails[once], columns[once].astype(numpy.int64)


def igraph(offsets: Any, columns: Any, residual: float) -> Callable[[], Ranks]:
    library: Any = import_module("igraph")

    made = library.Graph(len(offsets) - 1, numpy.stack(_edges(offsets, columns), axis=1))
    return lambda: (made.pagerank(damping=DAMPING), None)


def networkit(offsets: Any, columns: Any, residual: float) -> Callable[[], Ranks]:
    library: Any = import_module("networkit")

    made = library.GraphFromCoo(_edges(offsets, columns), n=len(offsets) - 1, directed=False)

    def run() -> Ranks:
        central = library.centrality
        found = central.PageRank(made, DAMPING, residual)
        found.norm = central.Norm.L1_NORM
        found.run()
        ranks = numpy.asarray(found.scores())
        return ranks / ranks.sum(), found.numberOfIterations()

    return run


WAYS = {"gravel": gravel, "scipy": scipy, "igraph": igraph, "networkit": networkit}


def on_cpu(name: str, chosen: argparse.Namespace) -> None:
    """Print a line for each library that is installed."""
    offsets, columns, _ = rows_of(name, floats=False)
    print(
        f"{name}: {len(offsets) - 1:,} vertices, {len(columns):,} arcs, {chosen.threads} threads", flush=True
    )
    set_threads(chosen.threads)
    ways = {}
    for way in chosen.ways:
        try:
            ways[way] = WAYS[way](offsets, columns, chosen.residual)
        except ImportError as error:
            print(f"  {way} is left out: {error}")
    if "networkit" in ways:
        import_module("networkit").setNumberOfThreads(chosen.threads)
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    expected = scipy(offsets, columns, chosen.residual)()[0]
    times: dict[str, list[float]] = {way: [] for way in ways}
    iterations = {}
    for turn in range(chosen.turns + 1):
        for way, run in ways.items():
            began = clock()
            ranks, iterations[way] = run()
            if turn:  # the first compiles, and touches memory
                times[way].append((clock() - began) * 1e3)
            numpy.testing.assert_allclose(ranks, expected, 0, 10 * chosen.residual, err_msg=way)
    for way, each in times.items():
        print(f"  {way:10} {statistics.median(each):10.1f} ms, {iterations[way]} iterations")


def _copy_rate() -> float:
    """Return the GB/s, read and written, of copies on the card."""
    import cupy

    from gravel.kernels.cuda import event_milliseconds

    blocks = cupy.zeros((2, 1 << 30), cupy.uint8)
    copies = [event_milliseconds(lambda: cupy.copyto(blocks[0], blocks[1])) for _ in range(9)]
    return float(blocks.nbytes / statistics.median(copies) / 1e6)


def on_gpu(name: str, chosen: argparse.Namespace) -> None:
    """Print a line for each layout."""
    import cupy

    offsets, columns, _ = rows_of(name, floats=False)
    n, arcs, degrees = len(offsets) - 1, len(columns), numpy.diff(offsets).astype(numpy.float64)
    asked: dict[str, Any] = {"tolerance": chosen.residual / n, "max_iterations": 10_000}
    expected = pagerank(columns_as_rows(offsets, columns), degrees, **asked)
    rate = _copy_rate()
    print(f"{name}: {n:,} vertices, {arcs:,} arcs; copies move {rate:,.0f} GB/s", flush=True)
    there = cupy.asarray(offsets), cupy.asarray(columns)
    for layout in chosen.layouts:
        rows, leaving, times = encode(layout, *there), cupy.asarray(degrees), []
        for turn in range(chosen.turns + 1):
            found = pagerank(rows, leaving, **asked)
            numpy.testing.assert_allclose(found.rank.get(), expected.rank, rtol=0, atol=1e-12)
            assert found.iterations == expected.iterations
            if turn:
                times.append(found.milliseconds / found.iterations)
        each = statistics.median(times)
        copy = 12 * arcs / rate / 1e6
        times_copy = f"{each / copy:.2f} of the copy, {found.iterations} iterations"
        print(f"  {layout:10} {each:8.3f} ms an iteration, {times_copy}")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pagerank", description=__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--residual", type=float, default=1e-10)
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--layouts", nargs="+", default=["csr"])
    chosen = parser.parse_args()
    for name in chosen.graphs:
        (on_gpu if chosen.cuda else on_cpu)(name, chosen)


if __name__ == "__main__":
    main()
