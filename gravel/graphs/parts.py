"""Parts of a graph as its methods: edges, neighbours, subgraphs and cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from gravel.graphs.measured import MeasuredGraph, one_at_a_time
from gravel.progress import shown
from gravel.stages.turning import Direction

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import NDArray

    from gravel.graphs.rows import PlacedRows
    from gravel.results.labels import Labels

FEWER = "Choose fewer vertices, or use a workflow with the stage subgraph"


class GraphParts(MeasuredGraph):
    """The parts of a `gravel.Graph`."""

    _with: Callable[..., Self]

    @one_at_a_time
    @shown("subgraph")
    def subgraph(self, ids: Any) -> Self:
        """Return the graph of some vertices and of all edges between them, with their weights.

        Parameters
        ----------
        ids : of the vertices, in any order: a list, a set, an array or a column. One that is listed twice
            counts once.

        Vertices keep their ids and their order, and the direction of arcs stays. Rows are columns in the
        order of the ids, whatever the graph has; they are taken on the GPU where they are there. Raises
        KeyError, with the nearest ids, for one that is no vertex; TypeError for an id of another kind;
        ValueError for none; and `NotEnoughMemory`.
        """
        import numpy

        return self._induced(numpy.unique(self._ids.find_all(ids)))

    @one_at_a_time
    @shown("core")
    def core(self, k: int) -> Self:
        """Return the k-core: the largest subgraph in which every vertex has k neighbours or more.

        Found on the CPU. Self-loops and duplicate edges do not count. Raises ValueError for a directed graph,
        for a `k` below 0, and for a core without vertices, with the largest k that has some.
        """
        from gravel.errors import checked_number
        from gravel.graphs.stage_calls import called
        from gravel.kernels import subgraph_buffers as buffers
        from gravel.kernels.buffers import exact
        from gravel.memory import refuse
        from gravel.stages.subgraph import core_vertices

        k, rows = checked_number("k", k, whole=True), self._rows
        needed = exact(buffers.cores(len(rows))) + 8 * rows.stored.arc_count
        refuse(f"a core of {len(rows):,} vertices", needed, rows.machine, rows.host_memory, FEWER)
        return self._induced(called(core_vertices, rows.stored, k))

    @one_at_a_time
    def neighbors(self, vertex: Any, direction: Direction = "out") -> pyarrow.Array:
        """Return the ids of a vertex's neighbours, as an Arrow array in the order of `vertices`.

        In a directed graph, `direction` takes the ends of its arcs ("out"), the vertices whose arcs lead to
        it ("in"), or both, each once; the first call for other than "out" turns all rows round. Raises as
        `bfs` does.
        """
        from gravel.graphs.adjacency import neighbours_of

        return self._ids.take(neighbours_of(self._rows.in_direction(direction), self._ids.vertex(vertex)))

    @one_at_a_time
    def degree(self, vertex: Any, direction: Direction = "out") -> int:
        """Count the edges of a vertex; a self-loop counts once. `direction` and errors as of `neighbors`."""
        from gravel.graphs.adjacency import degree_of

        return degree_of(self._rows.in_direction(direction), self._ids.vertex(vertex))

    @one_at_a_time
    def degrees(self, direction: Direction = "out") -> Labels:
        """Count the edges of every vertex, int64 (vertices,); as `degree`."""
        from gravel.graphs.adjacency import degrees_of
        from gravel.results.labels import Labels

        found = degrees_of(self._rows.in_direction(direction))
        return Labels("degree", found, self._ids, vertices=False)

    @one_at_a_time
    def has_edge(self, source: Any, target: Any) -> bool:
        """Say whether an edge leads from a vertex to another; raises as `bfs` for one that is no vertex."""
        from gravel.graphs.adjacency import neighbours_of

        row = neighbours_of(self._rows, self._ids.vertex(source))
        return bool((row == self._ids.vertex(target)).any())

    @one_at_a_time
    @shown("edges")
    def edges(self) -> pyarrow.Table:
        """Return all edges as an Arrow table: `source`, `target` and, if there are any, `weight`.

        Edges of an undirected graph are there once, and their source is first in `vertices`. Rows ascend by
        source and target. Raises TypeError for ids that Arrow has no type for, and `NotEnoughMemory`.
        """
        from gravel.graphs.adjacency import edge_table

        return edge_table(self._rows, self._ids)

    @one_at_a_time
    @shown("to_networkx")
    def to_networkx(self) -> Any:
        """Return a Graph or DiGraph of NetworkX, whose nodes are the ids; weights are the attribute `weight`.

        Duplicate edges that were kept make it a multigraph. Raises ImportError without NetworkX.
        """
        from gravel.graphs.adjacency import networkx_graph

        return networkx_graph(self._rows, self._ids)

    @one_at_a_time
    @shown("to_scipy")
    def to_scipy(self) -> Any:
        """Return the adjacency matrix, a `csr_array` of SciPy in the order of `vertices`.

        Values are the weights, or 1, as float64; an undirected graph has both arcs of an edge. Raises
        ImportError without SciPy.
        """
        from gravel.graphs.adjacency import scipy_matrix

        return scipy_matrix(self._rows)

    @one_at_a_time
    @shown("to_igraph")
    def to_igraph(self) -> Any:
        """Return a Graph of igraph: ids are the vertices' `name`, weights the edges' `weight`.

        Raises ImportError without igraph.
        """
        from gravel.graphs.adjacency import igraph_graph

        return igraph_graph(self._rows, self._ids)

    @one_at_a_time
    def _induced(self, chosen: NDArray[Any]) -> Self:
        """Return the subgraph of vertices that ascend, placed as those of the graph are.

        Raises ValueError where no vertex is chosen, and `NotEnoughMemory`.
        """
        from dataclasses import replace

        from gravel.graphs.stage_calls import InMemory, called
        from gravel.kernels import subgraph_buffers as buffers
        from gravel.kernels.buffers import exact, vertex_type
        from gravel.memory import refuse
        from gravel.stages.subgraph import induced_graph

        rows, stored, machine = self._rows, self._rows.stored, self._rows.machine
        sizes = len(rows), len(chosen), _arcs_at_most(rows, chosen), vertex_type(len(rows))
        needed = exact(buffers.on_host(*sizes, weighted=stored.weights is not None))
        refuse(f"a subgraph of {len(chosen):,} vertices", needed, machine, rows.host_memory, FEWER)
        if rows.placement not in ("auto", "device"):
            machine = replace(machine, backend="cpu")
        graph, _ = called(induced_graph, InMemory(machine), stored, chosen)
        return self._with(rows.replaced(graph), self._ids.subset(chosen))


def _arcs_at_most(rows: PlacedRows, chosen: NDArray[Any]) -> int:
    """Count the arcs of chosen vertices, or all where rows are encoded."""
    from gravel.kernels.arrays import on_host

    stored = rows.stored
    if hasattr(stored, "stream") or 4 * len(chosen) > len(rows):
        return int(stored.arc_count)
    at = chosen if rows.permutation is None else rows.permutation[chosen]
    begins, ends = (on_host(stored.row_offsets[at + more]) for more in (0, 1))
    return int((ends - begins).sum()) if len(chosen) else 0
