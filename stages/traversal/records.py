"""Records of a traversal in its measurement: the graph, what was executed, and what was reached.

A measurement carries this itself, so that a report needs neither the order nor the rows, which may be too
large to be kept.

With statistics, the record of a search also has `expanded` (arcs gathered in all), `redundant_expansion`
(that over the arcs of the reached vertices), `levels["expanded"]`, and in the first search
`levels["distinct"]` (the vertices of each level's edge frontier without duplicates). Where the host starts
kernels for levels there are `launches`, their number, and `launch_threads`, the `least` and `most` threads of
one and the `sum` of all. Where rows lie in host memory and a GPU searches there is `link_bytes`, what came
over the link.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.kernels.strategy import Ran, strategies_in
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.traversal.buffers import COUNTED_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult, Search
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters


def prepared(stored: Graph | CompressedGraph | Partition) -> dict[str, Any]:
    """Return `order`, `rows` and `partition`, each with the statistics of its artifact, if there is one.

    `order` has `method`, `rows` has `codec`, `partition` has `ranks` and `threshold`.
    """
    found: dict[str, Any] = {}
    if isinstance(stored, Ordering):
        found["order"] = {"method": stored.method, **stored.statistics}
    if isinstance(stored, CompressedGraph):
        statistics = dict(stored.statistics)
        order = statistics.pop("order", None)
        if order is not None:
            found["order"] = order
        found["rows"] = {"codec": stored.codec, **statistics}
    if isinstance(stored, Partition):
        found["partition"] = {"ranks": stored.ranks, "threshold": stored.threshold, **stored.statistics}
    return found


def asked_of(parameters: TraverseParameters) -> dict[str, Any]:
    """Return what distinguishes one way of searching a graph from another, for reports."""
    named = {"strategy", "tuning", "backend", "threads", "output"}
    limits = parameters.model_fields_set & {"device_memory", "host_memory", "sources_over"}
    if parameters.transport != "auto":
        named.add("transport")
    if parameters.direction != "out":
        named.add("direction")
    if parameters.paper is not None:
        named |= {"paper"} | ({"sources"} if parameters.algorithm == "bfs" else set())
    return parameters.model_dump(include=named | limits)


def placement_record(graph: SearchedGraph) -> dict[str, Any]:
    """Return the placement for a measurement, unless rows lay in host memory for a search on the CPU."""
    if graph.placed is None and graph.backend == "cpu":
        return {}
    return {"placement": "device" if graph.placed is None else graph.placement}


def encoded_record(graph: SearchedGraph) -> dict[str, Any]:
    """Return the layout of rows that were searched as they are, and their bytes, for a measurement."""
    if graph.partition is not None and graph.compressed is not None:
        from gravel.kernels.partition.encoded import encoded_bytes

        size = sum(encoded_bytes(part) for part in graph.partition.parts)
        return {"layout": graph.compressed.codec, "row_bytes": size}
    return {} if graph.rows is None else {"layout": graph.rows.layout, "row_bytes": graph.rows.nbytes}


def executed(search: Any, backend: str) -> dict[str, Any]:
    """Return `function`, `backend` and `options` of a prepared search, as `Measurement.ran` has them.

    A search that no strategy made, such as one over ranks, is named by its class.
    """
    ran: Ran | None = getattr(search, "ran", None)
    if ran is None:
        kind = type(search)
        ran = Ran(f"{kind.__module__}:{kind.__qualname__}", {})
    return ran_record(ran, backend)


def machine_name(machine: Machine, backend: str, threads: int | None = None) -> str:
    """Name the processor that was measured; `threads` is the most CPU threads that were asked for."""
    if backend == "cuda":
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)
    from pathlib import Path

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    count = min(threads or machine.threads, machine.threads)
    return f"{models[0] if models else 'CPU'}, {count} thread{'s' if count > 1 else ''}"


def ran_record(ran: Ran, backend: str) -> dict[str, Any]:
    """Return the record of what ran."""
    return {"function": ran.function, "backend": backend, "options": _plain(ran.options)}


def with_options(search: Any, options: Any, ranks_are: str) -> Any:
    """Say which options a search over ranks reads; returns the search."""
    kind = type(search)
    search.ran = Ran(f"{kind.__module__}:{kind.__qualname__}", options_read(options, ranks_are))
    return search


RANKS_ARE = {
    "cpu": "between CPUs",
    "peer": "between GPUs that read each other's memory",
    "nccl": "over NCCL",
}
"""What ranks can be, as a sentence says where something has no effect."""


def ranks_are(backend: str, transport: str, *, grouped: bool) -> str:
    """Return one of `RANKS_ARE`; nothing where GPUs of a group choose their transport themselves."""
    if backend != "cuda":
        return "cpu"
    return ("" if grouped else "peer") if transport == "auto" else transport


def options_read(options: Any, ranks_are: str) -> dict[str, Any]:
    """Return the options of a search over ranks that have an effect there."""
    unread = {*options.UNREAD.get(ranks_are, ()), *_factors_unread(options)}
    return {name: value for name, value in asdict(options).items() if name not in unread}


def _factors_unread(options: Any) -> list[str]:
    forward = getattr(options, "direction_optimized", True) is False
    return [name for name in vars(options) if forward and name.endswith(("_backward", "_forward"))]


def unread_notes(options: Any, given: Mapping[str, Any], ranks_are: str) -> list[str]:
    """Say which options that are given have no effect, and where."""
    there = RANKS_ARE.get(ranks_are, "here"), options.UNREAD.get(ranks_are, ())
    several = (there, ("by a search that is forward alone", _factors_unread(options)))
    found = [(where, [name for name in given if name in names]) for where, names in several]
    return [f"not used {where}: {', '.join(names)}" for where, names in found if names]


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave what JSON has; a constant of another kind becomes text."""
    plain: dict[str, Any] = {}
    for name, value in options.items():
        if is_dataclass(value) and not isinstance(value, type):
            plain[name] = asdict(value)
        elif value is None or isinstance(value, bool | int | float | str):
            plain[name] = value
        else:
            plain[name] = value.item() if hasattr(value, "item") else str(value)
    return plain


def work_record(result: BFSResult) -> dict[str, Any]:
    """Return what GPUs read out of host memory, at what rate, and the kernels that the host started."""
    found: dict[str, Any] = {}
    if result.link_bytes is not None:
        rate = result.link_bytes / result.milliseconds / 1e6 if result.milliseconds else 0.0
        found |= {"link_bytes": result.link_bytes, "link_gigabytes_per_second": rate}
    if sizes := result.launches:
        threads = {"least": min(sizes), "most": max(sizes), "sum": sum(sizes)}
        found |= {"launches": len(sizes), "launch_threads": threads}
    return found


def reached(
    graph: SearchedGraph,
    source: int,
    result: BFSResult,
    distance: NDArray[Any] | None,
    predecessor: NDArray[Any] | None,
) -> dict[str, Any]:
    """Count what a search reached; source and labels are in `symmetrize`'s numbering."""
    import numpy

    from gravel.kernels.arrays import backend_of

    if distance is None:
        from gravel.kernels.level_statistics import distances_of_tree

        distance = numpy.empty(graph.vertex_count, numpy.int32)
        distances_of_tree(predecessor, source, distance)
    if backend_of(distance) == "cuda":
        vertices, arcs, summed = _sums_on_device(graph, distance)
    else:
        from gravel.kernels.level_statistics import level_sums

        depth = int(distance.max())
        vertices, arcs = numpy.zeros(depth + 1, numpy.int64), numpy.zeros(depth + 1, numpy.int64)
        extra = numpy.empty(0, numpy.int32) if graph.extra_ends is None else on_host(graph.extra_ends)
        summed = level_sums(distance, numpy.asarray(graph.first_offsets), extra, vertices, arcs)
    return levels_record(graph, result, vertices, arcs, int(summed))


def levels_record(
    graph: SearchedGraph, result: BFSResult, vertices: NDArray[Any], arcs: NDArray[Any], extra_ends: int
) -> dict[str, Any]:
    """Return what a search reached, of the counts of its levels."""
    pulled = [level for level, way in enumerate(result.directions[: len(vertices)]) if way == "pull"]
    total = int(arcs.sum())
    edges = (total + extra_ends) // 2 if graph.symmetric else total
    return {
        "reached": int(vertices.sum()),
        "arcs": total,
        "edges": edges,
        "depth": len(vertices) - 1,
        "levels": {
            "vertices": vertices.tolist(),
            "arcs": arcs.tolist(),
            "pulled": pulled,
        },
    }


def _sums_on_device(graph: SearchedGraph, distance: Any) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Sum levels there; where rows do not fit, neither may what is counted of all vertices."""
    import numpy

    from gravel.kernels.level_statistics_cuda import level_sums

    if graph.placed is None:
        vertices, arcs, summed = level_sums(distance, *graph.counts_on_device)
        return vertices, arcs, summed
    parts = []
    for first in range(0, graph.vertex_count, COUNTED_AT_ONCE):
        last = min(first + COUNTED_AT_ONCE, graph.vertex_count)
        parts.append(level_sums(distance[first:last], *graph.counts_of(first, last)))
    levels = max(len(vertices) for vertices, _, _ in parts)
    sums = numpy.zeros((2, levels), numpy.int64)
    for vertices, arcs, _ in parts:
        sums[:, : len(vertices)] += vertices, arcs
    return sums[0], sums[1], sum(summed for _, _, summed in parts)


def add_statistics(
    graph: SearchedGraph,
    search: Search,
    starts: Sequence[int],
    records: Sequence[dict[str, Any]],
    max_depth: int | None,
) -> list[str]:
    """Search once more from every source and add what a counting search tells; returns notes.

    `search` was prepared with statistics. Where it counts, each record gets `expanded`,
    `redundant_expansion` and `levels["expanded"]`; that of the first search gets `levels["distinct"]`, the
    vertices that its edge frontiers hold, each once.
    """
    strategy = strategies_in("gravel.kernels.bfs")[search.strategy]
    counting = graph.backend in strategy.counts
    for place, (start, record) in enumerate(zip(starts, records, strict=True)):
        if place and not counting:
            break
        result = search.run(start)
        if place == 0:
            record["levels"]["distinct"] = _distinct(graph, start, result)
        if result.expanded is not None:
            followed = sum(record["levels"]["arcs"][:max_depth])
            record["expanded"] = sum(result.expanded)
            record["redundant_expansion"] = record["expanded"] / followed if followed else None
            record["levels"]["expanded"] = list(result.expanded)
    if counting:
        return []
    return [f"{search.strategy} does not count the arcs that it gathers on {graph.backend}"]


def _distinct(graph: SearchedGraph, start: int, result: BFSResult) -> list[int]:
    """Count the vertices that are in each level's edge frontier, without duplicates."""
    import numpy

    from gravel.kernels.level_statistics import distances_of_tree, distinct_neighbours

    distance = on_host(result.distance)
    if distance is None:
        distance = numpy.empty(graph.vertex_count, numpy.int32)
        distances_of_tree(on_host(result.predecessor), start, distance)
    distance = numpy.ascontiguousarray(distance)
    counts = numpy.zeros(int(distance.max()) + 1, numpy.int64)
    order = numpy.argsort(distance, kind="stable")[int((distance < 0).sum()) :]
    offsets, columns = on_host(graph.row_offsets), graph.columns_on_host()
    distinct_neighbours(order, distance, offsets, columns, counts)
    return counts.tolist()


def order_times(graph: SearchedGraph) -> dict[str, float]:
    """Time how long the order of a graph takes to find and to apply, on arrays in memory, in milliseconds.

    A `reorder` stage reads and writes stored arrays too, and may have run on another machine. The graph of
    the first numbering is made from the one that was searched; one run compiles and is not timed. An order
    without a CUDA implementation is found on the host, the way there included. Not timed are a graph in no
    order of its own, an order of a directed graph that takes the reverse of every arc beside, and rows that
    do not lie whole in the memory of the backend.
    """
    import numpy

    from gravel.kernels.cuda.room import give_free_blocks_back
    from gravel.kernels.order import METHODS, apply, permutation

    if graph.order not in METHODS or graph.permutation is None or graph.columns is None:
        return {}
    if graph.placed is not None:
        return {}
    if graph.order == "original":
        return {"order_find_milliseconds": 0.0, "order_milliseconds": 0.0}
    if METHODS[graph.order].symmetric and not graph.symmetric:
        return {}
    inverse = numpy.empty_like(graph.permutation)
    inverse[graph.permutation] = numpy.arange(len(inverse), dtype=inverse.dtype)
    given: tuple[Any, Any] = apply(graph.row_offsets, graph.columns, _placed(graph, inverse))
    if graph.backend == "cuda":
        give_free_blocks_back()
    times: dict[str, float] = {}
    for _ in range(2):
        started = _now(graph)
        found = permutation(graph.order, *given)
        between = _now(graph)
        apply(*given, found)
        find, renumber = (between - started) * 1e3, (_now(graph) - between) * 1e3
        times = {"order_find_milliseconds": find, "order_milliseconds": find + renumber}
    return times


def _placed(graph: SearchedGraph, values: Any) -> Any:
    if graph.backend == "cpu":
        return values
    import cupy

    return cupy.asarray(values)


def _now(graph: SearchedGraph) -> float:
    """Read the clock when the device has nothing left to do."""
    if graph.backend == "cuda":
        import cupy

        cupy.cuda.Device().synchronize()
    return time.perf_counter()
