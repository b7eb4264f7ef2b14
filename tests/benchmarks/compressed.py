"""Times searches of encoded rows against searches of columns on one GPU; a line per graph, order and layout.

    python -m tests.benchmarks.compressed kron22 kron24 uniform cnr-2000.graph-txt --layouts varint,blocks

Graphs are named as in `tests.benchmarks.graphs`. Rows are searched by the strategies that `--strategies`
names, columns by these and by `direction_optimizing`. Every search of rows is compared with the search of
columns, distances and predecessors. Times are medians over sources of CUDA events around the launch. Bits per
arc count the stream, in brackets with the offsets of rows.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import cupy

from gravel.kernels.bfs import prepare, prepare_rows
from gravel.kernels.cuda.wake import wake
from gravel.kernels.layouts import LAYOUTS, encode
from tests.benchmarks.gpu import check_levels
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of

GOAL = 1.3


def median_of(search: Any, sources: list[int], check: Any = None) -> float:
    """Median milliseconds over the sources, after one search that does not count."""
    search.run(sources[0])
    times = []
    for source in sources:
        wake()
        result = search.run(source)
        times.append(result.milliseconds)
        if check is not None:
            check(source, result)
    return statistics.median(times)


def steps_of(search: Any, source: int) -> str:
    """Name the steps of one search with their microseconds."""
    wake()
    search.run(source)
    return " ".join(
        f"{step[:3]}{level}[{vertices},{weight / 1e6:.2f}M]:{taken:.1f}"
        for step, level, vertices, weight, taken in search.steps()[:20]
    )


class Expected:
    """Labels by the search of columns, of each source; kept on the host."""

    def __init__(self, arrays: tuple[Any, Any], sources: list[int]) -> None:
        search = prepare(*arrays, symmetric=True, strategy="direction_optimizing", output="both")
        self.labels = {}
        for source in sources:
            result = search.run(source)
            if not self.labels:
                check_levels(*arrays, cupy.ascontiguousarray(result.distance))
            self.labels[source] = result.distance.get(), result.predecessor.get()

    def check(self, source: int, result: Any) -> None:
        distance, predecessor = self.labels[source]
        assert bool((result.distance == cupy.asarray(distance)).all()), "distances differ"
        if result.predecessor is not None:
            assert bool((result.predecessor == cupy.asarray(predecessor)).all()), "predecessors differ"


def measure(name: str, arrays: tuple[Any, Any], chosen: argparse.Namespace) -> None:
    """Print the lines of one graph in one order."""
    arcs = len(arrays[1])
    sources = sources_of(arrays[0], chosen.sources)
    print(f"{name}: {len(arrays[0]) - 1} vertices, {arcs} arcs, {len(sources)} sources", flush=True)
    expected = Expected(arrays, sources)
    plain = {}
    strategies = chosen.strategies.split(",")
    beside = ["direction_optimizing", *strategies, *(["auto"] if chosen.auto else [])]
    for output in ("distance", "both"):
        for strategy in dict.fromkeys(beside):
            search = prepare(*arrays, symmetric=True, strategy=strategy, output=output)
            plain[output, strategy] = median_of(search, sources)
            print(
                f"  columns    {search.strategy:21} {output:9} {plain[output, strategy]:8.3f} ms", flush=True
            )
            if chosen.steps and hasattr(search, "steps"):
                print("    " + steps_of(search, sources[0]))
            del search
    for layout in chosen.layouts.split(","):
        rows = encode(layout, *arrays)
        body = rows.arrays["column_indices" if layout == "csr" else "stream"]
        bits = f"{8 * body.nbytes / arcs:.2f} ({8 * rows.nbytes / arcs:.2f})"
        for strategy in strategies:
            for output in ("distance", "both"):
                search = prepare_rows(rows, symmetric=True, strategy=strategy, output=output)
                taken = median_of(search, sources, expected.check)
                ratio = taken / plain[output, strategy]
                print(
                    f"  {layout:10} {strategy:21} {output:9} {taken:8.3f} ms, {ratio:5.2f} x columns "
                    f"(goal {GOAL}), {bits} bits/arc, prepare {search.prepare_milliseconds:.0f} ms",
                    flush=True,
                )
                if chosen.steps:
                    print("    " + steps_of(search, sources[0]))
                del search
        del rows, body
        cupy.get_default_memory_pool().free_all_blocks()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+", help="a name or a file")
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--strategies", default="direction_optimizing")
    parser.add_argument("--orders", default="original,degree", help="of gravel.kernels.order")
    parser.add_argument("--sources", type=int, default=32)
    parser.add_argument("--auto", action="store_true", help="also search columns by what `auto` chooses")
    parser.add_argument("--steps", action="store_true", help="print the steps of one search of each kind")
    chosen = parser.parse_args()
    for name in chosen.graphs:
        for method in chosen.orders.split(","):
            arrays = rows_of(name if method == "original" else f"{name}:{method}")
            measure(f"{name}, {method} order", arrays, chosen)
            del arrays
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
