"""From data in memory to components and one search: seconds and peak memory, beside other libraries.

    python -m tests.benchmarks.conversion --edges 32000000

Each way runs in a process of its own, with kernels compiled: on a small graph first, which is not counted.
The data is made before the clock starts. Peak memory is that of the process above what it had with the data,
and on a GPU that of CuPy's pool.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from gravel.pipeline.workers.peak import Peak

EDGE_FACTOR = 16
SMALL = 1 << 14
SOURCE = 0


def kronecker(edges: int) -> tuple[Any, Any]:
    """Ends of a Kronecker graph of about so many edges, int64, every vertex of which occurs."""
    from gravel.kernels.generate import generate

    scale = max(4, round(numpy.log2(edges / EDGE_FACTOR)))
    source, target = generate("rmat", scale=scale, edge_factor=EDGE_FACTOR, seed=1)
    count = 1 << scale
    # A path over all of them: other libraries take ids for 0 to n - 1.
    line = numpy.arange(count)
    return (
        numpy.concatenate([source.astype(numpy.int64), line[:-1]]),
        numpy.concatenate([target.astype(numpy.int64), line[1:]]),
    )


def frame(ends: tuple[Any, Any]) -> Any:
    import pandas

    return pandas.DataFrame({"source": ends[0], "target": ends[1]})


def texts(ends: tuple[Any, Any]) -> Any:
    import pyarrow
    import pyarrow.compute as compute

    named = [
        compute.binary_join_element_wise("user-", pyarrow.array(each).cast("string"), "") for each in ends
    ]
    return pyarrow.table(named, names=["source", "target"])


def gravel_way(data: Any, source: Any = SOURCE) -> dict[str, Any]:
    import gravel

    started = time.perf_counter()
    graph = gravel.graph(data)
    converted = time.perf_counter()
    parts = graph.components()
    components = time.perf_counter()
    search = graph.bfs(source, "distance")
    distance = search.distance
    done = time.perf_counter()
    return {
        "convert": converted - started,
        "components": components - converted,
        "bfs": done - components,
        "found": [parts.count, int(distance.array.max())],
    }


def _timed(convert: Callable[[], Any], components: Any, search: Any) -> dict[str, Any]:
    started = time.perf_counter()
    graph = convert()
    converted = time.perf_counter()
    count = None if components is None else components(graph)
    parts = time.perf_counter()
    depth = search(graph)
    done = time.perf_counter()
    return {
        "convert": converted - started,
        "components": None if components is None else parts - converted,
        "bfs": done - parts,
        "found": [count, depth],
    }


def scipy_way(data: Any) -> dict[str, Any]:
    from scipy.sparse import coo_array, csgraph

    def convert() -> Any:
        ends = data["source"].to_numpy(), data["target"].to_numpy()
        n = int(max(each.max() for each in ends)) + 1
        one = coo_array((numpy.ones(len(data), numpy.int8), ends), shape=(n, n)).tocsr()
        return one + one.T

    def search(graph: Any) -> Any:
        order, before = csgraph.breadth_first_order(graph, SOURCE, directed=True)
        depth = numpy.zeros(graph.shape[0], numpy.int32)
        for vertex in order[1:][-1:]:  # of the last vertex alone: it has the largest distance
            while before[vertex] >= 0:
                depth[0] += 1
                vertex = before[vertex]
        return int(depth[0])

    return _timed(convert, lambda g: int(csgraph.connected_components(g, directed=False)[0]), search)


def igraph_way(data: Any) -> dict[str, Any]:
    import igraph

    def search(graph: Any) -> Any:
        found = numpy.array(graph.distances(source=SOURCE)[0], numpy.float64)
        return int(found[numpy.isfinite(found)].max())

    return _timed(
        lambda: igraph.Graph(edges=data[["source", "target"]].to_numpy()),
        lambda graph: len(graph.connected_components()),
        search,
    )


def networkit_way(data: Any) -> dict[str, Any]:
    import networkit

    def convert() -> Any:
        ends = tuple(data[name].to_numpy().astype(numpy.uint64) for name in ("source", "target"))
        n = int(max(each.max() for each in ends)) + 1
        return networkit.GraphFromCoo(ends, n=n, weighted=False, directed=False)

    def components(graph: Any) -> int:
        return int(networkit.components.ParallelConnectedComponents(graph, False).run().numberOfComponents())

    def search(graph: Any) -> int:
        found = numpy.array(networkit.distance.BFS(graph, SOURCE, storePaths=False).run().getDistances())
        return int(found[found < graph.numberOfNodes()].max())

    return _timed(convert, components, search)


def graphblas_way(data: Any) -> dict[str, Any]:
    from tests.benchmarks.peers import graphblas

    def convert() -> Any:
        from scipy.sparse import coo_array

        ends = data["source"].to_numpy(), data["target"].to_numpy()
        n = int(max(each.max() for each in ends)) + 1
        one = coo_array((numpy.ones(len(data), numpy.int8), ends), shape=(n, n)).tocsr()
        both = one + one.T
        return graphblas(both.indptr, both.indices)

    def search(peer: Any) -> int:
        return int(peer.distances(peer.search(SOURCE), SOURCE).max())

    return _timed(convert, None, search)


def networkx_itself(data: Any) -> dict[str, Any]:
    import networkx

    return _timed(
        lambda: networkx.from_pandas_edgelist(data),
        networkx.number_connected_components,
        lambda graph: max(networkx.single_source_shortest_path_length(graph, SOURCE).values()),
    )


def networkx_graph(ends: tuple[Any, Any]) -> Any:
    import networkx

    return networkx.from_edgelist(zip(*(each.tolist() for each in ends), strict=True))


def _table(ends: tuple[Any, Any]) -> Any:
    import pyarrow

    return pyarrow.table({"source": ends[0], "target": ends[1]})


def _polars(ends: tuple[Any, Any]) -> Any:
    import polars

    return polars.DataFrame({"source": ends[0], "target": ends[1]})


def _matrix(ends: tuple[Any, Any]) -> Any:
    from scipy.sparse import coo_array

    n = int(max(each.max() for each in ends)) + 1
    return coo_array((numpy.ones(len(ends[0]), numpy.int8), ends), shape=(n, n)).tocsr()


def _far(ends: tuple[Any, Any]) -> Any:
    return tuple(each * 1_000_003_333 for each in ends)


# Name: what makes the data, what is timed, what is imported, and the share of the edges that it takes.
WAYS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], dict[str, Any]], str, int]] = {
    "gravel, NumPy arrays": (lambda ends: ends, gravel_way, "numpy", 1),
    "gravel, pandas": (frame, gravel_way, "pandas", 1),
    "gravel, Polars": (_polars, gravel_way, "polars", 1),
    "gravel, Arrow": (_table, gravel_way, "pyarrow", 1),
    "gravel, SciPy CSR": (_matrix, gravel_way, "scipy", 1),
    "gravel, integers far apart": (_far, gravel_way, "numpy", 1),
    "gravel, strings": (texts, lambda data: gravel_way(data, f"user-{SOURCE}"), "pyarrow", 1),
    "gravel, NetworkX": (networkx_graph, gravel_way, "networkx", 8),
    "NetworkX, pandas": (frame, networkx_itself, "networkx", 8),
    "SciPy, pandas": (frame, scipy_way, "scipy", 1),
    "igraph, pandas": (frame, igraph_way, "igraph", 1),
    "NetworKit, pandas": (frame, networkit_way, "networkit", 1),
    "GraphBLAS, pandas": (frame, graphblas_way, "graphblas", 1),
}


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) * 1024


def measure(way: str, edges: int) -> dict[str, Any]:
    """Run one way here; returns its seconds, and bytes of memory at its peak above the data."""
    make, timed, _, share = WAYS[way]
    timed(make(kronecker(SMALL)))  # which compiles
    data = make(kronecker(edges // share))
    gc.collect()
    with Peak(device=True) as peak:
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
        found = timed(data)
    sizes = {"peak": _status("VmHWM") - before, "on_device": peak.device_bytes}
    return found | sizes | {"edges": edges // share}


def main() -> None:
    """Print a table; with --way, the figures of one as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=8_000_000)
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--only", default="", help="ways whose names have this text")
    asked = parser.parse_args()
    if asked.way:
        print(json.dumps(measure(asked.way, asked.edges)))
        return
    print("| way | M edges | convert s | components s | BFS s | all s | peak MiB | GPU MiB | parts, depth |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for way, (_, _, module, _) in WAYS.items():
        if asked.only not in way or importlib.util.find_spec(module) is None:
            continue
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.conversion",
            "--way",
            way,
            "--edges",
            str(asked.edges),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"| {way} | failed: {done.stderr.strip().splitlines()[-1:]} |", flush=True)
            continue
        one = json.loads(done.stdout.splitlines()[-1])
        steps = [one[name] for name in ("convert", "components", "bfs")]
        cells = [f"{each:.2f}" if each is not None else "-" for each in steps]
        whole = sum(each for each in steps if each is not None)
        found = ", ".join(str(each) for each in one["found"])
        print(
            f"| {way} | {one['edges'] / 1e6:.1f} | {' | '.join(cells)} | {whole:.2f} | "
            f"{one['peak'] / 2**20:,.0f} | {one['on_device'] / 2**20:,.0f} | {found} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
