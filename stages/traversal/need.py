"""Memory that a traversal takes at its peak, counted from its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import table, total
from gravel.kernels.components.buffers import HEADS
from gravel.kernels.layouts.parts import ROOM
from gravel.kernels.placement.plan import DoesNotFit, Limits, Plan, Sizes
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.buffers import (
    COMPILED,
    elsewhere,
    is_renumbered,
    on_device,
    on_host,
    stream_bytes,
)
from gravel.stages.traversal.encoded import WHOLE, searched_encoded
from gravel.stages.traversal.placing import (
    Placing,
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
from gravel.stages.traversal.rank_buffers import (
    LABEL_BYTES,
    component_bytes,
    distributed_need,
    rank_device_bytes,
    ranks_on_cpu,
    stripe_device_bytes,
)
from gravel.stages.traversal.spreading import Spreading, plan_spreading
from gravel.stages.traversal.strategy import backend_of_search, directed_refusal, placements_of
from gravel.stages.turning import turned_extent, with_turning

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Graph, Partition
    from gravel.stages.traversal.parameters import TraverseParameters

COMPILED_RANKS, COMPILED_ROW_RANKS = 74 << 20, 84 << 20
"""Measured: what Numba takes to compile the kernels of a partition, or those with the decoder of a layout,
and to be there at all (48 MiB where they are in the cache on disk)."""


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
    need = with_turning(need, read, parameters.direction, compiled=COMPILED["bfs", False])
    refusal = directed_refusal(parameters, graph.directed)
    return replace(need, refusal=refusal) if refusal else need


def _estimate(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    outputs = _outputs(parameters, graph)
    if graph.kind == "DistributedGraph":
        labels = label_bytes(parameters, width_of(graph.vertices), 4 if graph.vertices < 1 << 31 else 8)
        return distributed_need(parameters, graph, machine, outputs, search_count(parameters), labels)
    backend = backend_of_search(parameters, machine)
    if _is_split(graph):
        bfs = parameters.algorithm == "bfs"
        # Ranks on workers decode their part once more, and bring labels back several searches at a time.
        # Components of a compressed one are found where it was decoded.
        ranked = graph.kind == "Partition" or bfs
        group_size = graph.ranks if ranked and graph.ranks > 1 and (bfs or not graph.striped) else 0
        ranks = max(1, group_size)
        labels = min(2 * LABEL_BYTES, 24 * graph.vertices * search_count(parameters))
        decoded = graph.bytes if graph.kind == "CompressedGraph" else 0
        compiled = COMPILED_RANKS if graph.kind == "Partition" else COMPILED_ROW_RANKS
        counting = table("host", offsets=("i8", graph.vertices), lengths=("u4", (3, graph.vertices)))
        searching = total(ranks_on_cpu(graph, search=bfs, together=False), "host")
        own = decoded + total(ranks_on_cpu(graph, search=bfs, together=True), "host")
        working = max(searching, group_size and own // ranks + labels)
        host = compiled + decoded + total(counting, "host") + _after_ranks(parameters, graph) + working
        each = group_size and compiled + (own + labels) // ranks
        on_gpus = parameters.backend == "cuda" and machine.backend == "cuda" and (bfs or not graph.striped)
        if on_gpus and bfs and not graph.striped:
            need = Need(host, 0, outputs, gang=group_size, each_host_bytes=each)
            return _over_gpus(parameters, graph, machine, need)
        on_device = (stripe_device_bytes if bfs else component_bytes)(graph, group_size) if on_gpus else 0
        note = _why_on_cpu(parameters, machine) if on_gpus else _why_ranks_on_cpu(parameters, graph, machine)
        return Need(host, on_device, outputs, gang=group_size, each_host_bytes=each, note=note)
    try:
        plan = placing_of(parameters, graph, machine).plan
    except DoesNotFit as error:
        # Without limits it is stated what the placement that is asked for would take.
        plan = plan_rows(parameters, _sizes(parameters, graph, backend), Limits(), backend)
        need = _need(parameters, graph, plan, backend, outputs)
        named = parameters.device_memory is not None or parameters.host_memory is not None
        return replace(need, refusal=f"{error}; {error.hint}") if named else need
    need = _need(parameters, graph, plan, backend, outputs)
    need = replace(need, note=_why_on_cpu(parameters, machine))
    spreading = _spreading(parameters, graph, plan, backend)
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
    arrivals = parameters.transport == "nccl"
    whole = rank_device_bytes(graph, gpus, relays=relays, arrivals=arrivals)
    columns = min(graph.bytes, width_of(graph.vertices) * graph.arcs) // gpus
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
    plan = placing_of(parameters, graph, machine).plan
    return _spreading(parameters, graph, plan, backend_of_search(parameters, machine))


def _spreading(parameters: TraverseParameters, graph: Extent, plan: Plan, backend: str) -> Spreading:
    labels = label_bytes(parameters, width_of(graph.vertices), 4 if graph.vertices < 1 << 31 else 8)
    return plan_spreading(
        parameters,
        graph,
        sources=search_count(parameters),
        backend=backend,
        label_bytes=labels * graph.vertices,
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
    backend = backend_of_search(parameters, machine)
    base = _need(parameters, graph, Plan("streamed", 0, 0, ""), backend, ()).host_bytes
    limits = limits_of(parameters, machine, base)
    if placement_asked(parameters) == "device" and parameters.device_memory is None:
        # What does not fit the machine is refused with what the machine has, as for any stage.
        limits = Limits()
    sizes = _sizes(parameters, graph, backend)
    return Placing(plan_rows(parameters, sizes, limits, backend), sizes, limits)


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


def _sizes(parameters: TraverseParameters, graph: Extent, backend: str) -> Sizes:
    encoded = _searched_encoded(parameters, graph)
    rows = stream_bytes(graph) if encoded else width_of(graph.vertices) * graph.arcs
    if backend == "cpu":
        return Sizes(rows=rows, on_device=0, beside=0, head=0)
    split: dict[str, Any] = {}
    # Encoded rows that are pinned come over the link into two buffers.
    link = 2 * min(ROOM, rows) if encoded else 0
    if parameters.algorithm == "components":
        link, split = 0, {"heads": (HEADS,), "kept": 0}
        if "split" in placements_of(parameters):
            split["pinned_heads"] = HEADS
    return Sizes(
        rows=rows,
        on_device=total(on_device(parameters, graph, encoded=encoded)),
        beside=total(elsewhere(parameters, graph, encoded=encoded)),
        head=width_of(graph.vertices) * graph.vertices,
        link=link,
        **split,
    )


def _need(
    parameters: TraverseParameters, graph: Extent, plan: Plan, backend: str, outputs: tuple[Extent, ...]
) -> Need:
    encoded = _searched_encoded(parameters, graph)
    table = on_host(parameters, graph, plan, backend=backend, encoded=encoded)
    return Need(total(table, "host"), 0 if backend == "cpu" else plan.device_bytes, outputs)


def _after_ranks(parameters: TraverseParameters, graph: Extent) -> int:
    """Count labels of a search of ranks on the host, and what maps them back."""
    n, width = graph.vertices, width_of(graph.vertices)
    labels = label_bytes(parameters, width, 4 if n < 1 << 31 else 8) * n
    return 2 * labels + ((8 + 2 * width) * n + labels if is_renumbered(graph) else 0)


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
