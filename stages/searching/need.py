"""How much memory a traversal takes at its peak, counted from its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stages.searching.strategy import backend_of_search
from stages.stage import Extent, Machine, Need

if TYPE_CHECKING:
    from stages.traverse import TraverseParameters

COMPILED_BFS, COMPILED_COMPONENTS, COMPILED_RANKS = 112 << 20, 68 << 20, 52 << 20
"""Measured: what Numba takes to compile a strategy's kernels, or a partition's; 30 MiB where they are in the
cache on disk."""

SEARCH_BYTES_PER_ARC = 60
"""Peak of a level of `kernels.partition.rank_search` for each arc that leaves the rank's normal vertices: its
ends, their order, and both sorted."""

LABEL_BYTES_PER_ARC = 26
"""Peak of `kernels.partition.components` for each arc between normal vertices: its ends and a label."""

LOOK_UP_BYTES_PER_ARC = 56
"""The same for looking labels up along such an arc, which a directed graph takes beside: distinct ends."""

MOST_SEARCHES = 64
"""Of one batch of `kernels.bfs.multi_source`, each with its labels."""

STATISTICS_BYTES = 24
"""Per vertex of `stages.searching.counts`: distances, their order and its workspace, latest levels."""


def estimate(
    parameters: TraverseParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State host and device bytes, and the extents of the labels and the measurement."""
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = 4 if n < 1 << 32 else 8
    tree = 4 if n < 1 << 31 else 8
    csr = 8 * n + width * m
    bfs = parameters.algorithm == "bfs"
    labels = _label_bytes(parameters, width, tree) * n
    renumbered = graph.kind in ("Ordering", "CompressedGraph", "Partition")
    backend = backend_of_search(parameters, machine)
    # The permutation, its inverse, and the labels under their old names.
    relabelling = (2 * width * n + labels) if renumbered else 0
    split = graph.kind == "Partition" or graph.normal_arcs is not None
    # A GPU keeps those; the host has the permutation, and offsets in the first numbering.
    back = 0
    if renumbered:
        back = 8 * n + (relabelling if backend == "cpu" or split else width * n)
    count = _search_count(parameters)
    outputs = (
        Extent(
            kind="Traversal",
            vertices=n,
            arcs=m,
            bytes=labels * count,
            searches=count if bfs else 0,
            directed=graph.directed,
        ),
        Extent(kind="Measurement", bytes=0),
    )
    if split:
        return Need(_over_ranks(graph, bfs) + 2 * labels + back, 0, outputs)
    compiled = COMPILED_BFS if bfs else COMPILED_COMPONENTS
    decoding = graph.bytes if graph.kind == "CompressedGraph" else 0
    # First neighbours, the queue, its arc sums of which a frontier fills part, three bitmaps.
    workspace = (2 * width + 4) * n if bfs else 0
    if parameters.strategy == "multi_source":
        workspace += (min(count, MOST_SEARCHES) - 1) * labels
    # The latest level of each vertex and the order of the reached ones; a GPU's graph comes to the host.
    counting = (STATISTICS_BYTES * n + (csr if backend == "cuda" else 0)) if parameters.statistics else 0
    # The graph in its first numbering, in its own again, and the keys that this sorts.
    ordering = 2 * csr + 16 * m if parameters.statistics and graph.kind == "Ordering" else 0
    if backend == "cuda":
        # First two neighbours, queue entries of 256 arcs and their vertices, keys, bitmaps; on the host a
        # sink holds one search's labels while it packs them.
        search = labels + (2 * width + 8 + width + 8 + 1) * n if bfs else labels
        # An edge queue of vertices and predecessors, or the graph in another order.
        search = max(search + 2 * width * m + 8 * n if bfs else search, ordering)
        if parameters.strategy == "multi_source":
            search += (min(count, MOST_SEARCHES) - 1) * labels
        device = csr + decoding + search + relabelling
        after = 2 * labels + back + max(counting, 2 * csr if ordering else 0)
        return Need(compiled + max(csr + decoding, 8 * n + after), device, outputs)
    return Need(
        compiled + csr + max(decoding, workspace + 2 * labels + back + max(counting, ordering)), 0, outputs
    )


def _over_ranks(graph: Extent, bfs: bool) -> int:
    """Count subgraphs, offsets of the whole graph, int64 values for each vertex, and what arcs carry."""
    arcs = graph.arcs if graph.normal_arcs is None else graph.normal_arcs
    if bfs:
        carried = SEARCH_BYTES_PER_ARC * arcs
    else:
        carried = (LABEL_BYTES_PER_ARC + (LOOK_UP_BYTES_PER_ARC if graph.directed else 0)) * arcs
    return COMPILED_RANKS + graph.bytes + (8 + 40) * graph.vertices + carried


def _label_bytes(parameters: TraverseParameters, width: int, tree: int) -> int:
    if parameters.algorithm == "components":
        return width
    return (4 if parameters.output != "predecessor" else 0) + (tree if parameters.output != "distance" else 0)


def _search_count(parameters: TraverseParameters) -> int:
    if parameters.algorithm == "components":
        return 1
    sources = parameters.sources
    if isinstance(sources, tuple):
        return len(sources)
    return sources.random if hasattr(sources, "random") else len(sources.vertices)
