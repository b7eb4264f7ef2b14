"""subgraph: chosen vertices of a graph, and the arcs between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.kernels import subgraph_buffers as buffers
from gravel.kernels.buffers import Buffer, during, exact, table, total, vertex_type
from gravel.stages.artifacts import CompressedGraph, Graph, Subset, Traversal
from gravel.stages.errors import StageError
from gravel.stages.rows.ranges import refusal
from gravel.stages.sizes import published
from gravel.stages.stage import Extent, Machine, Need, Slot, Stage
from gravel.stages.subgraph_parameters import (
    SubgraphParameters,
    files,
    ids_file,
    kind_faults,
    of_traversal,
    source_ids,
    with_vertices,
)
from gravel.stages.traversal.parameters import ListedSources, VertexSources

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context

COMPILED, COMPILED_SORT = 64 << 20, 34 << 20
"""Measured: what Numba takes to compile the kernels of one layout, and to be there at all; and what it takes
beside to compile the sort of rows in another order."""

SPLIT = "a subgraph is taken out of a whole graph, and this one was partitioned"
SPLIT_HINT = "give it the graph that was partitioned"


def subgraph(
    context: Context,
    parameters: SubgraphParameters,
    *,
    input: Graph | CompressedGraph,  # noqa: A002
    within: Traversal | None = None,
) -> tuple[Graph, Subset]:
    """Take the subgraph of chosen vertices: all of the graph's arcs between them, with their weights.

    Vertices keep the order of the graph, whatever its order and layout. Rows are read as they are stored, and
    only those of chosen vertices. On a GPU that has room for graph and result, they are read there. The
    second output has the chosen vertices. Exports, reports and sources of later stages have the ids of the
    input file, as those of the whole graph do. A subgraph may have no arcs, and be the input of another one.

    Distances and components come from a traversal of the same graph, such as `within: bfs, hops: 3`.

    Raises `StageError` for a vertex that is not in the graph, and where none is chosen. For a core without
    vertices it says the largest `k` that has some. A traversal must be of the same graph, and have distances
    or components. Partitions are refused.
    """
    from gravel.kernels.threads import set_threads

    set_threads(context.machine.threads)
    if getattr(input, "subgraphs", None) is not None:
        raise StageError(SPLIT, hint=SPLIT_HINT)
    if parameters.core is not None:
        chosen = core_vertices(input, parameters.core)
    elif parameters.vertices is not None:
        chosen = _listed(parameters.vertices, input.vertex_count)
    elif within is None:
        raise StageError(f"{of_traversal(parameters)} needs `within`: a traversal of the graph")
    else:
        chosen = _found(parameters, within, input.vertex_count)
    graph, subset = induced_graph(context, input, chosen)
    kept = f"{graph.vertex_count:,} of {input.vertex_count:,} vertices"
    context.log(f"{kept}, and {graph.arc_count:,} of {input.arc_count:,} arcs")
    return graph, subset


def induced_graph(
    context: Context, stored: Graph | CompressedGraph, chosen: NDArray[Any]
) -> tuple[Graph, Subset]:
    """Take the subgraph of vertices that ascend; raises `StageError` where there are none, or for bad rows.

    Arrays stay on the GPU where they are made there, if the context keeps such.
    """
    from gravel.kernels.arrays import backend_of, index_dtype, on_host
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.subgraph import induced
    from gravel.stages.rows.decoding import unpacked_weights
    from gravel.stages.rows.encoded import rows_of

    if not len(chosen):
        raise StageError("no vertex is chosen, and a subgraph needs one", hint="choose other vertices")
    if not stored.sorted:
        raise StageError("the graph's lists are not sorted", hint="symmetrize sorts them")
    permutation = getattr(stored, "permutation", None)
    sizes = stored.vertex_count, len(chosen), stored.arc_count, vertex_type(stored.vertex_count)
    weighted, permuted = stored.weights is not None, permutation is not None
    needed = total(buffers.on_device(*sizes, weighted=weighted, permuted=permuted))
    machine, on_gpu = context.machine, context.machine.backend == "cuda"
    if on_gpu and (needed > machine.device_memory or len(chosen) >= 1 << 32):
        context.log(f"on the CPU: {refusal('a subgraph', needed, machine.device_memory)}")
        on_gpu = False
    there: Any = on_device if on_gpu else on_host
    weights = unpacked_weights(stored.weights)
    try:
        rows = rows_of(stored)
        found = induced(
            replace(rows, arrays={name: there(array) for name, array in rows.arrays.items()}),
            chosen,
            permutation=None if permutation is None else on_host(permutation),
            weights=None if weights is None else there(weights),
        )
    except ValueError as error:
        raise StageError(str(error), hint="the graph is damaged; make it again") from None

    def put(array: Any) -> Any:
        if array is None or (backend_of(array) == "cuda" and context.keeps_device_arrays):
            return array
        sink = context.sink(array.dtype, rows=len(array))
        sink.append(on_host(array), given=True)
        return sink.close()

    graph = Graph(
        row_offsets=put(found.row_offsets),
        column_indices=put(found.column_indices),
        vertex_count=len(chosen),
        arc_count=len(found.column_indices),
        symmetric=stored.symmetric,
        deduplicated=stored.deduplicated,
        loop_count=found.loop_count,
        weights=put(found.weights),
    )
    vertices = put(chosen.astype(index_dtype(stored.vertex_count), copy=False))
    return graph, Subset(vertices=vertices, vertex_count=len(chosen), parent_vertex_count=stored.vertex_count)


def core_vertices(stored: Graph | CompressedGraph, k: int) -> NDArray[Any]:
    """List the vertices of the k-core of an undirected graph, ascending; on the CPU.

    Raises `StageError` for a directed graph, and for a core without vertices, with the largest k that has
    some.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.cores import core_numbers, simple_rows
    from gravel.stages.rows.decoding import decompress

    if not stored.symmetric:
        raise StageError(
            "cores are of undirected graphs, and this one is directed",
            hint="make its edges lead both ways first (symmetrize: `direction: both`)",
        )
    plain: Any = decompress(stored) if isinstance(stored, CompressedGraph) else stored
    offsets, columns = on_host(plain.row_offsets), on_host(plain.column_indices)
    if stored.loop_count or not stored.deduplicated:
        offsets, columns = simple_rows(offsets, columns)
    core = core_numbers(offsets, columns)
    permutation = getattr(stored, "permutation", None)
    if permutation is not None:
        core = core[on_host(permutation)]
    found = numpy.flatnonzero(core >= k)
    if len(core) and not len(found):
        largest = int(core.max())
        raise StageError(
            f"there is no {k}-core; the largest k with one is {largest}", hint=f"ask for k {largest} or less"
        )
    return found


def _listed(vertices: Any, count: int) -> NDArray[Any]:
    import numpy

    if not isinstance(vertices, VertexSources):
        raise StageError(
            "the vertices are file ids, and no ids of an input file are known here",
            hint="name internal indices instead: vertices: {vertices: [...]}",
        )
    found: NDArray[Any] = numpy.unique(numpy.array(vertices.vertices, numpy.int64))
    if found[-1] >= count:
        raise StageError(
            f"there is no vertex {found[-1]}; the graph has {count:,} vertices, counted from 0",
            hint="name vertices that are in the graph",
        )
    return found


def _found(parameters: SubgraphParameters, traversal: Traversal, count: int) -> NDArray[Any]:
    import numpy

    asked = of_traversal(parameters)
    algorithms = {
        "hops": ("bfs",),
        "distance": ("shortest_paths",),
        "component": ("components", "strong_components"),
    }
    fitting = algorithms[str(asked)]
    if traversal.algorithm not in fitting:
        raise StageError(
            f"{asked} is for a traversal by {' or '.join(fitting)}, and `within` is one by "
            f"{traversal.algorithm}"
        )
    if traversal.vertex_count != count:
        raise StageError(
            f"the traversal is of {traversal.vertex_count:,} vertices, and the graph has {count:,}",
            hint="name a traversal of this graph",
        )
    if asked == "component" and traversal.component is not None:
        labels = numpy.asarray(traversal.component)
        return numpy.flatnonzero(labels == numpy.bincount(labels.astype(numpy.int64), minlength=1).argmax())
    if asked == "component" or traversal.distance is None:
        raise StageError(
            f"the traversal kept no {'labels' if asked == 'component' else 'distances'}",
            hint="traverse with `output: distance` or `both`",
        )
    limit = parameters.hops if parameters.distance is None else parameters.distance
    near = numpy.zeros(count, bool)
    for row in range(len(traversal.distance)):
        distance = numpy.asarray(traversal.distance[row])
        near |= (distance >= 0) & (distance <= limit)
    return numpy.flatnonzero(near)


def _chosen_at_most(parameters: SubgraphParameters, vertices: int) -> int:
    asked = parameters.vertices
    if asked is None:
        return vertices
    if isinstance(asked, ListedSources):
        return min(vertices, asked.count())
    return min(vertices, len(asked.vertices if isinstance(asked, VertexSources) else asked))


def _estimate(
    parameters: SubgraphParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State all arcs: how many there are between chosen vertices nobody knows before."""
    graph = inputs["input"][0]
    n, m, k = graph.vertices, graph.arcs, _chosen_at_most(parameters, graph.vertices)
    vertex, weighted = vertex_type(n), graph.weighted
    encoded, permuted = graph.kind == "CompressedGraph", graph.kind in ("Ordering", "CompressedGraph")
    rows = buffers.on_host(n, k, m, vertex, weighted=weighted)
    _, _, _, *result, ends = rows
    bytes_made, vertices = exact((*result, ends)), Buffer("vertices", vertex, k)
    host = [
        *table("host", Numba=("u1", COMPILED)),
        *during((*rows, *published(*result, ends, vertices)), "induced"),
        *table("host", "induced", sort=("u1", COMPILED_SORT * permuted)),
    ]
    if encoded:
        # The stream is padded, and weights are widened beside the first arc of each row.
        lengths, stream = ("u4", m * weighted), max(0, graph.bytes - 8 * n - 4 * m * weighted)
        host += table("host", "induced", stream=("u1", stream), starts=("i8", n * weighted), lengths=lengths)
    if parameters.core is not None:
        decoded = table("host", "core", offsets=("i8", n * encoded), columns=(vertex, m * encoded))
        host += (*during(buffers.cores(n), "core"), *decoded)
    on_gpu = machine.backend == "cuda"
    needed = total(buffers.on_device(n, k, m, vertex, weighted=weighted, permuted=permuted))
    fits = on_gpu and needed <= machine.device_memory
    made = Extent(
        kind="Graph", vertices=k, arcs=m, bytes=bytes_made, directed=graph.directed, weighted=weighted
    )
    return Need(
        host_bytes=total(host, "host"),
        device_bytes=needed if fits else 0,
        outputs=(made, Extent(kind="Subset", vertices=k, bytes=vertices.nbytes)),
        note=f"on the CPU: {refusal('a subgraph', needed, machine.device_memory)}" if on_gpu > fits else "",
        refusal=f"{SPLIT}; {SPLIT_HINT}" if graph.normal_arcs is not None else "",
    )


STAGE = Stage(
    name="subgraph",
    version=1,
    about="Takes chosen vertices and the arcs between them: listed ones, a core, a component, those nearby.",
    parameters=SubgraphParameters,
    inputs={
        "input": Slot(kinds=("Graph", "Ordering", "CompressedGraph"), about="the graph"),
        "within": Slot(
            kinds=("Traversal",),
            about="a traversal of the graph, for `hops`, `distance` or `component`",
            optional=True,
        ),
    },
    outputs=("Graph", "Subset"),
    run=subgraph,
    estimate=_estimate,
    cuda=True,
    source_ids=source_ids,
    ids_file=ids_file,
    files=files,
    with_vertices=with_vertices,
    kind_faults=kind_faults,
)
