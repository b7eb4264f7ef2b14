"""paths: shortest paths between pairs of vertices, searched from both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ByteSize, Discriminator, Field, Tag

from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.context import Context, written
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.traversal.parameters import AS_WRITTEN, MAX_ID, FileId
from gravel.stages.turning import (
    Direction,
    backward_rows,
    direction_faults,
    direction_in,
    not_turned,
    turned_extent,
    turned_on_host,
    with_turning,
)
from gravel.stages.weights import unusable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.point_to_point import interface
    from gravel.stages.artifacts import Paths
    from gravel.stages.traversal.graph import SearchedGraph

COMPILED = 70 << 20
"""Measured: what Numba takes to compile the search, and to be there at all."""

HOST_BYTES = 90
"""Of each vertex, of a pair that a thread of the CPU searches: words, rounds and marks of two, and queues."""

ANSWERED = 1 << 12
"""Pairs after which progress is reported."""

USUAL_PATH = 64
"""Vertices of a path that are stated, which nobody knows before."""

Vertex = Annotated[int, Field(ge=0, le=MAX_ID)]


class RandomPairs(Parameters):
    """Pairs drawn among the vertices that have arcs, the same for every order and layout."""

    random: int = Field(ge=1)
    """Number of pairs."""
    seed: int = Field(default=1, ge=0)
    """The seed of the draw."""


class VertexPairs(Parameters):
    """Pairs as internal indices, in the order of `symmetrize`."""

    vertices: tuple[tuple[Vertex, Vertex], ...] = Field(min_length=1)
    """The ranks of the file ids of both ends, counted from 0."""


def _form(pairs: object) -> str:
    if isinstance(pairs, VertexPairs) or (isinstance(pairs, Mapping) and "vertices" in pairs):
        return "indices"
    return "drawn" if isinstance(pairs, RandomPairs | Mapping) else "ids"


FilePairs = Annotated[tuple[Annotated[tuple[FileId, FileId], AS_WRITTEN], ...], Field(min_length=1)]


class PathsParameters(Parameters):
    """Parameters: the pairs of vertices, and the length of paths."""

    pairs: Annotated[
        Annotated[RandomPairs, Tag("drawn")]
        | Annotated[VertexPairs, Tag("indices")]
        | Annotated[FilePairs, Tag("ids")],
        Discriminator(_form),
    ]
    """`[[from, to], ...]` in ids as the input file writes them, `{random: k, seed: s}`, or
    `{vertices: [[from, to], ...]}` in the order of `symmetrize`. A pair listed twice has two paths."""
    by: Literal["auto", "arcs", "weights"] = "auto"
    """What makes a path long: how many `arcs` it has, or their `weights`. `auto` takes weights if there are
    any."""
    output: Literal["both", "distance"] = "both"
    """`both` keeps the vertices of each path, `distance` its length alone."""
    direction: Direction = "out"
    """Let paths in a directed graph follow arcs (`out`), go against them (`in`), or both. Of arcs both ways
    between two vertices, the smallest weight counts. Not for encoded rows."""
    memory: ByteSize | None = Field(default=None, gt=0)
    """The most memory that searches may take beside the graph; by default all that is there."""


def paths(
    context: Context,
    parameters: PathsParameters,
    *,
    input: Graph | CompressedGraph,  # noqa: A002
) -> Paths:
    """Search from both ends of each pair, many pairs side by side.

    A thread of the CPU, or a block of the GPU, searches one pair at a time in about 60 to 90 bytes a vertex.
    Lengths by arcs or by integers are int64, and -1 without a path. Lengths by float32 weights are float64,
    the sums from both ends, and inf without a path. Of several shortest paths the same one is found on every
    device. An order or another layout may find another one.

    Raises `StageError` for a vertex that does not exist, for `by: weights` of a graph without weights, and
    for weights that are negative or NaN. It refuses memory that is too small for one pair, with the numbers.
    """
    import numpy

    from gravel.kernels.threads import set_threads
    from gravel.stages.artifacts import Paths
    from gravel.stages.rows.decoding import unpacked_weights
    from gravel.stages.traversal.search import read_graph

    if isinstance(input, CompressedGraph) and input.subgraphs is not None:
        raise StageError(SPLIT, hint="give it the graph that was partitioned")
    by, direction = parameters.by, direction_in(input, parameters.direction)
    refused = not_turned(type(input).__name__, direction)
    if refused is not None:
        raise StageError(refused[0], hint=refused[1])
    if by == "auto":
        by = "arcs" if input.weights is None else "weights"
    if by == "weights" and input.weights is None:
        raise StageError(NO_WEIGHTS, hint=NO_WEIGHTS_HINT)
    set_threads(context.machine.threads)
    searched = input if by == "weights" else replace(input, weights=None)
    if isinstance(searched, Graph):
        searched = turned_on_host(searched, direction)
    graph = read_graph(searched, context.machine)
    sources, targets = _ends(parameters, graph)
    weights = unpacked_weights(searched.weights)
    room = parameters.memory or _free(graph, weights, context.machine)
    queries = prepare_pairs(graph, weights, room, direction)
    found = find_between(
        graph,
        queries,
        sources,
        targets,
        path=parameters.output == "both",
        progress=lambda done, total: context.progress(done, total, "pairs"),
    )
    rate = 1e3 * len(sources) / max(found.milliseconds, 1e-3)
    context.log(f"{len(sources):,} pairs by {by}, {rate:,.0f} a second, {queries.at_once} at a time")
    kept: dict[str, Any] = {"source": sources, "target": targets, "distance": found.length}
    if found.vertices is not None:
        kept |= {"offsets": found.offsets, "vertex": found.vertices}
    return Paths(
        **{name: written(context, numpy.asarray(array)) for name, array in kept.items()},
        by=by,
        vertex_count=graph.vertex_count,
        direction=direction,
    )


SPLIT = "paths takes a whole graph, and this one was partitioned"
NO_WEIGHTS = "the graph has no weights, which paths by weights need"
NO_WEIGHTS_HINT = "symmetrize with `weights: minimum`, `sum` or `error`, or leave `by` out to count arcs"


def _ends(parameters: PathsParameters, graph: SearchedGraph) -> tuple[NDArray[Any], NDArray[Any]]:
    import numpy

    from gravel.stages.traversal.preparation import check_sources

    asked = parameters.pairs
    if isinstance(asked, RandomPairs):
        offsets = graph.first_offsets
        candidates = numpy.flatnonzero(offsets[1:] != offsets[:-1])
        if not len(candidates):
            raise StageError("no vertex has arcs, so there is nothing to draw pairs from")
        generator = numpy.random.Generator(numpy.random.PCG64(asked.seed))
        drawn = candidates[generator.integers(0, len(candidates), (2, asked.random))]
        return drawn[0], drawn[1]
    if not isinstance(asked, VertexPairs):
        raise StageError(
            "the pairs are file ids, and no ids of an input file are known here",
            hint="name internal indices instead: pairs: {vertices: [[...], ...]}",
        )
    flat = check_sources([v for pair in asked.vertices for v in pair], graph.vertex_count)
    return flat[::2], flat[1::2]


def _free(graph: SearchedGraph, weights: Any | None, machine: Machine) -> int:
    there = machine.device_memory if graph.backend == "cuda" else machine.host_memory - COMPILED
    rows = graph.row_offsets.nbytes + graph.columns.nbytes + (0 if weights is None else weights.nbytes)
    return int(there - rows * (1 if graph.symmetric else 2))


def _estimate(
    parameters: PathsParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State rows of predecessors of a directed graph, and as many pairs as fit or are of use."""
    read = inputs["input"][0]
    if parameters.by == "arcs":
        read = replace(read, weighted=False)
    graph = turned_extent(read, parameters.direction)
    n, m, count = graph.vertices, graph.arcs, _count(parameters)
    width = 4 if n < 1 << 32 else 8
    rows = 8 * n + (width + (4 if graph.weighted else 0)) * m
    reverse = rows if graph.directed else 0
    # The tails of arcs, and with weights the order of the heads as it is found.
    sorting = (width + (8 if graph.weighted else 0)) * m if graph.directed else 0
    answers = 8 * count * (3 + (1 + USUAL_PATH if parameters.output == "both" else 0))
    refusal = ""
    if graph.normal_arcs is not None:
        refusal = f"{SPLIT}; give it the graph that was partitioned"
    elif parameters.by == "weights" and not graph.weighted:
        refusal = f"{NO_WEIGHTS}; {NO_WEIGHTS_HINT}"
    on_gpu = machine.backend == "cuda"
    each = pair_bytes(n, m, machine.backend)
    there = machine.device_memory if on_gpu else machine.host_memory
    free = int(parameters.memory or max(0, there - rows - reverse))
    searches = max(each, min(free, each * (count if on_gpu else min(count, machine.threads))))
    if parameters.memory is not None and each > parameters.memory:
        refusal = f"the search of a pair takes {each:,} bytes, and `memory` is {int(parameters.memory):,}"
    back = 0 if graph.kind == "Graph" else (8 + 2 * width) * n
    decoded = graph.bytes + rows if graph.kind == "CompressedGraph" else 0
    host = COMPILED + decoded + reverse + 2 * answers + back
    need = Need(
        host_bytes=host + max(sorting, 0 if on_gpu else searches),
        device_bytes=rows + reverse + searches if on_gpu else 0,
        outputs=(Extent(kind="Paths", vertices=n, bytes=answers),),
        refusal=refusal,
    )
    return with_turning(need, read, parameters.direction, compiled=COMPILED)


def _count(parameters: PathsParameters) -> int:
    asked = parameters.pairs
    if isinstance(asked, RandomPairs):
        return asked.random
    return len(asked.vertices if isinstance(asked, VertexPairs) else asked)


def _source_ids(parameters: PathsParameters) -> tuple[int | str, ...]:
    asked = parameters.pairs
    return tuple(each for pair in asked for each in pair) if isinstance(asked, tuple) else ()


def _with_vertices(parameters: PathsParameters, vertices: Sequence[int]) -> PathsParameters:
    ends = [int(vertex) for vertex in vertices]
    internal = VertexPairs(vertices=tuple(zip(ends[::2], ends[1::2], strict=True)))
    return parameters.model_copy(update={"pairs": internal})


def pair_bytes(vertices: int, arcs: int, backend: str) -> int:
    """Count what each pair takes that is searched side by side with others, with the widest words."""
    if backend != "cuda":
        return HOST_BYTES * vertices
    from gravel.kernels.point_to_point.cuda import bytes_of_pair

    return bytes_of_pair(vertices, arcs, 4 if vertices < 1 << 32 else 8, 8)


def prepare_pairs(
    graph: SearchedGraph, weights: Any | None, room: int, direction: str = "out"
) -> interface.PairQueries:
    """Make a graph ready, with the weights of its arcs or None to count arcs.

    `room` is the bytes that pairs may take, on the device or the host. `direction` is that in which the graph
    was turned, for errors. Raises `StageError` where not one fits, for rows that are not whole in memory, and
    for weights that are negative or NaN.
    """
    import numpy

    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.point_to_point import prepare

    if graph.placed is not None:
        raise StageError(
            f"paths need rows that lie whole in memory, and they are {graph.placement}",
            hint="give the run more memory, or search with backend: cpu",
        )
    each = pair_bytes(graph.vertex_count, graph.arc_count, graph.backend)
    at_once = room // max(1, each)
    if at_once < 1:
        raise StageError(
            f"the search of a pair takes {each:,} bytes, and {max(0, room):,} are free",
            hint="allow more memory, or use a machine that has it",
        )
    rows: tuple[Any, Any, Any] = graph.row_offsets, graph.columns, weights
    there = on_device if graph.backend == "cuda" else numpy.asarray
    reverse = None if graph.symmetric else backward_rows(*rows)
    if weights is not None:
        rows = (*rows[:2], there(weights))
    try:
        return prepare(*rows, reverse=reverse, at_once=at_once)
    except ValueError as error:
        raise unusable(error, graph.permutation, direction) from None


def find_between(
    graph: SearchedGraph,
    queries: interface.PairQueries,
    sources: Any,
    targets: Any,
    *,
    path: bool,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> interface.Paths:
    """Search between pairs; vertices of paths come back in the numbering that the pairs have."""
    import numpy

    from gravel.kernels.point_to_point import interface
    from gravel.kernels.relabel import invert

    ends = numpy.asarray(sources, numpy.int64), numpy.asarray(targets, numpy.int64)
    if graph.permutation is not None:
        ends = graph.permutation[ends[0]].astype(numpy.int64), graph.permutation[ends[1]].astype(numpy.int64)
    found: list[Any] = []
    for low in range(0, max(1, len(ends[0])), ANSWERED):
        found.append(queries.run(*(each[low : low + ANSWERED] for each in ends), path=path))
        progress(min(low + ANSWERED, len(ends[0])), len(ends[0]))
    length = numpy.concatenate([part.length for part in found])
    milliseconds = sum(part.milliseconds for part in found)
    if not path:
        return interface.Paths(length, None, None, milliseconds)
    sizes = numpy.concatenate([[0], *(numpy.diff(part.offsets) for part in found)])
    vertices = numpy.concatenate([part.vertices for part in found])
    if graph.permutation is not None:
        inverse = numpy.empty_like(graph.permutation)
        invert(graph.permutation, inverse)
        vertices = inverse[vertices].astype(numpy.int64)
    return interface.Paths(length, numpy.cumsum(sizes), vertices, milliseconds)


STAGE = Stage(
    name="paths",
    version=2,
    about="Finds shortest paths between pairs of vertices, by arcs or by weights, searched from both ends.",
    parameters=PathsParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering", "CompressedGraph"), about="the graph")},
    outputs=("Paths",),
    run=paths,
    estimate=_estimate,
    cuda=True,
    source_ids=_source_ids,
    with_vertices=_with_vertices,
    hidden=frozenset({"memory"}),
    kind_faults=direction_faults,
)
