"""partition: a graph split over ranks, by degree separation or in stripes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from gravel.kernels.buffers import during, exact, table, total
from gravel.kernels.partition.distributor.buffers import Size, dividing_on_cpu, result
from gravel.stages.artifacts import Graph, Ordering, Partition
from gravel.stages.partitioning import on_device
from gravel.stages.partitioning.ranges import RANGE_ARCS, RANGE_ROWS
from gravel.stages.presets import filled
from gravel.stages.rows.ranges import refusal
from gravel.stages.sizes import published
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition import PartitionedGraph
    from gravel.stages.context import Context
    from gravel.stages.partitioning.on_host import OnHost

COMPILED_DELEGATES, COMPILED_STRIPES = 70 << 20, 56 << 20
"""Measured: what Numba takes to compile the distributor, and to be there at all."""

RANKS_AT_ONCE = 16
"""Ranks whose subgraphs are written in one pass over the graph: each has twelve arrays open."""

STRIPES_AT_ONCE = 64
"""Stripes that are written in one pass: each has two arrays open."""

WEIGHTED = "the graph has weights, and a partition carries none"
WEIGHTED_HINT = (
    "leave `weights` of symmetrize out for what is partitioned; algorithm shortest_paths takes the graph of "
    "symmetrize, reorder or compress, or the ranks that distribute makes of files with weights"
)


class PartitionParameters(Parameters):
    """Parameters: the number of ranks, and the vertices that every rank knows."""

    paper: str | None = None
    """Use the settings of a paper of docs/strategies.md. Other parameters must not contradict them."""
    ranks: int = Field(default=1, ge=1, le=65536)
    """Ranks (one GPU or worker each) that share the graph."""
    threshold: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Vertices with more out-neighbours than this are delegates; `auto` takes the one that a cost model finds
    fastest, which a report lists among its suggestions."""
    hosts: int | None = Field(default=None, ge=1, le=65536)
    """Number of machines with equally many ranks, for the cost model; by default as few as hold eight ranks
    each."""
    scheme: Literal["delegates", "striped"] = "delegates"
    """`delegates`: every rank knows the vertices of highest degree (Pan, Pearce, Owens 2018, section III).
    `striped`: rank v mod ranks has vertex v with its row (Merrill, Garland, Grimshaw 2012, section 6)."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_paper(cls, given: Any) -> Any:
        return filled("partition", given)

    @model_validator(mode="after")
    def _fit_together(self) -> PartitionParameters:
        if self.scheme == "striped" and self.threshold != "auto":
            raise ValueError("a threshold makes delegates, and scheme striped has none")
        if self.hosts is not None and self.ranks % self.hosts:
            raise ValueError(f"{self.ranks} ranks do not make {self.hosts} equal hosts")
        return self


def partition(context: Context, parameters: PartitionParameters, *, input: Graph) -> Partition:  # noqa: A002
    """Distribute the arcs of a graph over ranks: on the GPU, or on the CPU over all workers.

    The GPU holds graph and result at once if they fit, else a range of rows and its result. If even this does
    not fit, the CPU divides the graph. Host memory then holds the delegates, an index of them (3/16 of a byte
    for each vertex), and a few ranges. Stripes have no delegates, and their `threshold` is the largest
    degree.

    Raises `StageError` for a graph with weights, and if a rank's vertices do not fit 32-bit local ids.
    """
    from gravel.kernels.cuda.room import is_out_of_memory
    from gravel.kernels.partition.layout import check_ranks
    from gravel.kernels.threads import set_threads
    from gravel.stages.errors import StageError
    from gravel.stages.partitioning.on_host import OnHost

    if input.weights is not None:
        raise StageError(WEIGHTED, hint=WEIGHTED_HINT)
    set_threads(context.machine.threads)
    try:
        check_ranks(input.vertex_count, parameters.ranks)
    except ValueError as error:
        raise StageError(str(error)) from None
    side = _side(context, parameters, input)
    try:
        return _divided(context, parameters, input, side)
    except Exception as error:
        if isinstance(side, OnHost) or not is_out_of_memory(error):
            raise
        context.log(f"the CPU divides the graph: {error}")
    return _divided(context, parameters, input, OnHost(context, input, side.ranks_at_once))


def _divided(
    context: Context, parameters: PartitionParameters, graph: Graph, side: on_device.OnDevice | OnHost
) -> Partition:
    from dataclasses import asdict

    import numpy

    from gravel.kernels.partition import storage_of
    from gravel.kernels.partition.threshold import choose_threshold

    ranks, threshold = parameters.ranks, parameters.threshold
    delegates: NDArray[Any] = numpy.empty(0, graph.column_indices.dtype)
    thresholds: dict[str, Any] = {}
    if parameters.scheme == "striped":
        threshold = side.largest_degree()
    else:
        census = side.take_census()
        if threshold == "auto":
            threshold = choose_threshold(census, ranks, hosts=parameters.hosts)
            context.log(f"threshold {threshold} chosen from the degrees")
        delegates = side.find_delegates(threshold)
        thresholds["thresholds"] = [asdict(division) for division in census.curve()]
    arrays, sizes = side.write(ranks)
    counted = storage_of(sizes, vertex_count=graph.vertex_count, delegate_count=len(delegates))
    return Partition(
        arrays=arrays,
        delegates=delegates,
        permutation=graph.permutation if isinstance(graph, Ordering) else None,
        ranks=ranks,
        threshold=threshold,
        vertex_count=graph.vertex_count,
        arc_count=graph.arc_count,
        symmetric=graph.symmetric,
        deduplicated=graph.deduplicated,
        loop_count=graph.loop_count,
        scheme=parameters.scheme,
        statistics={**counted, **thresholds},
    )


def _side(context: Context, parameters: PartitionParameters, graph: Graph) -> on_device.OnDevice | OnHost:
    """Choose where the graph is divided."""
    size = _size(parameters, graph.vertex_count, graph.arc_count)
    if context.machine.backend == "cuda":
        if on_device.device_bytes(size, context.machine.device_memory):
            return on_device.OnDevice(context, graph, size)
        context.log(f"the CPU divides the graph: {_refused(size, context.machine)}")
    from gravel.stages.partitioning.on_host import OnHost

    return OnHost(context, graph, size.ranks_at_once)


def _size(parameters: PartitionParameters, vertices: int, arcs: int) -> Size:
    striped = parameters.scheme == "striped"
    delegates = 0 if striped else _most_delegates(parameters.threshold, vertices, arcs)
    at_once = STRIPES_AT_ONCE if striped else RANKS_AT_ONCE
    return Size(vertices, arcs, parameters.ranks, at_once, delegates, striped)


def _refused(size: Size, machine: Machine) -> str:
    return refusal("partition", on_device.least_bytes(size), machine.device_memory)


def load_partition(stored: Partition) -> PartitionedGraph:
    """Read a stored partition into memory for `gravel.kernels.partition`; stripes have no delegates."""
    from gravel.kernels.partition.layout import from_arrays

    if stored.scheme == "striped":
        from gravel.kernels.partition import stripes

        facts = {"vertex_count": stored.vertex_count, "arc_count": stored.arc_count}
        return stripes.from_arrays(stored.arrays, ranks=stored.ranks, **facts)
    return from_arrays(
        stored.arrays,
        stored.delegates,
        ranks=stored.ranks,
        threshold=stored.threshold,
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
    )


def _most_delegates(threshold: int | Literal["auto"], vertices: int, arcs: int) -> int:
    """Bound the delegates; those of `auto` as `gravel.kernels.partition.threshold` does."""
    if isinstance(threshold, int):
        return min(vertices, arcs // (threshold + 1))
    return max(vertices // 16, min(vertices // 4, 1 << 20))


def _host_bytes(size: Size, machine: Machine) -> int:
    """Bound the host memory of a division on the CPU."""
    ranges = size.arcs // RANGE_ARCS + size.vertices // RANGE_ROWS + 1
    dividing = dividing_on_cpu(
        size,
        min(size.vertices, RANGE_ROWS),
        min(size.arcs, RANGE_ARCS),
        threads=min(machine.threads, ranges),
        waiting=min(2 * machine.threads + 1, ranges),
    )
    writing = during(published(*result(size)[:1]), "divided")
    return (COMPILED_STRIPES if size.striped else COMPILED_DELEGATES) + total((*dividing, *writing), "host")


def _host_bytes_beside_device(size: Size, device_bytes: int) -> int:
    """Bound the host memory of a division on the GPU: delegates, and what is on its way from there."""
    columns = result(size)[0]
    if on_device.whole_bytes(size) <= device_bytes:
        moved = table("host", downloaded=("u1", min(on_device.DOWNLOAD_BYTES, columns.nbytes)))
    else:
        arcs, rows = (min(count, on_device.RANGE_ARCS) for count in (size.arcs, size.vertices))
        moved = table("host", columns=(size.vertex, (2, arcs)), offsets=("i8", (2, rows)))
    delegates = table("host", degrees=("i8", size.delegates), delegates=(size.vertex, size.delegates))
    return COMPILED_DELEGATES + total((*moved, *delegates, *published(columns)), "host")


def _estimate(
    parameters: PartitionParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m, p = graph.vertices, graph.arcs, parameters.ranks
    size = _size(parameters, n, m)
    device = on_device.device_bytes(size, machine.device_memory) if machine.backend == "cuda" else 0
    note = ""
    if machine.backend == "cuda" and not device:
        note = f"on the CPU: {_refused(size, machine)}"
    host = _host_bytes_beside_device(size, device) if device else _host_bytes(size, machine)
    return Need(
        host_bytes=host,
        device_bytes=device,
        note=note,
        refusal=f"{WEIGHTED}; {WEIGHTED_HINT}" if graph.weighted else "",
        outputs=(
            Extent(
                kind="Partition",
                vertices=n,
                arcs=m,
                bytes=exact(result(size)),
                directed=graph.directed,
                normal_arcs=m,
                ranks=p,
                striped=size.striped,
            ),
        ),
    )


STAGE = Stage(
    name="partition",
    version=5,
    about="Divides a graph over ranks by degree (Pan, Pearce, Owens 2018), or in stripes.",
    parameters=PartitionParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph to divide")},
    outputs=("Partition",),
    run=partition,
    estimate=_estimate,
    cuda=True,
    hidden=frozenset({"paper"}),
)
