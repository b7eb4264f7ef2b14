"""Records of a traversal in its measurement: the graph, what was executed, reached, and done by ranks.

A measurement carries this itself, so that a report needs neither the order nor the rows, which may be too
large to be kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gravel.kernels.arrays import on_host
from gravel.kernels.strategy import Ran, strategies_in
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.traversal.encoded import columns_on_host
from gravel.stages.traversal.placing import COUNTED_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult, Search
    from gravel.kernels.partition.cuda import Level
    from gravel.kernels.partition.program import RankLabels
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


def ran_record(ran: Ran, backend: str) -> dict[str, Any]:
    """Return the record of what ran."""
    return {"function": ran.function, "backend": backend, "options": _plain(ran.options)}


def with_options(search: Any, options: Any) -> Any:
    """Say which options a search over ranks is made with; returns the search."""
    kind = type(search)
    search.ran = Ran(f"{kind.__module__}:{kind.__qualname__}", asdict(options))
    return search


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
        summed = level_sums(distance, graph.first_offsets, extra, vertices, arcs)
    pulled = [level for level, way in enumerate(result.directions[: len(vertices)]) if way == "pull"]
    total = int(arcs.sum())
    edges = (total + int(summed)) // 2 if graph.symmetric else total
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
    offsets, columns = on_host(graph.row_offsets), columns_on_host(graph)
    distinct_neighbours(order, distance, offsets, columns, counts)
    return counts.tolist()


class OrderTimes(NamedTuple):
    """Milliseconds of finding an order and of applying it, or None twice where it was not timed."""

    find: float | None = None
    apply: float | None = None

    @property
    def total(self) -> float | None:
        """The sum of both."""
        return None if self.find is None or self.apply is None else self.find + self.apply


def order_times(graph: SearchedGraph) -> OrderTimes:
    """Time how long the order of a graph takes to find and to apply, on arrays in memory.

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
        return OrderTimes()
    if graph.placed is not None:
        return OrderTimes()
    if graph.order == "original":
        return OrderTimes(0.0, 0.0)
    if METHODS[graph.order].symmetric and not graph.symmetric:
        return OrderTimes()
    inverse = numpy.empty_like(graph.permutation)
    inverse[graph.permutation] = numpy.arange(len(inverse), dtype=inverse.dtype)
    given: tuple[Any, Any] = apply(graph.row_offsets, graph.columns, _placed(graph, inverse))
    if graph.backend == "cuda":
        give_free_blocks_back()
    times = OrderTimes()
    for _ in range(2):
        started = _now(graph)
        found = permutation(graph.order, *given)
        between = _now(graph)
        apply(*given, found)
        times = OrderTimes((between - started) * 1e3, (_now(graph) - between) * 1e3)
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


def levels_by_rank(search: Any) -> dict[str, Any]:
    """Describe the last search's levels as its ranks tell them, under `ranks`; {} for other searches.

    Lists over levels: `visit`, `reduce` and `exchange`, the slowest rank's milliseconds, `local_exchange` and
    `remote_exchange` of that within and between groups; `mask_bytes` and `vertex_bytes`, sent by all,
    `local_vertex_bytes` of them within groups; `normal`, the frontier's normal vertices, and `delegates`;
    `backward`, the subgraphs that any rank visited backward. `answer_bytes` were sent for predecessors;
    `link_bytes`, where columns were placed, were read out of host memory by each rank. Of stripes it is
    `stripes`, as `levels_by_stripe` has them.
    """
    labels: Sequence[Any] = getattr(search, "labels", ())
    if not labels:
        return {}
    if search.strategy == "striped":
        return {"stripes": levels_by_stripe(labels)}
    levels = list(zip(*(rank.levels for rank in labels), strict=True))
    lists: dict[str, Any] = {
        name: [max(getattr(record, f"{name}_milliseconds") for record in level) for level in levels]
        for name in ("visit", "reduce", "exchange", "local_exchange", "remote_exchange")
    }
    for name in ("mask_bytes", "vertex_bytes", "local_vertex_bytes", "normal"):
        lists[name] = [sum(getattr(record, name) for record in level) for level in levels]
    lists["delegates"] = [level[0].delegates for level in levels]
    lists["backward"] = [sorted({way for record in level for way in record.backward}) for level in levels]
    lists["answer_bytes"] = sum(rank.answer_bytes for rank in labels)
    if any(rank.link_bytes is not None for rank in labels):
        lists["link_bytes"] = [rank.link_bytes for rank in labels]
    return {"ranks": lists}


def levels_by_stripe(labels: Sequence[Any]) -> dict[str, Any]:
    """Describe a search's levels as its ranks tell them.

    Lists over levels: `expand`, `barrier`, `exchange` and `contract`, the slowest rank's milliseconds;
    `frontier`, `arcs` (expanded), `duplicates` and `masked` (dropped by the history and by the bitmask),
    `vertices` (sent to other ranks) and `bytes` (of those), of all ranks together. `between[r][s]` counts the
    vertices that rank r had for rank s in the whole search; those for itself are not sent. `computation` and
    `communication` are by rank the milliseconds in which it worked, and waited for others. A GPU reads its
    peers' bins while it contracts, so `exchange` is 0 there, and all its ranks have its times.
    """
    ranks = len(labels)
    levels = list(zip(*(rank.levels for rank in labels), strict=True))
    lists: dict[str, Any] = {
        name: [max(getattr(record, f"{name}_milliseconds") for record in level) for level in levels]
        for name in ("expand", "barrier", "exchange", "contract")
    }
    for name in ("frontier", "arcs", "duplicates", "masked"):
        lists[name] = [sum(getattr(record, name) for record in level) for level in levels]
    lists["vertices"] = [
        sum(sum(record.sent) - record.sent[rank] for rank, record in enumerate(level)) for level in levels
    ]
    lists["bytes"] = [sum(record.sent_bytes for record in level) for level in levels]
    lists["between"] = [
        [sum(record.sent[to] for record in rank.levels) for to in range(ranks)] for rank in labels
    ]
    lists["computation"] = [
        sum(record.expand_milliseconds + record.contract_milliseconds for record in rank.levels)
        for rank in labels
    ]
    lists["communication"] = [
        sum(record.barrier_milliseconds + record.exchange_milliseconds for record in rank.levels)
        for rank in labels
    ]
    return lists


def labels_on_gpu(search: Any, found: BFSResult) -> Sequence[Any]:
    """Return the labels of each rank of a search on this GPU, as a rank of a rank group does."""
    if not hasattr(search, "masks_read"):
        labels: Sequence[Any] = search.labels
        return labels
    return tuple(
        _rank_labels(levels, found, search.masks_read(place)) for place, levels in enumerate(search.levels)
    )


def _rank_labels(levels: Sequence[Level], found: BFSResult, mask_bytes: int) -> RankLabels:
    """Make of the levels of all ranks of a GPU what one rank of a rank group returns."""
    import numpy

    from gravel.kernels.partition.program import LevelRecord, RankLabels

    records = []
    for level in levels:
        backward = tuple(sorted({name for rank in level.backward for name in rank}))
        waits = level.wait + level.relay + level.commit_wait
        parts = level.visit / 1e3, (level.reduce + level.commit) / 1e3, waits / 1e3
        sent = mask_bytes, 4 * level.arrived
        records.append(LevelRecord(level.normal, level.delegates, backward, *parts, *sent, level.relay / 1e3))
    # Deeper levels than the GPU logs.
    for way in found.directions[len(records) :]:
        records.append(LevelRecord(0, 0, ("",) if way == "pull" else (), 0, 0, 0, mask_bytes, 0))
    # Labels themselves come with the result.
    return RankLabels(numpy.empty(0, numpy.int32), None, found.milliseconds, 0, tuple(records))
