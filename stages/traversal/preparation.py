"""Graphs made ready for searches: the arguments of kernels' entries, and the sources of searches."""

from __future__ import annotations

import time
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from gravel.kernels.algorithms import strategies_for
from gravel.kernels.layouts.layout import columns_as_rows
from gravel.stages.errors import StageError
from gravel.stages.traversal.buffers import WEIGHT_BYTES, batch_of, paths_searched, width_of
from gravel.stages.traversal.graph import offset_blocks
from gravel.stages.traversal.implementations import IMPLEMENTATIONS
from gravel.stages.traversal.parameters import OF_ALL_VERTICES
from gravel.stages.traversal.strategy import checked_tuning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from gravel.kernels.bfs import Choice
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.strategy import Ran
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

MAX_SHOWN = 10
"""Sources that an error names; one more would not help to find the fault."""


class ComponentsSearch:
    """Components as a search; `run` takes no source, or None."""

    def __init__(
        self, find: Callable[[], ComponentsResult], strategy: str, reason: str, milliseconds: float, ran: Ran
    ) -> None:
        self._find = find
        self.strategy, self.reason, self.ran = strategy, reason, ran
        self.prepare_milliseconds = milliseconds

    def run(self, source: None = None) -> ComponentsResult:
        """Find the components; raises `StageError` for constants that have no meaning."""
        try:
            return self._find()
        except ValueError as error:
            raise StageError(str(error)) from None


class Arguments(NamedTuple):
    """What an entry is called with.

    `planned` are constants that follow from where rows lie, in whose place those of `tuning` stand, and
    `options` what else the entry takes by name. `form` is that of the rows, and `milliseconds` were taken to
    make them.
    """

    strategy: str
    form: str
    rows: tuple[Any, ...]
    options: dict[str, Any]
    planned: dict[str, Any]
    milliseconds: float = 0.0


def prepare_rows(
    graph: SearchedGraph, parameters: TraverseParameters, *, statistics: bool
) -> tuple[Any, list[str]]:
    """Return a search of columns or of encoded rows, and sentences about what it leaves out.

    Raises `StageError` for a strategy, a constant or weights that do not fit.
    """
    algorithm = parameters.algorithm
    try:
        arguments = resolve_name(IMPLEMENTATIONS[graph.form, algorithm].arguments)
        given: Arguments = arguments(graph, parameters)
        implementation = IMPLEMENTATIONS[given.form, algorithm]
        constants, notes = checked_tuning(
            algorithm, given.strategy, graph.backend, parameters.tuning, given.form
        )
        if given.strategy == "multi_source":
            # It has labels for each search of a batch, and makes room for no more than come.
            constants["batch"] = batch_of(parameters)
        constants = given.planned | constants
        options = given.options | constants | ({"statistics": True} if statistics else {})
        prepare = partial(resolve_name(implementation.entry), *given.rows, **options)
        if algorithm not in OF_ALL_VERTICES:
            return prepare(), notes
        reason = "it is the default" if parameters.strategy == "auto" else "asked for"
        ran = strategies_for(algorithm, given.form)[given.strategy].ran(graph.backend, constants)
        if not implementation.preparation:
            return ComponentsSearch(prepare, given.strategy, reason, given.milliseconds, ran), notes
        ready = prepare()
        notes += getattr(ready, "notes", [])
        took = ready.prepare_milliseconds
        return ComponentsSearch(ready.run, given.strategy, reason, took, ran), notes
    except ValueError as error:
        from gravel.stages.weights import unusable

        raise unusable(error, graph.permutation, parameters.direction) from None


def of_bfs(graph: SearchedGraph, parameters: TraverseParameters) -> Arguments:
    """Choose the strategy for rows as they lie; raises ValueError for one that does not search them."""
    choice = _choice(graph, parameters)
    options = {"output": parameters.output, "symmetric": graph.symmetric, "max_depth": parameters.max_depth}
    planned: dict[str, Any] = {}
    if graph.placed is not None:
        plan = graph.placed.plan
        if plan.placement == "streamed":
            planned = {"buffer_bytes": plan.buffer_bytes}
        elif plan.placement == "split":
            planned = {"heads": plan.heads if graph.symmetric else 0, "keep": plan.keep}
    rows = (graph.row_offsets, graph.columns) if graph.rows is None else (graph.rows,)
    return Arguments(choice.strategy, graph.form, rows, {**options, "strategy": choice}, planned)


def _choice(graph: SearchedGraph, parameters: TraverseParameters) -> Choice:
    from gravel.kernels import bfs

    strategy = parameters.strategy
    if graph.placed is not None and graph.placement == "streamed":
        # Rows that were to be pinned, for host_rows, are streamed where the system pins no memory.
        if strategy not in ("auto", "host_rows", "streamed"):
            raise ValueError(f"strategy {strategy!r} does not search rows of placement streamed")
        reason = "asked for" if strategy == "streamed" else graph.placed.plan.reason
        return bfs.Choice("streamed", reason, 0.0)
    if graph.placed is not None and strategy == "auto":
        return bfs.Choice("host_rows", graph.placed.plan.reason, 0.0)
    if graph.rows is not None:
        return bfs.choose_for_rows(graph.rows, symmetric=graph.symmetric, strategy=strategy)
    return bfs.choose(graph.row_offsets, graph.columns, symmetric=graph.symmetric, strategy=strategy)


def of_paths(graph: SearchedGraph, parameters: TraverseParameters) -> Arguments:
    """Bring weights to their columns; raises `StageError` where the system has no room for them there."""
    import numpy

    from gravel.kernels.arrays import on_host

    on_gpu = graph.backend == "cuda"
    weights = _placed_weights(graph) if on_gpu else numpy.asarray(on_host(graph.weights))
    return Arguments(
        "delta_stepping" if parameters.strategy == "auto" else parameters.strategy,
        "columns",
        (graph.row_offsets, graph.columns, weights),
        {
            "strategy": parameters.strategy,
            "predecessor": parameters.output == "both",
            "symmetric": graph.symmetric or None,
        },
        {"by_weight": False} if on_gpu and not _may_order(parameters, graph) else {},
    )


def _may_order(parameters: TraverseParameters, graph: SearchedGraph) -> bool:
    """Whether rows may be copied in the order of weights: symmetric ones on the device, within a limit."""
    from gravel.kernels.buffers import total
    from gravel.kernels.sssp.buffers import ordered_bytes

    limit, may = parameters.device_memory, graph.symmetric and graph.placed is None
    if not may or limit is None:
        return may
    n, m = graph.vertex_count, len(graph.columns)
    rows = 8 * n + (width_of(n) + WEIGHT_BYTES) * m
    return rows + total(paths_searched(n, m)) + m + ordered_bytes(m, width_of(n)) <= limit


def _placed_weights(graph: SearchedGraph) -> Any:
    """Bring weights to where the columns of their arcs are: to the device, or to pinned host memory."""
    from gravel.kernels.arrays import on_host
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.placement.pinned import PinnedRefused, pin
    from gravel.kernels.placement.placed import in_pages

    if graph.placed is None:
        return on_device(graph.weights)
    hint = "search with backend: cpu, or allow more locked memory (ulimit -l)"
    if graph.placement != "pinned":
        # What the system does not pin is streamed.
        raise StageError(
            f"algorithm shortest_paths does not read {graph.placement} rows; {graph.notes[-1]}", hint=hint
        )
    try:
        return pin(in_pages(on_host(graph.weights))).view()
    except PinnedRefused as refused:
        raise StageError(f"the system does not pin the weights ({refused})", hint=hint) from None


def of_components(graph: SearchedGraph, parameters: TraverseParameters) -> Arguments:
    """Choose the strategy for rows as they lie, and take columns as rows of which a GPU keeps the first.

    Raises `StageError` for a strategy that does not search streamed rows.
    """
    from gravel.kernels.components import default_on

    plan = None if graph.placed is None else graph.placed.plan
    name = parameters.strategy
    if plan is not None and graph.placement == "streamed":
        if name not in ("auto", "streamed"):
            raise StageError(
                f"strategy {name!r} does not search rows of placement streamed",
                hint="leave strategy out, or ask for streamed",
            )
        name = "streamed"
    elif name == "auto":
        encoded = graph.rows is not None or (plan is not None and plan.heads)
        name = "afforest" if encoded else default_on(graph.backend, graph.vertex_count)
    rows, planned = graph.rows, {}
    if plan is not None and graph.placement == "streamed":
        planned = {"buffer_bytes": plan.buffer_bytes}
    elif plan is not None and plan.heads and name == "afforest":
        planned = {"rounds": plan.heads, "keep": plan.keep}
        rows = columns_as_rows(graph.row_offsets, graph.columns) if rows is None else rows
    options = {"symmetric": graph.symmetric, "strategy": name}
    if rows is None:
        return Arguments(name, "columns", (graph.row_offsets, graph.columns), options, planned)
    return Arguments(name, "encoded", (rows,), options, planned)


def of_strong_components(graph: SearchedGraph, parameters: TraverseParameters) -> Arguments:
    """Make rows of predecessors, where the strategy reads them."""
    from gravel.kernels.csr.reversed import reversed_rows
    from gravel.kernels.strong_components import default_on

    name = default_on(graph.backend) if parameters.strategy == "auto" else parameters.strategy
    rows = graph.row_offsets, graph.columns
    started = time.perf_counter()
    back: tuple[Any, ...] = ()
    if name != "tarjan":
        back = rows if graph.symmetric else reversed_rows(*rows)[:2]
        if graph.backend == "cuda":
            import cupy

            cupy.cuda.get_current_stream().synchronize()
    taken = (time.perf_counter() - started) * 1e3
    return Arguments(name, "columns", (*rows, *back), {"strategy": name}, {}, taken)


def draw_sources(row_offsets: Any, count: int, seed: int) -> NDArray[Any]:
    """Draw vertices that have arcs, without replacement; all of them where there are fewer.

    `row_offsets`, as `offset_blocks` takes them, are in `symmetrize`'s numbering, so that every order, layout
    and number of ranks searches from the same vertices.
    """
    import numpy

    def filled() -> Iterator[tuple[int, NDArray[Any]]]:
        return ((first, some[1:] != some[:-1]) for first, some in offset_blocks(row_offsets))

    chosen = _places(sum(int(numpy.count_nonzero(some)) for _, some in filled()), count, seed)
    found = numpy.empty(len(chosen), numpy.int64)
    before = 0
    for first, some in filled():
        last = before + int(numpy.count_nonzero(some))
        here = (chosen >= before) & (chosen < last)
        if here.any():
            found[here] = numpy.flatnonzero(some)[chosen[here] - before] + first
        before = last
    return found


def draw_among(candidates: NDArray[Any], count: int, seed: int) -> NDArray[Any]:
    """Draw some of the vertices, without replacement; all of them where there are fewer."""
    chosen: NDArray[Any] = candidates[_places(len(candidates), count, seed)]
    return chosen


def _places(total: int, count: int, seed: int) -> NDArray[Any]:
    import numpy

    if total <= count:
        return numpy.arange(total)
    return numpy.random.Generator(numpy.random.PCG64(seed)).choice(total, count, replace=False)


def check_sources(vertices: Sequence[int], vertex_count: int) -> NDArray[Any]:
    """Check given vertices; raises `StageError` that names those which the graph does not have."""
    import numpy

    wrong = [vertex for vertex in vertices if not 0 <= vertex < vertex_count]
    if wrong:
        listed = ", ".join(str(vertex) for vertex in wrong[:MAX_SHOWN])
        more = f" and {len(wrong) - MAX_SHOWN} more" if len(wrong) > MAX_SHOWN else ""
        raise StageError(
            f"no such source: {listed}{more}; the graph has {vertex_count} vertices, counted from 0",
            hint="name sources that are in the graph",
        )
    return numpy.array(vertices, numpy.int64)


def sources_of(parameters: TraverseParameters, graph: SearchedGraph) -> NDArray[Any]:
    """Draw or check the sources, in `symmetrize`'s numbering; raises `StageError` for one that is none."""
    sources: Any = parameters.sources
    if hasattr(sources, "random"):
        return draw_sources(graph.first_offsets, sources.random, sources.seed)
    return check_sources(getattr(sources, "vertices", sources), graph.vertex_count)
