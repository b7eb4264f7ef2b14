"""Times shortest paths, each search checked; on the CPU, with --cuda on a GPU.

    python -m tests.benchmarks.sssp kron18 shared/data/USA-road-NY.pace.gr.xz --dijkstra
    python -m tests.benchmarks.sssp kron20 USA-road-NE.pace.gr.xz --cuda --widths 0.1 4 --blocks 512

Graphs are named as in `tests.benchmarks.graphs`; all are symmetric. Weights are uniform, 1 to 255, or with
--floats float32 from 0 to 1, drawn by the edge's ends. Sources have arcs and are drawn by PCG64(7). Medians
over the sources; `rounds` are those of the last search. The first search of each line is checked by
`gravel.kernels.verify.sssp`. Other libraries are in `tests.benchmarks.measures`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from gravel.kernels.sssp import prepare
from gravel.kernels.threads import set_threads
from gravel.kernels.verify.sssp import check_sssp
from tests.benchmarks import graphs
from tests.benchmarks.graphs import sources_of
from tests.benchmarks.program import parser_of

Rows = tuple[Any, Any, Any]


def rows_of(name: str, *, floats: bool) -> Rows:
    """Make the rows of a named graph or a file, with weights."""
    offsets, columns = graphs.rows_of(name, "cpu")
    n = len(offsets) - 1
    heads = numpy.repeat(numpy.arange(n, dtype=numpy.uint32), numpy.diff(offsets))
    low, high = numpy.minimum(heads, columns).astype(numpy.uint64), numpy.maximum(heads, columns)
    del heads
    mixed = (low << numpy.uint64(32) | high) * numpy.uint64(0x9E3779B97F4A7C15)
    drawn = ((mixed ^ (mixed >> numpy.uint64(29))) * numpy.uint64(0xBF58476D1CE4E5B9)) >> numpy.uint64(40)
    if floats:
        return offsets, columns, (drawn.astype(numpy.float32) + 1) / numpy.float32(1 << 24)
    return offsets, columns, (drawn % numpy.uint64(255) + numpy.uint64(1)).astype(numpy.uint32)


def as_floats(distance: Any) -> Any:
    """Return distances as peers have them, unreached ones left out."""
    found = numpy.asarray(distance, numpy.float64)
    return numpy.where((found < 0) | (found > 1e300), numpy.inf, found)


CLOCK: list[Callable[[], float]] = [time.perf_counter]
"""What times searches on the CPU."""


def timed(search: Callable[[int], Any], source: int) -> tuple[Any, float]:
    """Return what a search finds and the milliseconds that it takes."""
    started = CLOCK[0]()
    found = search(source)
    return found, (CLOCK[0]() - started) * 1e3


def measure(name: str, rows: Rows, sources: list[int], strategy: str, *, cuda: bool, **tuning: Any) -> Any:
    """Print the times of one way of searching; return the last distances, on the host."""
    placed = rows
    if cuda:
        import cupy

        placed = tuple(map(cupy.asarray, rows))  # type: ignore[assignment]
    for predecessor in (True, False):
        search = prepare(*placed, strategy=strategy, predecessor=predecessor, **tuning)
        found = search.run(sources[0])
        if predecessor:
            labels = [each.get() if cuda else each for each in (found.distance, found.predecessor)]
            wrong = [check.name for check in check_sssp(*rows, sources[0], *labels) if not check.passed]
            assert not wrong, wrong
        times = []
        for source in sources:
            found, taken_here = timed(search.run, source)
            times.append(found.milliseconds if cuda else taken_here)
        shown = " ".join(f"{key} {value:g}" for key, value in tuning.items())
        taken = f"{statistics.median(times):9.3f} ms, {min(times):.3f} to {max(times):.3f}"
        output = "tree" if predecessor else "distances"
        wide = getattr(search, "rounds_of_the_grid", None)
        rounds = f"{found.rounds} rounds" + (f", {wide} steps of the grid" if wide is not None else "")
        rounds += f", made ready in {search.prepare_milliseconds:.1f} ms" + (
            ", by weight" if search.ran.options.get("by_weight") else ""
        )
        print(f"  {strategy:15} {shown:10} {output:9} median {taken}; {rounds}", flush=True)
    return found.distance.get() if cuda else found.distance


def measure_pairs(rows: Rows, count: int, last: Any, source: int, *, cuda: bool) -> None:
    """Print the time of pairs with their paths; those of one source are checked by its search."""
    from gravel.kernels import point_to_point

    placed: Any = rows
    if cuda:
        import cupy

        placed = tuple(map(cupy.asarray, rows))
    vertices = len(rows[0]) - 1
    sources, targets = numpy.random.default_rng(11).integers(0, vertices, (2, count))
    sources[: count // 4] = source
    for weights, by in ((placed[2], "weights"), (None, "arcs")):
        queries = point_to_point.prepare(*placed[:2], weights)
        queries.run(sources[:8], targets[:8])
        found, taken = timed(lambda _, ready=queries: ready.run(sources, targets), 0)  # type: ignore[misc]
        if by == "weights":
            expected = as_floats(last)[targets[: count // 4]]
            assert numpy.allclose(as_floats(found.length)[: count // 4], expected, rtol=1e-12)
        taken = found.milliseconds if cuda else taken
        told = f"{taken / count:9.3f} ms each, {queries.at_once} at a time"
        print(
            f"  {count} pairs by {by:9} {told}, {len(found.vertices) / count:.0f} vertices a path", flush=True
        )


def main() -> None:
    """Measure what the command line names."""
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--widths", type=float, nargs="+", default=[])
    parser.add_argument("--blocks", type=int, nargs="+", default=[], help="threads of a block, with --cuda")
    parser.add_argument("--pairs", type=int, default=0, help="searches from both ends")
    parser.add_argument("--few", type=int, nargs="+", default=[], help="few_arcs, with --cuda")
    parser.add_argument(
        "--as-they-are", action="store_true", help="time rows that are not ordered by weight, too"
    )
    parser.add_argument("--floats", action="store_true")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--dijkstra", action="store_true", help="time that strategy, too")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="of all threads, which others on the machine do not add to",
    )
    asked = parser.parse_args()
    if asked.processor_time:
        CLOCK[0] = time.process_time
    if asked.threads:
        set_threads(asked.threads)
    for name in asked.graphs:
        rows = rows_of(name, floats=asked.floats)
        sources = sources_of(rows[0], asked.sources)
        print(f"{Path(name).name}: {len(rows[0]) - 1:,} vertices, {len(rows[1]):,} arcs", flush=True)
        last = measure(name, rows, sources, "delta_stepping", cuda=asked.cuda)
        if asked.as_they_are:
            measure(name, rows, sources, "delta_stepping", cuda=asked.cuda, by_weight=False)
        for width in asked.widths:
            measure(name, rows, sources, "delta_stepping", cuda=asked.cuda, width=width)
        for block in asked.blocks:
            measure(name, rows, sources, "delta_stepping", cuda=asked.cuda, block=block)
        for few in asked.few:
            measure(name, rows, sources, "delta_stepping", cuda=asked.cuda, few_arcs=few)
        if asked.pairs:
            measure_pairs(rows, asked.pairs, last, sources[-1], cuda=asked.cuda)
        if asked.dijkstra:
            measure(name, rows, sources, "dijkstra", cuda=False)


if __name__ == "__main__":
    main()
