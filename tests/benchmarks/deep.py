"""Times searches of deep graphs on one GPU, every search checked; a line per graph, strategy and output.

    python -m tests.benchmarks.deep grid1000:16 grid:8 lattice100:16 FILE:64 --set hops=8

A graph is named as in `tests.benchmarks.graphs`, with the number of sources behind it. Times are CUDA events
around the launch, initialisation included. Each result is compared with the first strategy's, whose levels
are checked.
"""

from __future__ import annotations

import statistics
from typing import Any

import cupy

from gravel.kernels.bfs import prepare
from gravel.kernels.cuda.wake import wake
from tests.benchmarks.gpu import check_levels
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of


def measure(name: str, count: int, strategies: list[str], tuning: dict[str, Any]) -> None:
    arrays = rows_of(name)
    sources = sources_of(arrays[0], count)
    expected: dict[int, tuple[Any, Any]] = {}
    print(f"{name}: {len(arrays[0]) - 1} vertices, {len(arrays[1])} arcs, {len(sources)} sources", flush=True)
    for strategy in strategies:
        for output in ("both", "distance"):
            options = tuning if strategy == "persistent" else {}
            search = prepare(*arrays, symmetric=True, strategy=strategy, output=output, **options)
            search.run(sources[0])
            times, levels = [], []
            for source in sources:
                wake()
                result = search.run(source)
                times.append(result.milliseconds)
                levels.append(len(result.directions))
                if source not in expected:
                    check_levels(*arrays, cupy.ascontiguousarray(result.distance))
                    expected[source] = result.distance.get(), result.predecessor.get()
                assert bool((result.distance == cupy.asarray(expected[source][0])).all()), "distances differ"
                if output == "both":
                    same = result.predecessor == cupy.asarray(expected[source][1])
                    assert bool(same.all()), "predecessors differ"
            taken, depth = statistics.median(times), statistics.median(levels)
            print(
                f"  {strategy:22} {output:9} median {taken:8.3f} worst {max(times):8.3f} ms, "
                f"{depth:.0f} levels ({min(levels)}-{max(levels)}) of {taken / depth * 1e3:.3f} us, "
                f"prepare {search.prepare_milliseconds:.0f} ms",
                flush=True,
            )
            del search


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+", help="a name or a file, :SOURCES behind it (default 8)")
    parser.add_argument("--strategies", default="direction_optimizing,persistent")
    parser.add_argument("--set", action="append", default=[], help="a constant of persistent, NAME=VALUE")
    chosen = parser.parse_args()
    tuning = {}
    for setting in chosen.set:
        name, value = setting.split("=")
        tuning[name] = float(value) if "." in value else int(value)
    for item in chosen.graphs:
        name, _, count = item.partition(":")
        measure(name, int(count or 8), chosen.strategies.split(","), tuning)
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
