"""reorder: number the vertices anew, so that what is searched together lies together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from stages.advice import BYTES_PER_VERTEX, SAMPLE_BYTES, OrderAdviceParameters, recorded, told
from stages.artifacts import Graph, Ordering
from stages.errors import StageError
from stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from kernels.advice import Advice
    from kernels.order import OrderStatistics
    from stages.context import Context

ROWS_AT_ONCE = 1 << 21
ARCS_AT_ONCE = 1 << 22
"""New rows are made in ranges of at most so many rows and arcs, or of one row that is longer."""

WORKING_BYTES = 120 << 20
"""Measured: Numba with its compiled code 70 MB, a range of rows on its way in or out 40 MB, chunks 10 MB."""

DEVICE_BYTES_PER_ARC = 16
"""Peak of `kernels.order.cuda.apply` beside both graphs: a 64-bit key, sorted out of place."""

DEVICE_ARCS_AT_ONCE = 1 << 29
"""Arcs that `kernels.order.cuda.apply` sorts at once."""

DEVICE_BYTES_PER_ROW = 40

COMMUNITY_BYTES_PER_ROW = 80
COMMUNITY_WORDS_PER_ARC = 6
"""Of the community orders: the graph, one with reverses added, and the first graph of clusters, at most as
large and with as many weights, in blocks and joined."""


class ReorderParameters(Parameters):
    """Which order."""

    method: Literal[
        "original",
        "random",
        "degree",
        "hub_sort",
        "hub_cluster",
        "degree_groups",
        "rcm",
        "rcm_by_degree",
        "community",
        "community_rcm",
        "auto",
    ] = "original"
    """`original` keeps the numbering; `random` shuffles it; `degree` puts high degrees first, `hub_sort`
    those above the mean alone, `hub_cluster` the same without sorting them; `degree_groups` makes eight
    groups of falling degree; `rcm` is reverse Cuthill-McKee, which gives neighbours near numbers, and
    `rcm_by_degree` its levels by degree alone; `community` keeps communities together at every scale and
    makes gaps small, `community_rcm` orders small communities by `rcm` each; `auto` chooses from samples
    and says why."""

    advice: OrderAdviceParameters | None = Field(default=None, validate_default=True)
    """What `auto` chooses for; the other orders leave it out."""

    seed: int = Field(default=0, ge=0)
    """Of `random`; the other orders do not use it."""

    @field_validator("advice")
    @classmethod
    def _only_for_auto(cls, advice: OrderAdviceParameters | None, info: ValidationInfo) -> Any:
        """Fill it in where it is read, and forget it where it would only make equal recipes differ."""
        return (advice or OrderAdviceParameters()) if info.data.get("method") == "auto" else None


def reorder(context: Context, parameters: ReorderParameters, *, input: Graph) -> Ordering:  # noqa: A002
    """Renumber a graph and measure what that does to its lists.

    `rcm` of a directed graph is that of the graph with every arc's reverse added. The arrays of the graph
    are held whole, those of the result in ranges of rows. Statistics are `bandwidth` (largest |u - v|),
    `mean_gap` (mean |u - v| over arcs) and `bits_per_arc` (under delta-varint). Of `auto`, the result names
    the order that was chosen, and the statistics have the `advice` besides.

    Raises `StageError` for row offsets and columns that do not fit each other.
    """
    import numpy

    from kernels.jit import set_threads
    from kernels.order import OrderStatistics, statistics

    set_threads(context.machine.threads)
    offsets = numpy.asarray(input.row_offsets)
    if len(offsets) != input.vertex_count + 1 or int(offsets[-1]) != len(input.column_indices):
        raise StageError(
            f"the graph has {len(offsets)} row offsets and {len(input.column_indices)} columns; "
            f"{input.vertex_count + 1} offsets that end at the number of columns were expected"
        )
    advice = _advised(context, parameters, input, offsets)
    if advice is not None:
        parameters = parameters.model_copy(update={"method": advice.choice})
    permutation = _permutation(context, parameters, input, offsets)
    row_offsets = context.sink(numpy.int64)
    column_indices = context.sink(input.column_indices.dtype)
    measured = OrderStatistics()
    row_offsets.append(offsets[:1])
    for first, part, columns in _renumbered(context, parameters.method, input, offsets, permutation):
        row_offsets.append(part[1:])
        column_indices.append(columns)
        measured = measured.joined(statistics(part, columns, first))
        context.progress(int(part[-1]), input.arc_count, "arcs")
    return Ordering(
        row_offsets=row_offsets.close(),
        column_indices=column_indices.close(),
        vertex_count=input.vertex_count,
        arc_count=input.arc_count,
        symmetric=input.symmetric,
        deduplicated=input.deduplicated,
        loop_count=input.loop_count,
        permutation=_stored(context, permutation),
        method=parameters.method,
        statistics=_described(measured) | recorded(advice),
    )


def _advised(
    context: Context, parameters: ReorderParameters, graph: Graph, offsets: NDArray[numpy.int64]
) -> Advice | None:
    if parameters.advice is None:
        return None
    import numpy

    from kernels.advice import advise_order

    advice = advise_order(
        offsets,
        numpy.asarray(graph.column_indices),
        parameters.advice.workload(),
        symmetric=graph.symmetric,
        layouts=parameters.advice.layouts(),
    )
    context.log(told("order", advice))
    return advice


def _described(measured: OrderStatistics) -> dict[str, float]:
    return {
        "bandwidth": measured.bandwidth,
        "mean_gap": measured.mean_gap,
        "bits_per_arc": measured.bits_per_arc,
    }


def _stored(context: Context, permutation: NDArray[Any]) -> Any:
    sink = context.sink(permutation.dtype)
    sink.append(permutation)
    return sink.close()


def _permutation(
    context: Context, parameters: ReorderParameters, graph: Graph, offsets: NDArray[numpy.int64]
) -> NDArray[Any]:
    import numpy

    from kernels.order import METHODS, permutation

    if parameters.method == "degree" and _uses_device(context.machine, graph.vertex_count, graph.arc_count):
        import cupy

        return numpy.asarray(cupy.asnumpy(permutation("degree", cupy.asarray(offsets), None)))
    if not METHODS[parameters.method].reads_columns:
        return numpy.asarray(permutation(parameters.method, offsets, None, seed=parameters.seed))
    if graph.symmetric:
        return numpy.asarray(permutation(parameters.method, offsets, numpy.asarray(graph.column_indices)))
    context.log(f"the graph is directed: {parameters.method} is computed with the reverse of every arc added")
    rows = _with_reverses(graph, offsets)
    return numpy.asarray(permutation(parameters.method, rows.row_offsets, rows.column_indices))


def _with_reverses(graph: Graph, offsets: NDArray[numpy.int64]) -> Any:
    """Build the rows of a directed graph and its reverse together, from parts of its rows."""
    import numpy

    from kernels.csr import degrees
    from kernels.csr.rows import RowBuilder
    from kernels.index import index_dtype

    dtype = index_dtype(graph.vertex_count)

    def arcs() -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        for first, last in _row_ranges(offsets):
            lengths = numpy.diff(offsets[first : last + 1])
            source = numpy.repeat(numpy.arange(first, last, dtype=dtype), lengths)
            yield source, numpy.asarray(graph.column_indices[int(offsets[first]) : int(offsets[last])])

    counts = numpy.zeros(graph.vertex_count + 2, numpy.int64)
    for source, target in arcs():
        degrees(source, target, graph.vertex_count, direction="both", out=counts[2:])
    builder = RowBuilder(counts, dtype, direction="both", keep_loops=False)
    for source, target in arcs():
        builder.add(source, target)
    return builder.finish(vertex_count=graph.vertex_count)


def _row_ranges(offsets: NDArray[numpy.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of at most ROWS_AT_ONCE rows and ARCS_AT_ONCE arcs, or one longer row."""
    import numpy

    first, rows = 0, len(offsets) - 1
    while first < rows:
        fitting = int(numpy.searchsorted(offsets, offsets[first] + ARCS_AT_ONCE, side="right")) - 1
        last = min(max(fitting, first + 1), first + ROWS_AT_ONCE, rows)
        yield first, last
        first = last


def _renumbered(
    context: Context,
    method: str,
    graph: Graph,
    offsets: NDArray[numpy.int64],
    permutation: NDArray[Any],
) -> Iterator[tuple[int, NDArray[numpy.int64], NDArray[Any]]]:
    """Yield ranges of new rows: the first vertex, row offsets (one more than rows) and columns."""
    import numpy

    if method == "original":
        for first, last in _row_ranges(offsets):
            part = offsets[first : last + 1]
            yield first, part, numpy.asarray(graph.column_indices[int(part[0]) : int(part[-1])])
        return
    if _uses_device(context.machine, graph.vertex_count, graph.arc_count):
        yield from _on_device(graph, offsets, permutation)
        return
    from kernels.order.renumber import Renumbering

    renumbering = Renumbering(offsets, numpy.asarray(graph.column_indices), permutation)
    new = renumbering.row_offsets
    for first, last in _row_ranges(new):
        yield first, new[first : last + 1], renumbering.rows(first, last)


def _on_device(
    graph: Graph, offsets: NDArray[numpy.int64], permutation: NDArray[Any]
) -> Iterator[tuple[int, NDArray[numpy.int64], NDArray[Any]]]:
    import cupy
    import numpy

    from kernels.order import apply

    columns = cupy.empty(graph.arc_count, graph.column_indices.dtype)
    for low in range(0, graph.arc_count, ARCS_AT_ONCE):
        part = numpy.asarray(graph.column_indices[low : low + ARCS_AT_ONCE])
        columns[low : low + len(part)].set(part)
    moved = apply(cupy.asarray(offsets), columns, cupy.asarray(permutation))
    del columns
    new = cupy.asnumpy(moved[0])
    for first, last in _row_ranges(new):
        yield first, new[first : last + 1], cupy.asnumpy(moved[1][int(new[first]) : int(new[last])])


def _device_bytes(vertices: int, arcs: int) -> int:
    width = 4 if vertices < 1 << 32 else 8
    sorting = DEVICE_BYTES_PER_ARC * min(arcs, DEVICE_ARCS_AT_ONCE)
    return DEVICE_BYTES_PER_ROW * vertices + 2 * width * arcs + sorting


def _uses_device(machine: Machine, vertices: int, arcs: int) -> bool:
    return machine.backend == "cuda" and _device_bytes(vertices, arcs) <= machine.device_memory


def _estimate(
    parameters: ReorderParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the graph, both offsets and both permutations; for a directed rcm its rows with reverses."""
    graph = inputs["input"][0]
    n, m = graph.vertices, graph.arcs
    width = 4 if n < 1 << 32 else 8
    on_device = _uses_device(machine, n, m)
    if parameters.method == "original":
        host, on_device = (8 + width) * n, False
    else:
        host = (16 + 2 * width) * n + (0 if on_device else width * m)
    if parameters.method in ("rcm", "rcm_by_degree", "auto"):
        ordering = (8 + 2 * width + 1) * n + width * m
        if graph.directed:
            ordering = (16 + 2 * width + 1) * n + 2 * width * m
        host = max(host, ordering)
    if parameters.method in ("community", "community_rcm"):
        host = max(host, COMMUNITY_BYTES_PER_ROW * n + COMMUNITY_WORDS_PER_ARC * width * m)
    if parameters.method == "auto":
        host = max(host, (8 + BYTES_PER_VERTEX) * n + width * m) + SAMPLE_BYTES
    return Need(
        host_bytes=WORKING_BYTES + host,
        device_bytes=_device_bytes(n, m) if on_device else 0,
        outputs=(
            Extent(
                kind="Ordering",
                vertices=n,
                arcs=m,
                bytes=8 * (n + 1) + width * (n + m),
                directed=graph.directed,
            ),
        ),
    )


STAGE = Stage(
    name="reorder",
    version=1,
    about="Numbers the vertices anew: original, random, by degree, or reverse Cuthill-McKee.",
    parameters=ReorderParameters,
    inputs={"input": Slot(kinds=("Graph",), about="the graph to renumber")},
    outputs=("Ordering",),
    run=reorder,
    estimate=_estimate,
    cuda=True,
)
