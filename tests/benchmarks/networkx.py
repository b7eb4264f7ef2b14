"""The NetworkX backend beside NetworkX: what its tests say, the cost of a call, the crossover, and times.

    python -m tests.benchmarks.networkx [--part PART] [--sizes 10000 100000] [--all]

Graphs have 4 edges per node, joined at random like those of Barabasi and Albert, so that they are connected.
Times are the best of several rounds, with the results made into lists. "converted" is a call whose graph was
converted before; "first" adds the conversion. Parts are suite, dispatch, crossover, times and, only if it is
asked for, gpu. `--all` runs all of NetworkX's tests, which takes minutes.
"""

from __future__ import annotations

import gc
import random
import time

import networkx as nx

from gravel.networkx.backend import backend
from gravel.networkx.device import GPU_FROM
from gravel.networkx.limits import CROSSOVER
from tests.benchmarks.program import parser_of
from tests.gravel.networkx.suite import ALL, DIRECT, report, run_suite

SEARCHES = {
    "bfs_edges": ("source",),
    "bfs_layers": ("sources",),
    "single_source_shortest_path_length": ("source",),
    "single_source_shortest_path": ("source",),
    "single_source_dijkstra_path_length": ("source",),
    "connected_components": (),
    "number_connected_components": (),
    "core_number": (),
}
ALL_PAIRS = (
    "eccentricity",
    "betweenness_centrality",
    "closeness_centrality",
    "harmonic_centrality",
    "average_shortest_path_length",
    "diameter",
)
PAIRS = ("shortest_path", "has_path", "dijkstra_path_length")


def graph(nodes: int) -> nx.Graph:
    """Attach each node to 4 ends of earlier edges, with weights below 1,000."""
    chosen, weights = random.Random(nodes), random.Random(nodes + 1)
    ends = [0]
    made = nx.Graph()
    made.add_nodes_from(range(nodes))
    for node in range(1, nodes):
        for other in chosen.choices(ends, k=min(4, node)):
            made.add_edge(node, other, weight=weights.randrange(1, 1000))
            ends += (node, other)
    return made


def listed(value):
    """Take all that an iterator yields."""
    if hasattr(value, "__next__"):
        for _ in value:
            pass


def seconds(call, budget: float = 1.0) -> float:
    """Return the best time of calls that take about `budget` seconds together, 3 at least."""
    call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < budget and len(times) < 200):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
        if times[-1] > 20:
            break
    return min(times)


def arguments(name: str, made: nx.Graph) -> dict[str, object]:
    """Search from node 0, and to the last one."""
    if name in PAIRS:
        return {"source": 0, "target": len(made) - 1}
    return dict.fromkeys(SEARCHES.get(name, ()), 0)


def conversion_for(name: str, made: nx.Graph):
    """Convert a graph as a call of the function does."""
    return backend.convert_from_nx(made, {"weight": 1} if "dijkstra" in name else None)


def measured(name: str, made: nx.Graph, budget: float) -> tuple[float, float, float]:
    """Return the seconds of NetworkX, of gravel on a converted graph, and of gravel's function itself."""
    named = arguments(name, made)
    converted = conversion_for(name, made)
    function = getattr(nx, name)
    theirs = seconds(lambda: listed(function(made, **named, backend="networkx")), budget)
    ours = seconds(lambda: listed(function(made, **named, backend="gravel")), budget)
    direct = seconds(lambda: listed(getattr(backend, name)(converted, **named)), budget)
    return theirs, ours, direct


def dispatch() -> None:
    """Print what a call through NetworkX costs over one of gravel's function."""
    made = graph(1000)
    print("\nA call on a converted graph of 1,000 nodes, in microseconds")
    print(f"{'function':38s}{'through NetworkX':>18s}{'direct':>10s}{'difference':>12s}")
    for name in (*SEARCHES, *PAIRS):
        _, ours, direct = measured(name, made, 0.2)
        print(f"{name:38s}{ours * 1e6:18.0f}{direct * 1e6:10.0f}{(ours - direct) * 1e6:12.0f}")


def crossover() -> None:
    """Print how many times as fast as NetworkX gravel is on small graphs."""
    sizes = (10, 30, 100, 300, 1000, 3000)
    print(f"\nNetworkX's time divided by gravel's; in force: {CROSSOVER}")
    print(f"{'converted':38s}" + "".join(f"{size:>9d}" for size in sizes))
    graphs = {size: graph(size) for size in sizes}
    first: dict[str, list[float]] = {}
    for name in (*SEARCHES, *PAIRS, *ALL_PAIRS):
        ratios = []
        for size, made in graphs.items():
            if name in ALL_PAIRS and size > 300:
                continue
            theirs, ours, _ = measured(name, made, 0.1)
            conversion = seconds(lambda made=made, name=name: conversion_for(name, made), 0.1)
            ratios.append(theirs / ours)
            first.setdefault(name, []).append(theirs / (ours + conversion))
        print(f"{name:38s}" + "".join(f"{ratio:9.2f}" for ratio in ratios))
    print(f"{'first call, with the conversion':38s}" + "".join(f"{size:>9d}" for size in sizes))
    for name, ratios in first.items():
        print(f"{name:38s}" + "".join(f"{ratio:9.2f}" for ratio in ratios))


def times(sizes: list[int]) -> None:
    """Print times beside NetworkX on larger graphs."""
    for size in sizes:
        made = graph(size)
        gc.collect()
        conversion = seconds(lambda made=made: backend.convert_from_nx(made))
        weighted = seconds(lambda made=made: conversion_for("dijkstra", made))
        print(
            f"\n{size:,} nodes, {made.number_of_edges():,} edges; conversion {conversion * 1e3:,.1f} ms, "
            f"with weights {weighted * 1e3:,.1f} ms"
        )
        print(f"{'function':38s}{'NetworkX ms':>14s}{'converted ms':>14s}{'times':>8s}{'first':>8s}")
        for name in (*SEARCHES, *PAIRS, *(ALL_PAIRS if size <= 3000 else ())):
            theirs, ours, _ = measured(name, made, 1.0)
            first = theirs / (ours + (weighted if "dijkstra" in name else conversion))
            print(f"{name:38s}{theirs * 1e3:14.2f}{ours * 1e3:14.3f}{theirs / ours:8.1f}{first:8.2f}")


def gpu(sizes: list[int]) -> None:
    """Print times on the CPU and on a GPU of searches from every node, and their work as "auto" counts it."""
    settings = nx.config.backends.gravel
    began = time.perf_counter()
    with settings(device="cuda"):
        nx.closeness_centrality(graph(100), backend="gravel")
    print(f"\nthe first call on the GPU, in seconds: {time.perf_counter() - began:.1f}")
    print(
        f"{'function':38s}{'nodes':>10s}{'work':>10s}{'CPU s':>10s}{'GPU s':>10s}; auto from {GPU_FROM:.0e}"
    )
    for size in sizes:
        made = graph(size)
        backend.convert_from_nx(made)
        work = size * (size + 2 * made.number_of_edges())
        for name in ("closeness_centrality", "harmonic_centrality", "eccentricity", "diameter"):
            taken = []
            for device in ("cpu", "cuda"):
                with settings(device=device):
                    taken.append(once(lambda name=name, made=made: getattr(nx, name)(made, backend="gravel")))
            print(f"{name:38s}{size:10d}{work:10.1e}{taken[0]:10.3f}{taken[1]:10.3f}", flush=True)


def once(call) -> float:
    """Return the time of a second call, or of the first if it takes more than 10 s."""
    for _ in range(2):
        began = time.perf_counter()
        call()
        seconds_taken = time.perf_counter() - began
        if seconds_taken > 10:
            break
    return seconds_taken


def main() -> None:
    """Print the parts that are asked for, by default all of them."""
    parser = parser_of(__doc__)
    parser.add_argument("--part", choices=["suite", "dispatch", "crossover", "times", "gpu"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[3000, 30_000, 300_000])
    parser.add_argument("--all", action="store_true", help="all tests of NetworkX")
    options = parser.parse_args()
    nx.config.warnings_to_ignore.add("cache")
    parts = [options.part] if options.part else ["suite", "dispatch", "crossover", "times"]
    if "gpu" in parts:
        gpu(options.sizes)
    if "suite" in parts:
        print(*report(run_suite(ALL if options.all else DIRECT, timeout=3000)), sep="\n")
    if "dispatch" in parts:
        dispatch()
    if "crossover" in parts:
        crossover()
    if "times" in parts:
        times(options.sizes)


if __name__ == "__main__":
    main()
