"""Shortest paths over weighted rows: measured, and labelled in `symmetrize`'s numbering."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import exact, total
from gravel.kernels.placement.plan import DoesNotFit, Limits, Sizes
from gravel.kernels.sssp.buffers import labels as labelled
from gravel.kernels.sssp.buffers import light_heavy, ordered_bytes, queues
from gravel.kernels.sssp.buffers import on_device as searched
from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.compressing.decoding import unpacked_weights
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.placing import (
    Placing,
    limits_of,
    placement_asked,
    plan_rows,
    stored_searches,
    width_of,
)
from gravel.stages.traversal.records import asked_of, placement_record
from gravel.stages.traversal.strategy import backend_of_search, checked_tuning, machine_name, without_weights
from gravel.stages.turning import turned_extent, with_turning
from gravel.stages.weights import unusable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.sssp import ShortestPaths, SSSPResult
    from gravel.stages.artifacts import Measurement, Partition, Traversal
    from gravel.stages.context import Context
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

WEIGHT_BYTES = 4

WARM_UPS = 2
"""Searches that are not measured: what the first one finds may change how the next ones search."""

COMPILED = 90 << 20
"""Measured: what Numba takes to compile a search with its tree, and to be there at all."""

COMPILED_ORDERED = 30 << 20
"""The same of searches of rows in the order of weights."""

NO_WEIGHTS = "the graph has no weights, which algorithm shortest_paths needs"
NO_WEIGHTS_HINT = "symmetrize with `weights: minimum`, `sum` or `error`, from edges that have weights"


def weights_of(stored: Graph | CompressedGraph | Partition) -> Any:
    """Return the weights of a graph's arcs; raises `StageError` for a graph without."""
    assert isinstance(stored, Graph | CompressedGraph)
    if stored.weights is None:
        raise StageError(NO_WEIGHTS, hint=NO_WEIGHTS_HINT)
    return unpacked_weights(stored.weights)


def find_paths(
    context: Context,
    graph: SearchedGraph,
    weights: Any,
    sources: NDArray[Any],
    parameters: TraverseParameters,
) -> tuple[Traversal, Measurement]:
    """Search from every source on the clock, after searches that warm up.

    Raises `StageError` for weights that are negative or NaN, and for a strategy or constant that does not
    exist.
    """
    import numpy

    from gravel.kernels.cuda.wake import wake
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.traversal.records import executed

    search, notes = prepare_paths(graph, weights, parameters)
    starts = sources if graph.permutation is None else graph.permutation[sources]
    labels = _Labels(context, graph, len(sources))
    for start in starts[:1].repeat(WARM_UPS):
        # What compiles must not count, nor must the compilation of what maps labels back.
        labels_back(graph.permutation, search.run(int(start)))
    records = []
    for source, start in zip(sources.tolist(), starts.tolist(), strict=True):
        if graph.backend == "cuda":
            # Labels were copied to the host in between, and an idle GPU lowers its clocks.
            wake()
        records.append({"source": source, **labels.add(search.run(start))})
        context.progress(len(records), len(sources), "searches")
    distance, predecessor = labels.close()
    traversal = Traversal(
        algorithm="shortest_paths",
        sources=numpy.asarray(sources, numpy.int64),
        distance=distance,
        predecessor=predecessor,
        vertex_count=graph.vertex_count,
        direction=parameters.direction,
    )
    measurement = Measurement(
        algorithm="shortest_paths",
        strategy=search.strategy,
        reason=search.reason,
        backend=graph.backend,
        hardware=machine_name(context.machine, graph.backend, parameters.threads),
        prepare_milliseconds=search.prepare_milliseconds,
        searches=records,
        notes=[*graph.notes, *notes],
        graph=graph.described(),
        ran=executed(search, graph.backend),
        asked=asked_of(parameters) | placement_record(graph),
    )
    return traversal, measurement


def prepare_paths(
    graph: SearchedGraph, weights: Any, parameters: TraverseParameters
) -> tuple[ShortestPaths, list[str]]:
    """Make a graph that was read ready, with the weights of its arcs, wherever they are; and sentences."""
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.sssp import prepare

    strategy = "delta_stepping" if parameters.strategy == "auto" else parameters.strategy
    there = _placed(weights, graph) if graph.backend == "cuda" else numpy.asarray(on_host(weights))
    try:
        constants, notes = checked_tuning("shortest_paths", strategy, graph.backend, parameters.tuning)
        if graph.backend == "cuda" and not _may_order(parameters, graph):
            constants = {"by_weight": False} | constants
        search = prepare(
            graph.row_offsets,
            graph.columns,
            there,
            strategy=parameters.strategy,
            predecessor=parameters.output == "both",
            symmetric=graph.symmetric or None,
            **constants,
        )
    except ValueError as error:
        raise unusable(error, graph.permutation, parameters.direction) from None
    return search, notes


def _may_order(parameters: TraverseParameters, graph: SearchedGraph) -> bool:
    """Whether rows may be copied in the order of weights: symmetric ones on the device, within a limit."""
    limit, may = parameters.device_memory, graph.symmetric and graph.placed is None
    if not may or limit is None:
        return may
    n, m = graph.vertex_count, len(graph.columns)
    rows = 8 * n + (width_of(n) + WEIGHT_BYTES) * m
    return rows + _search_bytes(n, m) + m + ordered_bytes(m, width_of(n)) <= limit


def _placed(weights: Any, graph: SearchedGraph) -> Any:
    """Bring weights to where the columns of their arcs are: to the device, or to pinned host memory."""
    from gravel.kernels.arrays import on_host
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.placement.pinned import PinnedRefused, pin
    from gravel.kernels.placement.placed import in_pages

    if graph.placed is None:
        return on_device(weights)
    hint = "search with backend: cpu, or allow more locked memory (ulimit -l)"
    if graph.placement != "pinned":
        # What the system does not pin is streamed.
        raise StageError(
            f"algorithm shortest_paths does not read {graph.placement} rows; {graph.notes[-1]}", hint=hint
        )
    try:
        return pin(in_pages(on_host(weights))).view()
    except PinnedRefused as refused:
        raise StageError(f"the system does not pin the weights ({refused})", hint=hint) from None


class _Labels:
    """Labels of one search after another, on the host and in `symmetrize`'s numbering."""

    def __init__(self, context: Context, graph: SearchedGraph, searches: int) -> None:
        self._context, self._graph, self._searches = context, graph, searches
        self._sinks: list[Any] = [None, None]
        self._degrees: NDArray[Any] = graph.first_offsets[1:] - graph.first_offsets[:-1]

    def add(self, result: SSSPResult) -> dict[str, Any]:
        """Take the labels of a search, and return its record."""
        import numpy

        distance, predecessor, back = labels_back(self._graph.permutation, result)
        for place, label in enumerate((distance, predecessor)):
            if label is not None:
                if self._sinks[place] is None:
                    self._sinks[place] = self._context.sink(label.dtype, label.shape, rows=self._searches)
                self._sinks[place].append(label.reshape(1, -1))
        reached = numpy.isfinite(distance) & (distance >= 0)
        arcs = int(self._degrees[reached].sum())
        extra = self._graph.extra_ends
        ends = arcs if extra is None else arcs + int(on_this_side(extra)[reached].sum())
        return {
            "milliseconds": result.milliseconds,
            "map_back_milliseconds": back,
            "batch": 1,
            "reached": int(reached.sum()),
            "arcs": arcs,
            "edges": ends // 2 if self._graph.symmetric else arcs,
            "depth": 0,
            "levels": {"vertices": [], "arcs": [], "pulled": []},
            "rounds": result.rounds,
            "longest": distance[reached].max().item(),
        }

    def close(self) -> list[Any]:
        """Return distances and predecessors, (searches, vertices), None for what there is not."""
        return [None if sink is None else sink.close() for sink in self._sinks]


def on_this_side(array: Any) -> Any:
    """Return an array on the host."""
    from gravel.kernels.arrays import on_host

    return on_host(array)


def labels_back(permutation: Any, result: SSSPResult) -> tuple[Any, Any | None, float]:
    """Bring labels to the host and to the numbering before `permutation`; with the milliseconds of that."""
    import numpy

    from gravel.kernels.relabel import distances_back, invert, predecessors_back

    distance = on_this_side(result.distance)
    predecessor = None if result.predecessor is None else on_this_side(result.predecessor)
    if permutation is None:
        return distance, predecessor, 0.0
    started = time.perf_counter()
    there, distance = distance, numpy.empty_like(distance)
    distances_back(permutation, there, distance)
    if predecessor is not None:
        inverse = numpy.empty_like(permutation)
        invert(permutation, inverse)
        there, predecessor = predecessor, numpy.empty_like(predecessor)
        predecessors_back(permutation, inverse, there, predecessor)
    return distance, predecessor, (time.perf_counter() - started) * 1e3


def placing_of(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Placing:
    """Plan where columns and weights lie; raises `gravel.kernels.placement.DoesNotFit`."""
    backend, limits = backend_of_search(parameters, machine), Limits()
    limited = placement_asked(parameters) != "device" or parameters.device_memory is not None
    if backend == "cuda" and limited:
        # Weights that are pinned are copied to pages of their own.
        base = _beside_rows(parameters, graph) + WEIGHT_BYTES * graph.arcs
        limits = limits_of(parameters, machine, base)
    sizes = _sizes(parameters, graph, machine)
    return Placing(plan_rows(parameters, sizes, limits, backend), sizes, limits)


def _sizes(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Sizes:
    n, m = graph.vertices, graph.arcs
    rows = (width_of(n) + WEIGHT_BYTES) * m
    if backend_of_search(parameters, machine) == "cpu":
        return Sizes(rows=rows, on_device=0, beside=0, head=0)
    # Whether weights are usable takes a byte for each.
    beside = 8 * n + _search_bytes(n, m) + m
    ordered = 0 if graph.directed else ordered_bytes(m, width_of(n))
    if rows + beside + ordered + _encoded(graph) <= (parameters.device_memory or machine.device_memory):
        # Delta-stepping may search a copy of rows in the order of weights from the second source on.
        beside += ordered
    return Sizes(rows=rows, on_device=rows + beside + _encoded(graph), beside=beside, head=0)


def _search_bytes(vertices: int, arcs: int) -> int:
    """Count the queues and labels of a search on a GPU, with words of 64 bits."""
    width = width_of(vertices)
    return total((*searched(vertices, arcs, width), *labelled(vertices, width, 8, tree=True)))


def _encoded(graph: Extent) -> int:
    """Count what there is to decode, which stays until rows are made."""
    return graph.bytes if graph.kind == "CompressedGraph" else 0


def _label_bytes(parameters: TraverseParameters, vertices: int) -> int:
    """Count the labels of a search; what words take is known with the weights."""
    tree = 4 if vertices < 1 << 31 else 8
    return (8 + (tree if parameters.output == "both" else 0)) * vertices


def _beside_rows(parameters: TraverseParameters, graph: Extent) -> int:
    """Count what a search takes in host memory beside columns and weights; offsets that are decoded."""
    n, encoded = graph.vertices, _encoded(graph)
    back = (2 * width_of(n) + 8) * n if graph.kind != "Graph" else 0
    return COMPILED + 2 * _label_bytes(parameters, n) + back + encoded + (8 * n if encoded else 0)


def estimate(
    parameters: TraverseParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the queues and labels of one search, those that are kept, and rows that are decoded or pinned."""
    read = inputs["input"][0]
    graph = turned_extent(read, parameters.direction)
    n, m, count = graph.vertices, graph.arcs, stored_searches(parameters, graph.vertices)
    outputs = (
        Extent(
            kind="Traversal",
            vertices=n,
            arcs=m,
            bytes=_label_bytes(parameters, n) * count,
            searches=count,
            directed=read.directed,
            weighted=True,
            direction=parameters.direction,
        ),
        Extent(kind="Measurement", bytes=0),
    )
    refusal = without_weights(graph.kind)
    if refusal is None and not graph.weighted:
        refusal = (NO_WEIGHTS, NO_WEIGHTS_HINT)
    try:
        plan = placing_of(parameters, graph, machine).plan
    except DoesNotFit as error:
        # Without limits it is stated what the placement that is asked for would take.
        backend = backend_of_search(parameters, machine)
        plan = plan_rows(parameters, _sizes(parameters, graph, machine), Limits(), backend)
        if parameters.device_memory is not None or parameters.host_memory is not None:
            refusal = refusal or (str(error), error.hint)
    host, rows = _beside_rows(parameters, graph), (width_of(n) + WEIGHT_BYTES) * m
    if _encoded(graph) or plan.placement == "pinned":
        host += rows
    if plan.placement == "host":
        host += exact((*queues(n), *light_heavy(n)))
        if not graph.directed and parameters.strategy != "dijkstra":
            # Delta-stepping may search rows in the order of weights from the second source on.
            host += COMPILED_ORDERED + rows
    need = Need(
        host_bytes=host,
        device_bytes=plan.device_bytes,
        outputs=outputs,
        refusal="; ".join(refusal) if refusal else "",
    )
    return with_turning(need, read, parameters.direction, compiled=COMPILED)
