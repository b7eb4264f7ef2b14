"""Tables of what a traversal of one graph takes, on the host and on a GPU; `gravel.kernels.buffers` adds up.

Arrays that a search makes come from the tables of the kernels. What the stage has beside them is here: rows
that are read or decoded, labels on their way to where they are stored, and statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs import buffers as bfs
from gravel.kernels.bfs.buffers import MAX_SEARCHES
from gravel.kernels.buffers import Buffer, Table, exact, total, vertex_type
from gravel.kernels.components import buffers as components
from gravel.kernels.placement.plan import BUFFERS, Plan
from gravel.kernels.relabel_cuda import back_table
from gravel.kernels.sssp import buffers as sssp
from gravel.stages.artifacts import CompressedGraph, Partition
from gravel.stages.ordering.placing import finding, renumbered
from gravel.stages.stage import Extent
from gravel.stages.traversal.parameters import OF_ALL_VERTICES, TraverseParameters

if TYPE_CHECKING:
    from gravel.stages.artifacts import Graph

COMPILED = {
    ("bfs", "columns"): 100 << 20,
    ("bfs", "encoded"): 132 << 20,
    ("shortest_paths", "columns"): 90 << 20,
    ("components", "columns"): 84 << 20,
    ("components", "encoded"): 88 << 20,
    ("strong_components", "columns"): 84 << 20,
    ("strong_components", "encoded"): 88 << 20,
}
"""Measured, by algorithm and form of rows: what Numba takes to compile a strategy's kernels, with the decoder
of a layout, and to be there at all (48 MiB where they are in the cache on disk)."""

COMPILED_BY_WEIGHT = 30 << 20
"""The same of searches of rows in the order of weights."""

COMPILED_ORDERING = 16 << 20
"""The same for statistics of an order."""

WHOLE = ("device", "host")
"""Placements of rows that lie whole where the search runs."""

WEIGHT_BYTES = 4

COUNTED_AT_ONCE = 1 << 22
"""Vertices whose arcs are counted at once on the device, from row offsets and their differences, 64 MiB."""


def width_of(vertices: int) -> int:
    """Return the bytes of a column, and of a permutation's or a component's number."""
    return 4 if vertices < 1 << 32 else 8


def label_bytes(parameters: TraverseParameters, vertices: int) -> int:
    """Return the bytes of a vertex's labels in a result; those of weights are what the widest take."""
    if parameters.output == "checks":
        return 0
    if parameters.algorithm in OF_ALL_VERTICES:
        return width_of(vertices)
    distance = (
        8 if parameters.algorithm == "shortest_paths" else 4 if parameters.output != "predecessor" else 0
    )
    tree = 4 if vertices < 1 << 31 else 8
    return distance + (tree if parameters.output in ("both", "predecessor") else 0)


def batch_of(parameters: TraverseParameters) -> int:
    """Count the searches that a strategy makes room for at once: as many as come, or as its tuning says."""
    if parameters.strategy != "multi_source":
        return 1
    return min(search_count(parameters), int(parameters.tuning.get("batch", MAX_SEARCHES)), MAX_SEARCHES)


def search_count(parameters: TraverseParameters) -> int:
    """Count the searches, one for each source."""
    if parameters.algorithm in OF_ALL_VERTICES:
        return 1
    sources: Any = parameters.sources
    if isinstance(sources, tuple):
        return len(sources)
    if hasattr(sources, "file"):
        return int(sources.count())
    return int(sources.random) if hasattr(sources, "random") else len(sources.vertices)


def stored_searches(parameters: TraverseParameters, vertices: int) -> int:
    """Count the searches whose labels are stored: of drawn sources no more than there are vertices."""
    count = search_count(parameters)
    return min(count, vertices) if hasattr(parameters.sources, "random") else count


def extent_of(stored: Graph | CompressedGraph | Partition) -> Extent:
    """Return how large a stored graph is, as the planner knows it; of a partition that it is one."""
    n, m = stored.vertex_count, stored.arc_count
    split = isinstance(stored, Partition) or (
        isinstance(stored, CompressedGraph) and stored.subgraphs is not None
    )
    size = 8 * (n + 1) + (4 if n < 1 << 32 else 8) * m
    if isinstance(stored, CompressedGraph):
        size = 8 * (n + 1) + len(stored.stream)
    weights = getattr(stored, "weights", None)
    ranks_have = isinstance(stored, Partition) and stored.has_weights
    if weights is not None or ranks_have:
        size += (WEIGHT_BYTES if weights is None else weights.dtype.itemsize) * m
    return Extent(
        kind=type(stored).__name__,
        vertices=n,
        arcs=m,
        bytes=size,
        directed=not stored.symmetric,
        normal_arcs=0 if split else None,
        weighted=weights is not None or ranks_have,
    )


def search_size(
    parameters: TraverseParameters, vertices: int, arcs: int, *, stream: int | None = None
) -> bfs.Size:
    """Return what decides how large the arrays of a search are."""
    tree = 0 if parameters.output == "distance" else 32 if vertices < bfs.NARROW else 33
    logged = bfs.LOGGED_LEVELS if parameters.statistics else 0
    return bfs.Size(
        vertices, arcs, tree, parameters.output != "predecessor", stream, batch_of(parameters), logged
    )


def on_device(parameters: TraverseParameters, graph: Extent, *, encoded: bool) -> Table:
    """Return the table of a search on a GPU, rows included; `encoded` rows are searched as they are."""
    n, m = graph.vertices, graph.arcs
    stream = stream_bytes(graph) if encoded else None
    body = _bytes("body", width_of(n) * m if stream is None else stream)
    # Rows that the GPU decodes lie there encoded first.
    decoded = graph.bytes if graph.kind == "CompressedGraph" and not encoded else 0
    searching = *searched(parameters, graph, stream), *brought(parameters, graph, whole=True)
    table = (
        Buffer("offsets", "i8", n),
        body,
        _bytes("encoded", decoded, phases=("read",)),
        _bytes("search", total(searching), phases=("searched",)),
    )
    if parameters.statistics and graph.kind == "Ordering":
        return *table, _bytes("order", _ordering_bytes(n, m, width_of(n)), phases=("ordered",))
    return table


def searched(parameters: TraverseParameters, graph: Extent, stream: int | None) -> Table:
    """Return the table of a search on a GPU beside its rows; `stream` are the bytes of encoded ones."""
    if parameters.algorithm != "bfs":
        return components.on_device(parameters.strategy, graph.vertices, graph.arcs, stream)
    size = search_size(parameters, graph.vertices, graph.arcs, stream=stream)
    return bfs.on_device(parameters.strategy, size)


def elsewhere(parameters: TraverseParameters, graph: Extent, *, encoded: bool) -> Table:
    """What a search of rows that lie elsewhere takes of a GPU; no first neighbours, kept rows and buffers."""
    n, m = graph.vertices, graph.arcs
    back = brought(parameters, graph, whole=False)
    if parameters.algorithm == "bfs":
        return *bfs.elsewhere(search_size(parameters, n, m)), *back
    checkpoints = stream_bytes(graph) // bfs.CHECKPOINT_BYTES if encoded else 0
    return *components.elsewhere(n, m), Buffer("checkpoints", vertex_type(n), checkpoints), *back


def brought(parameters: TraverseParameters, graph: Extent, *, whole: bool) -> Table:
    """Return the table of bringing the labels of one search to the host, and of counting its levels.

    What is counted stays there where rows are `whole` on the device; else it is there in parts.
    """
    n, renumbered = graph.vertices, is_renumbered(graph)
    if parameters.algorithm in OF_ALL_VERTICES:
        return components.back(vertex_type(n), n) if renumbered else ()
    at_once = min(n, COUNTED_AT_ONCE)
    counted = n if whole else at_once
    tree = parameters.output != "distance"
    counting = (
        Buffer("degrees", "u4", counted),
        Buffer("extra_ends", "i4", counted),
        Buffer("counted_offsets", "i8", at_once + 1),
        Buffer("counted_degrees", "i8", at_once),
    )
    if renumbered:
        distance = parameters.output != "predecessor"
        return *back_table(n, bfs.predecessor_type(n), distance=distance, predecessor=tree), *counting
    # Halves of 64-bit keys, which CuPy gathers before they leave.
    return Buffer("gathered", "i4", n if tree else 0), *counting


def on_host(
    parameters: TraverseParameters, graph: Extent, plan: Plan, *, backend: str, encoded: bool
) -> Table:
    """Return the table of a traversal on the host, with rows that are placed as planned."""
    n, m, cpu, whole = graph.vertices, graph.arcs, backend == "cpu", plan.placement in WHOLE
    compressed, rows = graph.kind == "CompressedGraph", width_of(n) * m
    # Elsewhere than in whole memory all is there at once.
    read, counted, ordered = (("read",), ("counted",), ("ordered",)) if whole else ((), (), ())
    later = *counted, *ordered
    ordering = parameters.statistics and graph.kind == "Ordering" and whole
    kind = "components" if parameters.algorithm in OF_ALL_VERTICES else "bfs"
    table = [
        _host("Numba", COMPILED[kind, "encoded" if encoded else "columns"] + COMPILED_ORDERING * ordering)
    ]
    if compressed:
        body, beside = (stream_bytes(graph), 8 * n) if encoded else (rows, stream_bytes(graph))
        table += [_host("offsets", 8 * n * (1 if cpu or whole else 2))]
        if whole:
            table += [_host("rows", body, phases=() if cpu else read)]
        # The stream is copied, and decoded from there; of encoded rows there are degrees before their sums.
        if encoded or whole or not cpu:
            table += [_host("decoding", beside, phases=read)]
    if not whole:
        # Of buffers that are larger than the rows, the rest is never written to.
        body = stream_bytes(graph) if encoded else rows
        table += [_host("placed", min(plan.host_bytes, BUFFERS * body) if cpu else plan.host_bytes)]
    size = search_size(parameters, n, m)
    labels = bfs.host_labels(size)
    if parameters.algorithm in OF_ALL_VERTICES:
        labels = (Buffer("component", vertex_type(n), n, place="host"),)
    searching: Table = labels
    if cpu and parameters.algorithm == "bfs":
        searching = bfs.on_host(parameters.strategy if whole else "streamed", size)
    # Labels of the search, and on their way to where they are stored.
    table += [_host("search", total((*searching, *labels), "host"), phases=later)]
    if is_renumbered(graph):
        # Offsets in the first numbering, the permutation; where the host brings labels back its inverse, too.
        back = (8 + width_of(n) * (2 if cpu else 1)) * n + (total(labels, "host") if cpu else 0)
        table += [_host("back", back, phases=later)]
    if parameters.statistics:
        # Distances, their order and what sorts it, the last level of each vertex.
        table += [Buffer("levels", "i8", 3 * n, place="host", phases=counted)]
        if plan.placement != "streamed" and not (cpu and not encoded):
            # A GPU's graph comes to the host, and encoded rows are decoded.
            table += [_host("counted_rows", 8 * n + rows, phases=counted)]
    if ordering:
        # The graph in its first numbering, and in its own again.
        table += [_host("orders", 2 * (8 * n + rows), phases=ordered)]
    return tuple(table)


def paths_searched(vertices: int, arcs: int) -> Table:
    """Return the table of a search for shortest paths on a GPU beside its rows, with words of 64 bits."""
    width = width_of(vertices)
    return *sssp.on_device(vertices, arcs, width), *sssp.labels(vertices, width, 8, tree=True)


def paths_on_host(parameters: TraverseParameters, graph: Extent, plan: Plan) -> Table:
    """Return the table of shortest paths on the host; for `streamed`, what there is beside placed rows."""
    n, m, encoded = graph.vertices, graph.arcs, decoded_bytes(graph)
    rows = (width_of(n) + WEIGHT_BYTES) * m
    back = (2 * width_of(n) + 8) * n if graph.kind != "Graph" else 0
    table = [
        _host("Numba", COMPILED["shortest_paths", "columns"]),
        _host("labels", 2 * label_bytes(parameters, n) * n),
        _host("back", back),
        _host("encoded", encoded + (8 * n if encoded else 0)),
    ]
    if plan.placement == "streamed":
        # Weights that are pinned are copied to pages of their own.
        return *table, _host("weights", WEIGHT_BYTES * m)
    if encoded or plan.placement == "pinned":
        table += [_host("rows", rows)]
    if plan.placement == "host":
        table += [_host("search", exact((*sssp.queues(n), *sssp.light_heavy(n))))]
        if not graph.directed and parameters.strategy != "dijkstra":
            # Delta-stepping may search rows in the order of weights from the second source on.
            table += [_host("by_weight", COMPILED_BY_WEIGHT + rows)]
    return tuple(table)


def decoded_bytes(graph: Extent) -> int:
    """Count what there is to decode, which stays until rows are made."""
    return graph.bytes if graph.kind == "CompressedGraph" else 0


def is_renumbered(graph: Extent) -> bool:
    """Return whether a stored graph has a numbering of its own."""
    return graph.kind in ("Ordering", "CompressedGraph", "Partition")


def stream_bytes(graph: Extent) -> int:
    """Return the bytes of the encoded rows of a compressed graph."""
    return max(0, graph.bytes - 8 * graph.vertices)


def _bytes(name: str, size: int, *, phases: tuple[str, ...] = ()) -> Buffer:
    return Buffer(name, "u1", size, phases=phases)


def _host(name: str, size: int, *, phases: tuple[str, ...] = ()) -> Buffer:
    return Buffer(name, "u1", size, place="host", phases=phases)


def _ordering_bytes(vertices: int, arcs: int, width: int) -> int:
    """Count what timing an order takes beside the graph: that in its first numbering, and in its own again.

    Any order may have made the graph; those by communities take most.
    """
    first = 8 * vertices + width * arcs
    # What was given is counted in both.
    found = exact(finding("community", vertices, arcs)) - width * arcs
    applied = exact(renumbered(vertices, arcs)) - width * arcs
    return first + width * vertices + max(found, applied)
