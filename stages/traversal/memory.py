"""Memory that a traversal takes at its peak, counted from its arrays, and the places of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import exact, total
from gravel.kernels.components.buffers import HEADS
from gravel.kernels.layouts.parts import ROOM
from gravel.kernels.placement.plan import DoesNotFit, Limits, Plan, Sizes
from gravel.kernels.sssp.buffers import ordered_bytes
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.buffers import (
    COMPILED,
    WEIGHT_BYTES,
    WHOLE,
    decoded_bytes,
    elsewhere,
    extent_of,
    is_renumbered,
    label_bytes,
    on_device,
    on_host,
    paths_on_host,
    paths_searched,
    search_count,
    stored_searches,
    stream_bytes,
    width_of,
)
from gravel.stages.traversal.graph import Placing, why_decoded
from gravel.stages.traversal.implementations import IMPLEMENTATIONS
from gravel.stages.traversal.parameters import OF_ALL_VERTICES
from gravel.stages.traversal.strategy import (
    backend_of_search,
    directed_refusal,
    placements_of,
    without_weights,
    without_whole_rows,
)
from gravel.stages.traversal.worker_count import Spreading, plan_spreading
from gravel.stages.turning import turned_extent, with_turning

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Graph, Partition
    from gravel.stages.traversal.parameters import TraverseParameters

LABEL_BYTES = 256 << 20
"""Of the labels that one call of a group of workers brings back; they pass through memory twice."""

NO_WEIGHTS = "the graph has no weights, which algorithm shortest_paths needs"
NO_WEIGHTS_HINT = "symmetrize with `weights: minimum`, `sum` or `error`, from edges that have weights"
NO_WEIGHTS_OF_RANKS_HINT = (
    "distribute with `weights: minimum`, `sum` or `error`, from files that have weights"
)


def estimate(
    parameters: TraverseParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State host and device bytes, and the extents of the labels and the measurement."""
    read, algorithm = inputs["input"][0], parameters.algorithm
    graph = turned_extent(read, parameters.direction)
    implementation = IMPLEMENTATIONS[form_of_extent(parameters, graph), algorithm]
    need: Need = resolve_name(implementation.need)(parameters, graph, machine)
    searches = stored_searches(parameters, graph.vertices)
    labels = Extent(
        kind="Traversal",
        vertices=graph.vertices,
        arcs=graph.arcs,
        bytes=label_bytes(parameters, graph.vertices) * graph.vertices * searches,
        searches=0 if algorithm in OF_ALL_VERTICES else searches,
        directed=read.directed,
        weighted=algorithm == "shortest_paths",
        direction=parameters.direction,
        strong=algorithm == "strong_components",
    )
    need = replace(need, outputs=(labels, Extent(kind="Measurement", bytes=0)))
    compiled = COMPILED["shortest_paths" if algorithm == "shortest_paths" else "bfs", "columns"]
    need = with_turning(need, read, parameters.direction, compiled=compiled)
    refusal = directed_refusal(parameters, graph.directed)
    return replace(need, refusal=refusal) if refusal else need


def form_of_extent(parameters: TraverseParameters, graph: Extent) -> str:
    """Name the form of the rows that are searched, those of a graph that is refused as well."""
    if parameters.algorithm == "shortest_paths" and graph.kind == "Partition":
        return "ranks"
    if parameters.algorithm in ("shortest_paths", "strong_components"):
        return "columns"
    if graph.kind == "DistributedGraph":
        return "distributed"
    if graph.kind == "Partition" or graph.normal_arcs is not None:
        return "ranks"
    encoded = graph.kind == "CompressedGraph" and not why_decoded(parameters, WHOLE[0])
    return "encoded" if encoded else "columns"


def _is_encoded(parameters: TraverseParameters, graph: Extent) -> bool:
    return form_of_extent(parameters, graph) == "encoded"


def rows_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    """State rows, queues and labels of one search, or of the workers that sources are distributed over."""
    need, plan = _placed_need(parameters, graph, machine)
    if plan is None:
        return need
    need = replace(need, note=_why_on_cpu(parameters, machine))
    spreading = _spreading(parameters, graph, plan, backend_of_search(parameters, machine))
    if spreading.most < 2:
        return need
    # Each worker holds the graph; the first has the labels of some searches of all workers beside its own.
    labels = min(2 * LABEL_BYTES, 24 * graph.vertices * search_count(parameters))
    host, each = need.host_bytes + labels, need.host_bytes + labels // spreading.least
    return replace(
        need, host_bytes=host, workers=spreading.most, least_workers=spreading.least, each_host_bytes=each
    )


def paths_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    """State the queues and labels of one search for shortest paths, and rows that are decoded or pinned."""
    need, _ = _placed_need(parameters, graph, machine)
    refusal = without_weights(graph.kind)
    if refusal is None and not graph.weighted:
        refusal = (NO_WEIGHTS, NO_WEIGHTS_HINT)
    return replace(need, refusal="; ".join(refusal) if refusal else need.refusal)


def strong_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    """State what making the rows of predecessors takes, and what finding the components takes."""
    from gravel.kernels.strong_components import buffers as strong
    from gravel.stages.symmetrize import device_bytes as building_bytes

    n, m = graph.vertices, graph.arcs
    width = width_of(n)
    refusal = "; ".join(
        without_whole_rows("Partition" if graph.normal_arcs is not None else graph.kind) or ()
    )
    rows = 8 * n + width * m
    # Encoded rows are copied and decoded before anything else is there.
    encoded = decoded_bytes(graph)
    decoded = rows if encoded else 0
    compiled = COMPILED["strong_components", "encoded" if encoded else "columns"]
    back = (2 * width + 8) * n if is_renumbered(graph) and graph.kind != "Partition" else 0
    if backend_of_search(parameters, machine) == "cuda":
        making = rows + building_bytes(n, m, m, width) + 16 * m if graph.directed else 0
        device = rows + max(2 * encoded, making, rows + total(strong.forward_backward(n, m, width)))
        return Need(compiled + max(decoded, encoded) + width * n + back, device, (), refusal=refusal)
    working = exact(strong.tarjan(n, width))
    if parameters.strategy not in ("auto", "tarjan"):
        # The ends of arcs are there until the rows of predecessors are.
        making = rows + width * m if graph.directed else 0
        working = max(making, rows + exact(strong.forward_backward_on_host(n, width)))
    return Need(compiled + decoded + max(encoded, working) + back, 0, (), refusal=refusal)


def _placed_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> tuple[Need, Plan | None]:
    """State rows that lie as planned; without a plan, what the placement that is asked for would take."""
    refusal = ""
    try:
        fitting = plan = placing_of(parameters, graph, machine).plan
    except DoesNotFit as error:
        sizes, fitting = _sizes_of(parameters, graph, machine), None
        plan = plan_rows(parameters, sizes, Limits(), backend_of_search(parameters, machine))
        if parameters.device_memory is not None or parameters.host_memory is not None:
            refusal = f"{error}; {error.hint}"
    host = _host_bytes(parameters, graph, plan, machine)
    on_cpu = backend_of_search(parameters, machine) == "cpu"
    return Need(host, 0 if on_cpu else plan.device_bytes, (), refusal=refusal), fitting


def _host_bytes(parameters: TraverseParameters, graph: Extent, plan: Plan, machine: Machine) -> int:
    if parameters.algorithm == "shortest_paths":
        return total(paths_on_host(parameters, graph, plan), "host")
    encoded, backend = _is_encoded(parameters, graph), backend_of_search(parameters, machine)
    return total(on_host(parameters, graph, plan, backend=backend, encoded=encoded), "host")


def _why_on_cpu(parameters: TraverseParameters, machine: Machine) -> str:
    """Say why a run with a GPU searches on the CPU; empty where it does not."""
    if machine.backend != "cuda" or backend_of_search(parameters, machine) == "cuda":
        return ""
    if parameters.backend == "cpu":
        return "on the CPU: `backend: cpu` asks for it"
    return f"on the CPU: strategy {parameters.strategy} has no CUDA form"


def spreading_of(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Spreading:
    """Decide whether sources are dealt over workers; raises `gravel.kernels.placement.DoesNotFit`."""
    if parameters.direction != "out":
        graph = turned_extent(graph, parameters.direction)
    plan = placing_of(parameters, graph, machine).plan
    return _spreading(parameters, graph, plan, backend_of_search(parameters, machine))


def _spreading(parameters: TraverseParameters, graph: Extent, plan: Plan, backend: str) -> Spreading:
    return plan_spreading(
        parameters,
        graph,
        sources=search_count(parameters),
        backend=backend,
        label_bytes=label_bytes(parameters, graph.vertices) * graph.vertices,
        whole=plan.placement in WHOLE,
    )


def placing_of(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Placing:
    """Plan where the rows of a graph lie; raises `gravel.kernels.placement.DoesNotFit`."""
    backend, limits = backend_of_search(parameters, machine), Limits()
    # What does not fit the machine is refused with what the machine has, as for any stage.
    limited = placement_asked(parameters) != "device" or parameters.device_memory is not None
    if limited and (backend == "cuda" or parameters.algorithm != "shortest_paths"):
        base = _host_bytes(parameters, graph, Plan("streamed", 0, 0, ""), machine)
        limits = limits_of(parameters, machine, base)
    sizes = _sizes_of(parameters, graph, machine)
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


def placement_asked(parameters: TraverseParameters) -> str:
    """Return the placement to plan for, which a strategy may decide."""
    placement: str = parameters.placement
    taken = placements_of(parameters)
    if placement != "auto":
        return placement
    if len(taken) == 1:
        return taken[0]
    # What searches rows anywhere, and other algorithms than bfs, take the first placement that fits.
    return placement if "split" in taken or parameters.algorithm != "bfs" else "device"


def limits_of(parameters: TraverseParameters, machine: Machine, base: int) -> Limits:
    """Return what the parameters allow, at most what the machine has.

    `base` is what a traversal takes in host memory beside rows and buffers.
    """
    from gravel.kernels.placement import Limits

    device = [size for size in (parameters.device_memory, machine.device_memory) if size]
    host = [max(0, machine.host_memory - base)]
    if parameters.host_memory is not None:
        host.append(int(parameters.host_memory))
    return Limits(int(min(device)) if device else None, min(host))


def plan_rows(parameters: TraverseParameters, sizes: Sizes, limits: Limits, backend: str) -> Plan:
    """Choose a placement; raises `gravel.kernels.placement.DoesNotFit`."""
    from gravel.kernels.placement import on_gpu, on_host

    placement = placement_asked(parameters)
    if backend == "cpu":
        if placement == "device":
            limits = replace(limits, host=None)
        return on_host(sizes, limits, placement)
    names = None if parameters.algorithm == "bfs" else placements_of(parameters)
    return on_gpu(sizes, limits, placement, among=names)


def _sizes_of(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Sizes:
    form = "encoded" if _is_encoded(parameters, graph) else "columns"
    sizes: Sizes = resolve_name(IMPLEMENTATIONS[form, parameters.algorithm].sizes)(parameters, graph, machine)
    return sizes


def rows_sizes(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Sizes:
    """Count rows, and what a GPU takes of them and beside them, from the tables of strategies."""
    encoded = _is_encoded(parameters, graph)
    rows = stream_bytes(graph) if encoded else width_of(graph.vertices) * graph.arcs
    if backend_of_search(parameters, machine) == "cpu":
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


def paths_sizes(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Sizes:
    """Count columns with weights, and what a GPU takes of them and beside them."""
    n, m = graph.vertices, graph.arcs
    rows = (width_of(n) + WEIGHT_BYTES) * m
    if backend_of_search(parameters, machine) == "cpu":
        return Sizes(rows=rows, on_device=0, beside=0, head=0)
    # Whether weights are usable takes a byte for each.
    beside = 8 * n + total(paths_searched(n, m)) + m
    ordered, encoded = 0 if graph.directed else ordered_bytes(m, width_of(n)), decoded_bytes(graph)
    if rows + beside + ordered + encoded <= (parameters.device_memory or machine.device_memory):
        # Delta-stepping may search a copy of rows in the order of weights from the second source on.
        beside += ordered
    return Sizes(rows=rows, on_device=rows + beside + encoded, beside=beside, head=0)
