"""Searches and components on the CPU beside other libraries: same graph, same sources, same run.

    python -m tests.benchmarks.cpu_bfs --scale 18 --sources 16

A Graph500 graph (RMAT, edge factor 16, symmetrised, loops and duplicates removed) is searched from random
sources of degree >= 1. The libraries take turns at every source, so that a slow moment of the machine falls
on all of them, and medians are printed. Every result is checked against gravel's. A library that is not
installed is named and left out (`pip install -e '.[bench]'` brings all of them). First gravel runs alone,
one search after the other, as the GAP Benchmark Suite times itself: taking turns, everyone finds the caches
full of somebody else's data and the threads of other libraries still awake.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs import prepare
from gravel.kernels.components import components
from gravel.kernels.generate import generate
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.level_statistics import distances_of_tree
from gravel.kernels.threads import set_threads
from tests.benchmarks import peers
from tests.benchmarks.program import parser_of

Contestant = tuple[str, Callable[[int], tuple[float, Any]], Callable[[Any, int], NDArray[Any]]]
"""Name, a timed search from a source, and how its result becomes distances."""


def make_graph(scale: int, edge_factor: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make the CSR arrays of a Graph500 graph with plain NumPy."""
    n = 1 << scale
    source, target = generate("rmat", scale=scale, edge_factor=edge_factor, seed=seed)
    keep = source != target
    source, target = source[keep].astype(numpy.uint64), target[keep].astype(numpy.uint64)
    bits = numpy.uint64(scale)
    keys = distinct(numpy.concatenate([source << bits | target, target << bits | source]))
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount((keys >> bits).astype(numpy.int64), minlength=n))
    return offsets, (keys & numpy.uint64(n - 1)).astype(numpy.uint32)


def gravel_contestants(row_offsets: NDArray[Any], columns: NDArray[Any]) -> list[Contestant]:
    """Make one contestant for each output."""
    found: list[Contestant] = []
    for output in ("both", "distance", "predecessor"):
        search = prepare(row_offsets, columns, symmetric=True, output=output)

        def run(source: int, search: Any = search) -> tuple[float, Any]:
            result = search.run(source)
            return result.milliseconds, result

        def distances(result: Any, source: int) -> NDArray[Any]:
            return result.distance if result.distance is not None else of_tree(result.predecessor, source)

        found.append((f"gravel, {output}", run, distances))
    return found


def of_tree(predecessor: NDArray[Any], source: int) -> NDArray[Any]:
    """Turn predecessors into distances, so that trees can be compared."""
    distance = numpy.empty(len(predecessor), numpy.int32)
    distances_of_tree(predecessor, source, distance)
    return distance


def clock(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return milliseconds and the result."""
    started = time.perf_counter()
    result = function()
    return (time.perf_counter() - started) * 1e3, result


def alone(contestants: list[Contestant], sources: list[int]) -> dict[str, list[float]]:
    """Let each search from all sources in a row."""
    times = {}
    for name, run, _ in contestants:
        run(sources[0])
        times[name] = [run(source)[0] for source in sources]
    return times


def race(contestants: list[Contestant], sources: list[int]) -> dict[str, list[float]]:
    """Let everyone search from every source in turn; raises ValueError where a result differs."""
    for _, run, _ in contestants:
        run(sources[0])
    times: dict[str, list[float]] = {name: [] for name, _, _ in contestants}
    for turn, source in enumerate(sources):
        expected = None
        shift = turn % len(contestants)
        for name, run, distances in contestants[shift:] + contestants[:shift]:
            milliseconds, result = run(source)
            times[name].append(milliseconds)
            found = numpy.array(distances(result, source))
            if expected is not None and not numpy.array_equal(found, expected):
                raise ValueError(f"{name} finds other distances from {source}")
            expected = found
    return times


def race_components(
    contestants: list[tuple[str, Callable[[], tuple[float, Any]]]], rounds: int
) -> dict[str, list[float]]:
    """Let everyone find the components in turn; raises ValueError where the partitions differ."""
    times: dict[str, list[float]] = {name: [] for name, _ in contestants}
    for turn in range(rounds + 1):
        expected = None
        for name, run in contestants:
            milliseconds, labels = run()
            if turn:
                times[name].append(milliseconds)
                continue
            smallest = peers.smallest_members(labels)
            if expected is not None and not numpy.array_equal(smallest, expected):
                raise ValueError(f"{name} finds other components")
            expected = smallest
    return times


def show(title: str, times: dict[str, list[float]]) -> None:
    """Print a table of medians, fastest and slowest."""
    print(f"\n{title}\n{'':28}{'median ms':>12}{'fastest':>12}{'slowest':>12}{'x first row':>14}")
    first = median(next(iter(times.values())))
    for name, values in times.items():
        middle = median(values)
        print(f"{name:28}{middle:12.2f}{min(values):12.2f}{max(values):12.2f}{middle / first:14.1f}")


def main() -> None:
    """Parse the command line and run both races."""
    parser = parser_of(__doc__)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--edge-factor", type=int, default=16)
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="of gravel; all by default")
    options = parser.parse_args()
    if options.threads:
        set_threads(options.threads)
    row_offsets, columns = make_graph(options.scale, options.edge_factor, options.seed)
    n = len(row_offsets) - 1
    print(f"RMAT scale {options.scale}: {n} vertices, {len(columns)} arcs")
    random = numpy.random.default_rng(options.seed)
    reachable = numpy.flatnonzero(numpy.diff(row_offsets))
    sources = random.choice(reachable, min(options.sources, len(reachable)), replace=False).tolist()

    contestants = gravel_contestants(row_offsets, columns)

    def ours() -> tuple[float, Any]:
        found = components(row_offsets, columns, symmetric=True)
        return found.milliseconds, found.component

    finders: list[tuple[str, Callable[[], tuple[float, Any]]]] = [("gravel, afforest", ours)]
    show("Alone, one search after the other", alone(contestants, sources))
    show("Alone, components", race_components(finders, 15))
    for name, load in peers.PEERS.items():
        try:
            peer = load(row_offsets, columns)
        except ImportError as missing:
            print(f"{name} is left out: {missing}")
            continue
        search, distances, find = peer.search, peer.distances, peer.components
        contestants.append(
            (
                f"{name}, {peer.finds}",
                lambda source, search=search: clock(lambda: search(source)),
                distances or of_tree,
            )
        )
        if find is not None:
            finders.append((name, lambda find=find: clock(find)))
        else:
            print(f"{name} has no components")
    show(f"Breadth-first search, {len(sources)} sources", race(contestants, sources))
    show("Connected components", race_components(finders, 7))


if __name__ == "__main__":
    main()
