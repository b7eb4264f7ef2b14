"""Searches from several sources: measured one by one, or in batches where the strategy makes those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gravel.kernels.strategy import COLUMNS, ENCODED
from gravel.stages.errors import StageError
from gravel.stages.traversal.placing import batch_of
from gravel.stages.traversal.records import asked_of, encoded_record, executed, placement_record
from gravel.stages.traversal.strategy import checked_tuning, machine_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult, Choice, Search
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.context import Context
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.labels import LabelWriter
    from gravel.stages.traversal.parameters import TraverseParameters


@runtime_checkable
class Series(Protocol):
    """A search that takes its sources together, and still searches and measures each alone."""

    def run(self, source: int) -> BFSResult:
        """Search from one vertex."""
        ...

    def run_each(self, sources: Sequence[int]) -> Iterator[BFSResult]:
        """Search from one vertex after another; each result is valid until the next."""
        ...

    def close(self) -> None:
        """Release what was kept from the first source to the last."""
        ...


def search_all(
    context: Context, graph: SearchedGraph, sources: NDArray[Any], parameters: TraverseParameters
) -> tuple[Traversal, Measurement]:
    """Search from every source, after one preparation and one search that compile and are not measured.

    With statistics the searches are made once more when all are timed, so that nothing is counted on the
    clock, and the order of the graph is timed, if it has one. Raises `StageError` for a strategy or a tuning
    constant that does not fit this graph.
    """
    import numpy

    from gravel.stages.artifacts import Measurement
    from gravel.stages.traversal.labels import LabelWriter
    from gravel.stages.traversal.records import OrderTimes, add_statistics, order_times

    permutation = graph.permutation
    starts = (sources if permutation is None else permutation[sources].astype(numpy.int64)).tolist()
    # What compiles while a graph is prepared must not count as its preparation.
    batch = batch_of(parameters)
    prepare_search(context, graph, parameters, batch=batch)
    search, notes = prepare_search(context, graph, parameters, batch=batch)
    writer = LabelWriter(context, graph, parameters.output, len(starts))
    if hasattr(search, "progress"):
        search.progress = lambda done, parts: context.progress(done, parts, "parts of a level")
    records = timed(context, graph, search, writer, sources.tolist(), starts)
    labels = writer.close()
    notes += getattr(search, "notes", [])
    described = described_search(context.machine, graph, search, parameters)
    ordering = OrderTimes()
    if parameters.statistics and records:
        # Both workspaces at once might not fit.
        del search, writer
        ordering = order_times(graph)
        if graph.placement == "streamed":
            notes.append("a streamed search does not count the arcs that it gathers")
        elif graph.partition is None:
            counting, _ = prepare_search(context, graph, parameters, statistics=True, batch=batch)
            notes += add_statistics(graph, counting, starts, records, parameters.max_depth)
        else:
            notes.append("the searches of a partition do not count the arcs that they gather")
    notes += depth_notes(parameters)
    measurement = Measurement(
        **described,
        order_milliseconds=ordering.total,
        order_find_milliseconds=ordering.find,
        searches=records,
        notes=[*graph.notes, *notes],
    )
    return labelled(parameters, sources, labels, graph.vertex_count), measurement


def described_search(
    machine: Machine, graph: SearchedGraph, search: Search, parameters: TraverseParameters
) -> dict[str, Any]:
    """Say how a graph was searched: the fields of a measurement beside times, searches and notes."""
    backend = getattr(search, "backend", graph.backend)
    # Ranks on GPUs place their own columns.
    ranks = {"placement": search.placement} if hasattr(search, "placement") else {}
    return {
        "algorithm": "bfs",
        "strategy": search.strategy,
        "reason": search.reason,
        "backend": backend,
        "hardware": machine_name(machine, backend, parameters.threads),
        "prepare_milliseconds": search.prepare_milliseconds,
        "graph": graph.described(),
        "ran": executed(search, backend),
        "asked": asked_of(parameters) | placement_record(graph) | encoded_record(graph) | ranks,
    }


def depth_notes(parameters: TraverseParameters) -> list[str]:
    """Say what a depth means for the counts of arcs."""
    if parameters.max_depth is None:
        return []
    return [f"arcs of vertices at distance {parameters.max_depth} are counted, and were not followed"]


def labelled(
    parameters: TraverseParameters, sources: Any, labels: tuple[Any, Any], vertex_count: int
) -> Traversal:
    """Make the artifact of distances and predecessors, a row for each source."""
    import numpy

    from gravel.stages.artifacts import Traversal

    return Traversal(
        algorithm="bfs",
        sources=numpy.asarray(sources, numpy.int64),
        distance=labels[0],
        predecessor=labels[1],
        vertex_count=vertex_count,
        max_depth=parameters.max_depth,
        direction=parameters.direction,
    )


def prepare_search(
    context: Context,
    graph: SearchedGraph,
    parameters: TraverseParameters,
    *,
    statistics: bool = False,
    batch: int | None = None,
) -> tuple[Search, list[str]]:
    """Return a search and sentences about what it leaves out.

    `batch` is how many searches come at once, if that is known: a strategy with labels for each of a batch
    makes room for no more.
    """
    if graph.partition is not None:
        from gravel.stages.ranks.searches import prepare_ranks

        return prepare_ranks(context, graph, parameters)
    from gravel.kernels import bfs

    given: dict[str, Any] = {
        "output": parameters.output,
        "symmetric": graph.symmetric,
        "max_depth": parameters.max_depth,
    }
    layout = COLUMNS if graph.rows is None else ENCODED
    try:
        choice = _choice(graph, parameters)
        constants, notes = checked_tuning("bfs", choice.strategy, graph.backend, parameters.tuning, layout)
        if choice.strategy == "multi_source" and batch is not None:
            constants["batch"] = batch
        given |= {"strategy": choice} | _planned(graph) | constants
        if graph.rows is not None:
            return bfs.prepare_rows(graph.rows, statistics=statistics, **given), notes
        search = bfs.prepare(graph.row_offsets, graph.columns, statistics=statistics, **given)
    except ValueError as error:
        raise StageError(str(error)) from None
    return search, notes


def _choice(graph: SearchedGraph, parameters: TraverseParameters) -> Choice:
    """Choose the strategy for rows as they lie; raises ValueError for one that does not search them."""
    from gravel.kernels import bfs

    strategy = parameters.strategy
    if graph.placed is not None and graph.placement == "streamed":
        # Rows that were to be pinned, for host_rows, are streamed where the system pins no memory.
        if strategy not in ("auto", "host_rows", "streamed"):
            raise ValueError(f"strategy {strategy!r} does not search rows of placement streamed")
        asked = "asked for" if strategy == "streamed" else graph.placed.plan.reason
        return bfs.Choice("streamed", asked, 0.0)
    if graph.placed is not None and strategy == "auto":
        return bfs.Choice("host_rows", graph.placed.plan.reason, 0.0)
    if graph.rows is not None:
        return bfs.choose_for_rows(graph.rows, symmetric=graph.symmetric, strategy=strategy)
    return bfs.choose(graph.row_offsets, graph.columns, symmetric=graph.symmetric, strategy=strategy)


def _planned(graph: SearchedGraph) -> dict[str, Any]:
    """Return the constants that follow from where rows lie."""
    if graph.placed is None:
        return {}
    plan = graph.placed.plan
    if plan.placement == "streamed":
        return {"buffer_bytes": plan.buffer_bytes}
    if plan.placement == "split":
        return {"heads": plan.heads if graph.symmetric else 0, "keep": plan.keep}
    return {}


def _over_link(result: BFSResult) -> dict[str, Any]:
    """Tell what was read out of host memory, by all GPUs together, and at what rate."""
    if result.link_bytes is None:
        return {}
    rate = result.link_bytes / result.milliseconds / 1e6 if result.milliseconds else 0.0
    return {"link_bytes": result.link_bytes, "link_gigabytes_per_second": rate}


def _launches(result: BFSResult) -> dict[str, Any]:
    """Tell how many kernels the host started for the levels, and of how many threads."""
    if not result.launches:
        return {}
    sizes = result.launches
    return {
        "launches": len(sizes),
        "launch_threads": {"least": min(sizes), "most": max(sizes), "sum": sum(sizes)},
    }


def timed(
    context: Context,
    graph: SearchedGraph,
    search: Search,
    writer: LabelWriter,
    sources: Sequence[int],
    starts: Sequence[int],
    *,
    warm: bool = True,
) -> list[dict[str, Any]]:
    """Search from every source, write its labels, and count what it reached; a record for each.

    `starts` are the sources in the numbering that is searched. With `warm` one search comes before the clock.
    """
    from gravel.stages.traversal.records import levels_by_rank, reached

    records: list[dict[str, Any]] = []
    for source, result in zip(sources, _results(graph, search, starts, warm), strict=True):
        distance, predecessor, back = writer.append(result)
        records.append(
            {
                "source": source,
                "milliseconds": result.milliseconds,
                "map_back_milliseconds": back,
                "batch": result.batch,
                **_over_link(result),
                **_launches(result),
                **reached(graph, source, result, distance, predecessor),
                **levels_by_rank(search),
            }
        )
        context.progress(len(records), len(sources), "searches")
    return records


def _results(graph: SearchedGraph, search: Search, starts: Sequence[int], warm: bool) -> Iterator[BFSResult]:
    """Search from one vertex after another, or from as many at once as the search takes."""
    from gravel.kernels.bfs import BatchSearch
    from gravel.kernels.cuda.wake import wake

    if isinstance(search, Series):
        search.run(starts[0])
        yield from search.run_each(starts)
        search.close()
        return
    size = search.batch if isinstance(search, BatchSearch) else 1
    for first in range(0, len(starts), size):
        several = starts[first : first + size]
        if first == 0 and warm:
            _run(search, several)
        # Labels were copied to the host in between, and an idle GPU lowers its clocks.
        if graph.backend == "cuda":
            wake()
        yield from _run(search, several)


def _run(search: Search, starts: Sequence[int]) -> list[BFSResult]:
    from gravel.kernels.bfs import BatchSearch

    if isinstance(search, BatchSearch):
        return search.run_many(starts).searches()
    return [search.run(starts[0])]
