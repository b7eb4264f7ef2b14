"""Times every CUDA strategy on graphs of different shape, and says how far `auto`'s choice is from the best.

    python -m tests.benchmarks.choice kron20:degree uniform grid1000 box160 cnr-2000.graph-txt.gz:directed

A graph is named as in `tests.benchmarks.graphs`; `:directed` behind it takes arcs as they are given. Medians
over sources of degree >= 1, each search after a kernel that wakes the device.

What `auto` would lose on a directed R-MAT graph, a crawl and deep grids if it could not choose some of them:

    python -m tests.benchmarks.choice rmat22:directed cnr-2000.graph-txt.gz:directed grid3000 box160 \\
        --without expand_contract,hybrid
"""

from __future__ import annotations

import gc
import statistics

import cupy

from gravel.kernels.bfs import choose, prepare
from gravel.kernels.bfs.strategies import STRATEGIES
from gravel.kernels.cuda.wake import wake
from gravel.kernels.strategy import strategies_in
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of

ENOUGH = 1500.0
"""Milliseconds of searches after which a strategy needs no more sources."""


def measure(name: str, strategies: list[str], output: str, count: int, without: list[str]) -> str:
    """Print a line for every strategy; returns the row of the table."""
    base = name.removesuffix(":directed")
    symmetric = base == name
    arrays = rows_of(base, direction="both" if symmetric else "as_given")
    choose(*arrays, symmetric=symmetric)
    choice = choose(*arrays, symmetric=symmetric)
    print(f"{name}: {choice.reason}; {choice.milliseconds:.2f} ms", flush=True)
    sources = sources_of(arrays[0], count)
    medians: dict[str, float] = {}
    known = strategies_in("gravel.kernels.bfs")
    reference = None
    for strategy in strategies:
        if not symmetric and not known[strategy].directed:
            continue
        search = prepare(*arrays, strategy=strategy, symmetric=symmetric, output=output)
        search.run(sources[0])
        times: list[float] = []
        for source in sources:
            wake(0.5)
            result = search.run(source)
            times.append(result.milliseconds)
            if sum(times) > ENOUGH:
                break
        medians[strategy] = statistics.median(times)
        labels = search.run(sources[0])
        labels = (labels.predecessor if output == "predecessor" else labels.distance).copy()
        reference = labels if reference is None else reference
        agrees = bool((labels == reference).all())
        print(f"  {strategy:22} {medians[strategy]:10.3f} ms{'' if agrees else ' DIFFERS'}", flush=True)
        del search, result, labels
        cupy.get_default_memory_pool().free_all_blocks()
    best = min(medians, key=lambda each: medians[each])
    beyond = medians[choice.strategy] / medians[best] - 1
    cells = " ".join(f"{medians[each]:10.3f}" if each in medians else f"{'-':>10}" for each in strategies)
    row = f"{name[-24:]:24} {cells} {choice.strategy}, best {best} (+{beyond:.0%})"
    if choice.strategy not in without:
        return row
    left = min((STRATEGIES.keys() & medians.keys()) - {*without}, key=lambda each: medians[each])
    return f"{row}; without it {left} (+{medians[left] / medians[choice.strategy] - 1:.0%})"


def main() -> None:
    every = [
        name
        for name, each in sorted(strategies_in("gravel.kernels.bfs").items())
        if each.cuda and name != "multi_source"
    ]
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--output", default="distance", choices=["distance", "predecessor", "both"])
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--strategies", default=",".join(every))
    parser.add_argument("--without", default="", help="strategies that `auto` is taken not to choose")
    chosen = parser.parse_args()
    strategies, without = chosen.strategies.split(","), chosen.without.split(",")
    rows = []
    for name in chosen.graphs:
        rows.append(measure(name, strategies, chosen.output, chosen.sources, without))
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
    print(f"{'ms, ' + chosen.output:24} " + " ".join(f"{each[:10]:>10}" for each in strategies))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
