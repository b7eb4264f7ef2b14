"""How much memory a traversal takes at its peak, counted from its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.layouts.parts import ROOM
from gravel.kernels.placement.plan import BUFFERS, DoesNotFit, Limits, Plan, Sizes, row_search_bytes
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.device_need import (
    BYTES_PER_ARRIVAL,
    HUB_ARCS,
    LABEL_BYTES,
    UNIT_BYTES,
    bringing_bytes,
    component_bytes,
    device_bytes,
    distributed_need,
    rank_device_bytes,
    stripe_device_bytes,
)
from gravel.stages.traversal.encoded import WHOLE, searched_encoded
from gravel.stages.traversal.placing import (
    Placing,
    batch_of,
    device_label_bytes,
    extent_of,
    label_bytes,
    limits_of,
    placement_asked,
    plan_ranks,
    plan_rows,
    search_count,
    stored_searches,
    width_of,
)
from gravel.stages.traversal.spreading import Spreading, plan_spreading
from gravel.stages.traversal.strategy import backend_of_search, directed_refusal, placements_of
from gravel.stages.turning import turned_extent, with_turning

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Graph, Partition
    from gravel.stages.traversal.parameters import TraverseParameters

COMPILED_BFS, COMPILED_COMPONENTS, COMPILED_RANKS = 100 << 20, 84 << 20, 74 << 20
COMPILED_ROWS, COMPILED_ROW_COMPONENTS, COMPILED_ROW_RANKS = 132 << 20, 88 << 20, 84 << 20
COMPILED_ORDERING = 16 << 20
"""Measured: what Numba takes to compile a strategy's kernels, those of a partition, or those with the decoder
of a layout, and to be there at all (48 MiB where they are in the cache on disk); then statistics of an
order."""

OFFSETS_BYTES, RANK_BYTES = 20, 28
"""Per vertex of a partition: row offsets of the whole graph as they are counted; labels of a rank before they
are joined, and its queue."""

SEARCH_BYTES_PER_ARC = 16
"""Of a level of `gravel.kernels.partition.rank_search` for each arc that leaves normal vertices: its ends,
and those that are left of them when each end counts once; measured at 8 to 12."""

STRIPED_BYTES_PER_ARC = 16
"""Of the largest level of `gravel.kernels.striped.rank`: a queue of heads and tails, both sorted by owner."""

LABEL_BYTES_PER_ARC = 20
"""Of `gravel.kernels.partition.components` for each arc between normal vertices: its ends, and in the first
round a label with its place; measured at 8 to 16."""

LOOK_UP_BYTES_PER_ARC = 56
"""The same for looking labels up along such an arc, which a directed graph takes beside: distinct ends."""

COMPONENT_HEADS = 2
"""First neighbours of every vertex that components of rows in host memory have on the device, which Sutton
et al. join before any other. More took longer: 23.5 ms with what fits 5.8 GB, 16.2 with these (3.7 G arcs on
an H200)."""

STATISTICS_BYTES = 24
"""Per vertex of `gravel.stages.traversal.records`: distances, their order and its workspace, last levels."""


@dataclass(frozen=True)
class _Parts:
    """What a traversal's memory is made of, in bytes."""

    offsets: int  # that are made, as are `rows`: those of a graph of columns are mapped
    rows: int
    columns: int  # or the stream of rows that are searched as they are
    decoding: int  # of a compressed graph, beside its rows as they are searched
    labels: int  # of one search
    bitmaps: int  # three of them
    workspace: int  # of a search on the CPU
    on_device: int  # of a search on the device, beside the rows
    bringing: int  # on the device when a search is over: what brings its labels back
    after: int  # on the host when a search is over: its labels, mapped back
    counting: int  # statistics of a search, on the host
    counting_in_parts: int  # the same where rows are streamed, of which no arcs are counted
    ordering: int  # statistics of an order, on the side where the search runs
    compiled: int
    backend: str
    encoded: bool
    uploading: int  # on the device before a search is made ready


def estimate(
    parameters: TraverseParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State host and device bytes, and the extents of the labels and the measurement."""
    if parameters.algorithm == "sssp":
        from gravel.stages.traversal import sssp

        return sssp.estimate(parameters, inputs, machine)
    if parameters.algorithm == "strong_components":
        from gravel.stages.traversal import strong

        return strong.estimate(parameters, inputs, machine)
    read = inputs["input"][0]
    graph = turned_extent(read, parameters.direction)
    need = _estimate(parameters, graph, machine)
    labels = replace(need.outputs[0], directed=read.directed, direction=parameters.direction)
    need = replace(need, outputs=(labels, *need.outputs[1:]))
    need = with_turning(need, read, parameters.direction, compiled=COMPILED_BFS)
    refusal = directed_refusal(parameters, graph.directed)
    return replace(need, refusal=refusal) if refusal else need


def _estimate(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    outputs = _outputs(parameters, graph)
    if graph.kind == "DistributedGraph":
        labels = label_bytes(parameters, width_of(graph.vertices), 4 if graph.vertices < 1 << 31 else 8)
        return distributed_need(parameters, graph, machine, outputs, search_count(parameters), labels)
    whole = _parts(parameters, graph, machine, encoded=_searched_encoded(parameters, graph))
    if _is_split(graph):
        bfs = parameters.algorithm == "bfs"
        # Ranks on workers decode their part once more, and bring labels back several searches at a time.
        # Components of a compressed one are found where it was decoded.
        ranked = graph.kind == "Partition" or bfs
        gang = graph.ranks if ranked and graph.ranks > 1 and (bfs or not graph.striped) else 0
        ranks = max(1, gang)
        labels = min(2 * LABEL_BYTES, 24 * graph.vertices * search_count(parameters))
        decoded = graph.bytes if graph.kind == "CompressedGraph" else 0
        compiled = COMPILED_RANKS if graph.kind == "Partition" else COMPILED_ROW_RANKS
        searching = RANK_BYTES * graph.vertices + _carried(graph, bfs)
        working = max(searching, gang and (decoded + searching) // ranks + labels)
        host = compiled + decoded + OFFSETS_BYTES * graph.vertices + whole.after + working
        each = gang and compiled + (decoded + searching + labels) // ranks
        on_gpus = parameters.backend == "cuda" and machine.backend == "cuda" and (bfs or not graph.striped)
        if on_gpus and bfs and not graph.striped:
            need = Need(host, 0, outputs, gang=gang, each_host_bytes=each)
            return _over_gpus(parameters, graph, machine, need)
        on_device = (stripe_device_bytes if bfs else component_bytes)(graph, gang) if on_gpus else 0
        note = _why_on_cpu(parameters, machine) if on_gpus else _why_ranks_on_cpu(parameters, graph, machine)
        return Need(host, on_device, outputs, gang=gang, each_host_bytes=each, note=note)
    try:
        plan = placing_of(parameters, graph, machine).plan
    except DoesNotFit as error:
        # Without limits it is stated what the placement that is asked for would take.
        plan = plan_rows(parameters, _sizes(parameters, graph, whole), Limits(), whole.backend)
        need = _need(whole, plan, outputs)
        named = parameters.device_memory is not None or parameters.host_memory is not None
        return replace(need, refusal=f"{error}; {error.hint}") if named else need
    need = replace(_need(whole, plan, outputs), note=_why_on_cpu(parameters, machine))
    spreading = _spreading(parameters, graph, whole, plan)
    if spreading.most < 2:
        return need
    # Each worker holds the graph; the first has the labels of some searches of all workers beside its own.
    labels = min(2 * LABEL_BYTES, 24 * graph.vertices * search_count(parameters))
    host, each = need.host_bytes + labels, need.host_bytes + labels // spreading.least
    return replace(
        need, host_bytes=host, gang=spreading.most, gang_least=spreading.least, each_host_bytes=each
    )


def _why_on_cpu(parameters: TraverseParameters, machine: Machine) -> str:
    """Say why a run with a GPU searches on the CPU; empty where it does not."""
    if machine.backend != "cuda" or backend_of_search(parameters, machine) == "cuda":
        return ""
    if parameters.backend == "cpu":
        return "on the CPU: `backend: cpu` asks for it"
    return f"on the CPU: strategy {parameters.strategy} has no CUDA form"


def _why_ranks_on_cpu(parameters: TraverseParameters, graph: Extent, machine: Machine) -> str:
    if machine.backend != "cuda":
        return ""
    if parameters.backend == "cpu":
        return "on the CPU: `backend: cpu` asks for it"
    if graph.striped and parameters.algorithm == "components":
        return "on the CPU: components of stripes have no CUDA form"
    return "on the CPU: ranks of a partition are; `backend: cuda` asks for GPUs"


def _over_gpus(parameters: TraverseParameters, graph: Extent, machine: Machine, need: Need) -> Need:
    """Complete the need of ranks on GPUs by their columns, wherever those lie."""
    gpus = max(1, need.gang)
    relays = parameters.tuning.get("local_all_to_all") is True
    whole = rank_device_bytes(graph, gpus, relays=relays)
    columns = min(graph.bytes, width_of(graph.vertices) * graph.arcs) // gpus
    if parameters.transport == "nccl":
        whole += BYTES_PER_ARRIVAL * (graph.normal_arcs or 0) // gpus
    try:
        plan = plan_ranks(parameters, machine, base=whole - columns, columns=columns, gpus=gpus)
    except DoesNotFit as error:
        named = parameters.device_memory is not None or parameters.host_memory is not None
        return replace(need, device_bytes=whole, refusal=f"{error}; {error.hint}" if named else "")
    host = need.host_bytes + gpus * plan.host_bytes
    return replace(need, host_bytes=host, device_bytes=plan.device_bytes)


def spreading_of(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Spreading:
    """Decide whether sources are dealt over workers; raises `gravel.kernels.placement.DoesNotFit`."""
    if parameters.direction != "out":
        graph = turned_extent(graph, parameters.direction)
    whole = _parts(parameters, graph, machine, encoded=_searched_encoded(parameters, graph))
    return _spreading(parameters, graph, whole, placing_of(parameters, graph, machine).plan)


def _spreading(parameters: TraverseParameters, graph: Extent, whole: _Parts, plan: Plan) -> Spreading:
    return plan_spreading(
        parameters,
        graph,
        sources=search_count(parameters),
        backend=whole.backend,
        label_bytes=whole.labels,
        whole=plan.placement in WHOLE,
    )


def _searched_encoded(parameters: TraverseParameters, graph: Extent) -> bool:
    if graph.kind != "CompressedGraph" or _is_split(graph):
        return False
    return searched_encoded(parameters, WHOLE[0])


def placing_of(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Placing:
    """Plan where the rows of a graph lie; raises `gravel.kernels.placement.DoesNotFit`."""
    if parameters.algorithm == "sssp":
        from gravel.stages.traversal import sssp

        return sssp.placing_of(parameters, graph, machine)
    whole = _parts(parameters, graph, machine, encoded=_searched_encoded(parameters, graph))
    base = _need(whole, Plan("streamed", 0, 0, ""), ()).host_bytes
    limits = limits_of(parameters, machine, base)
    if placement_asked(parameters) == "device" and parameters.device_memory is None:
        # What does not fit the machine is refused with what the machine has, as for any stage.
        limits = Limits()
    sizes = _sizes(parameters, graph, whole)
    return Placing(plan_rows(parameters, sizes, limits, whole.backend), sizes, limits)


def plan_for(
    parameters: TraverseParameters, stored: Graph | CompressedGraph | Partition, machine: Machine
) -> Placing:
    """Plan where the rows lie of a graph that is stored, not split into ranks.

    Raises `StageError` where they do not fit, with the numbers and what would fit.
    """
    try:
        return placing_of(parameters, extent_of(stored), machine)
    except DoesNotFit as error:
        raise StageError(f"the graph does not fit: {error}", hint=error.hint) from None


def _sizes(parameters: TraverseParameters, graph: Extent, whole: _Parts) -> Sizes:
    if whole.backend == "cpu":
        return Sizes(rows=whole.columns, on_device=0, beside=0, head=0)
    n, m = graph.vertices, graph.arcs
    width = width_of(n)
    # Encoded rows that are pinned come over the link into two buffers.
    link = 2 * min(ROOM, whole.columns) if _searched_encoded(parameters, graph) else 0
    split: dict[str, Any] = {}
    beside = row_search_bytes(n, m, width, device_label_bytes(parameters, width)) + whole.bringing
    if parameters.algorithm == "components":
        # Roots of an eighth of the vertices, long rows to share, and which are longer than what is kept.
        beside += width * (n // 8 + m // HUB_ARCS) + n // 8
        if whole.encoded:
            beside += width * whole.columns // UNIT_BYTES
        split = {"heads": (COMPONENT_HEADS,), "kept": 0}
        if "split" in placements_of(parameters):
            split["pinned_heads"] = COMPONENT_HEADS
    return Sizes(
        rows=whole.columns,
        on_device=8 * n + whole.columns + max(whole.uploading, whole.on_device),
        beside=beside,
        head=width * n,
        link=0 if parameters.algorithm == "components" else link,
        **split,
    )


def _need(parts: _Parts, plan: Plan, outputs: tuple[Extent, ...]) -> Need:
    if parts.backend == "cpu":
        if plan.placement == "streamed":
            # Bitmaps, labels before they are mapped back, and what encoded rows are counted with.
            workspace = parts.bitmaps + parts.after + parts.counting_in_parts
            workspace += parts.decoding if parts.encoded else 0
            # Of buffers that are larger than the rows, the rest is never written to.
            buffers = min(plan.host_bytes, BUFFERS * parts.columns)
            return Need(parts.compiled + parts.offsets + buffers + workspace, 0, outputs)
        working = max(parts.decoding, parts.workspace + parts.after + max(parts.counting, parts.ordering))
        return Need(parts.compiled + parts.offsets + parts.rows + working, 0, outputs)
    if plan.placement == "device":
        later = parts.after + max(parts.counting, parts.ordering)
        host = parts.compiled + parts.offsets + max(parts.rows + parts.decoding, later)
        return Need(host, plan.device_bytes, outputs)
    counting = parts.counting_in_parts if plan.placement == "streamed" else parts.counting
    host = parts.compiled + 2 * parts.offsets + plan.host_bytes + parts.decoding + parts.after + counting
    return Need(host, plan.device_bytes, outputs)


def _parts(
    parameters: TraverseParameters, graph: Extent, machine: Machine, *, encoded: bool = False
) -> _Parts:
    n, m = graph.vertices, graph.arcs
    width = width_of(n)
    tree = 4 if n < 1 << 31 else 8
    csr = 8 * n + width * m
    bfs = parameters.algorithm == "bfs"
    labels = label_bytes(parameters, width, tree) * n
    renumbered = graph.kind in ("Ordering", "CompressedGraph", "Partition")
    backend = backend_of_search(parameters, machine)
    # The permutation, its inverse, and the labels under their old names.
    relabelling = (2 * width * n + labels) if renumbered else 0
    # A GPU keeps those; the host has the permutation, and offsets in the first numbering.
    back = 0
    if renumbered:
        back = 8 * n + (relabelling if backend == "cpu" or _is_split(graph) else width * n)
    batch = max(0, batch_of(parameters) - 1)
    # The latest level of each vertex and the order of the reached ones; a GPU's graph comes to the host.
    counting = (STATISTICS_BYTES * n + (csr if backend == "cuda" else 0)) if parameters.statistics else 0
    # The graph in its first numbering, and in its own again.
    ordering = 2 * csr if parameters.statistics and graph.kind == "Ordering" else 0
    columns, offsets, rows, decoding, uploading = width * m, 0, 0, 0, 0
    if graph.kind == "CompressedGraph":
        # The stream is copied, and decoded from there; rows that a GPU decodes lie there encoded first.
        decoding = max(0, graph.bytes - 8 * n)
        offsets, rows, uploading = 8 * n, columns, graph.bytes
    if encoded:
        # Degrees before they are summed up, and the rows decoded for statistics.
        columns = rows = decoding
        decoding, uploading = 8 * n, 0
        counting += csr if counting and backend == "cpu" else 0
    return _Parts(
        offsets=offsets,
        rows=rows,
        columns=columns,
        decoding=decoding,
        labels=labels,
        bitmaps=n // 2,
        # First neighbours, the queue, its arc sums of which a frontier fills part, three bitmaps.
        workspace=((2 * width + 4) * n if bfs else 0) + batch * labels,
        on_device=0 if backend == "cpu" else device_bytes(parameters, graph, columns if encoded else None),
        bringing=0 if backend == "cpu" else bringing_bytes(parameters, graph, whole=False),
        after=2 * labels + back,
        counting=counting,
        counting_in_parts=STATISTICS_BYTES * n if parameters.statistics else 0,
        ordering=ordering,
        compiled=_compiled(bfs, encoded) + (COMPILED_ORDERING if ordering else 0),
        backend=backend,
        encoded=encoded,
        uploading=uploading,
    )


def _compiled(bfs: bool, encoded: bool) -> int:
    if encoded:
        return COMPILED_ROWS if bfs else COMPILED_ROW_COMPONENTS
    return COMPILED_BFS if bfs else COMPILED_COMPONENTS


def _outputs(parameters: TraverseParameters, graph: Extent) -> tuple[Extent, ...]:
    n = graph.vertices
    count = stored_searches(parameters, n)
    labels = label_bytes(parameters, width_of(n), 4 if n < 1 << 31 else 8) * n
    return (
        Extent(
            kind="Traversal",
            vertices=n,
            arcs=graph.arcs,
            bytes=labels * count,
            searches=count if parameters.algorithm == "bfs" else 0,
            directed=graph.directed,
        ),
        Extent(kind="Measurement", bytes=0),
    )


def _is_split(graph: Extent) -> bool:
    return graph.kind == "Partition" or graph.normal_arcs is not None


def _carried(graph: Extent, bfs: bool) -> int:
    """Count what arcs between normal vertices carry."""
    arcs = graph.arcs if graph.normal_arcs is None else graph.normal_arcs
    if bfs:
        return (STRIPED_BYTES_PER_ARC if graph.striped else SEARCH_BYTES_PER_ARC) * arcs
    return (LABEL_BYTES_PER_ARC + (LOOK_UP_BYTES_PER_ARC if graph.directed else 0)) * arcs
