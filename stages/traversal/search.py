"""The way of a traversal: a stored graph is opened, made ready, and searched on the clock.

`search_graph` goes it, by the table of `gravel.stages.traversal.implementations`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of, on_host
from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.errors import StageError
from gravel.stages.traversal.graph import permutation_of, read_columns, read_encoded, why_decoded
from gravel.stages.traversal.implementations import IMPLEMENTATIONS, RUNS
from gravel.stages.traversal.memory import (
    NO_WEIGHTS,
    NO_WEIGHTS_HINT,
    NO_WEIGHTS_OF_RANKS_HINT,
    plan_for,
)
from gravel.stages.traversal.parameters import OF_ALL_VERTICES
from gravel.stages.traversal.preparation import prepare_rows
from gravel.stages.traversal.records import (
    add_statistics,
    asked_of,
    encoded_record,
    executed,
    machine_name,
    order_times,
    placement_record,
)
from gravel.stages.traversal.strategy import backend_of_search

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.context import Context
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import Placing, SearchedGraph
    from gravel.stages.traversal.labels import Labels
    from gravel.stages.traversal.parameters import TraverseParameters


def search_graph(
    context: Context, graph: SearchedGraph, sources: Any, parameters: TraverseParameters
) -> tuple[Traversal, Measurement]:
    """Search from every source, after a preparation and searches that compile and are not measured.

    Components have no sources, and are found `RUNS` times; once by ranks on CPU workers. With statistics the
    searches are made once more when all are timed, so that nothing is counted on the clock, and the order of
    the graph is timed, if it has one. Raises `StageError` for a strategy, a constant or weights that do not
    fit this graph.
    """
    from gravel.stages.artifacts import Measurement

    implementation = IMPLEMENTATIONS[graph.form, parameters.algorithm]
    if implementation.twice:
        # What compiles while a graph is prepared must not count as its preparation.
        prepare_search(context, graph, parameters)
    search, notes = prepare_search(context, graph, parameters)
    if parameters.algorithm in OF_ALL_VERTICES:
        named = [None] * getattr(search, "runs", RUNS)
        starts: list[Any] = named
    else:
        named, starts = sources.tolist(), graph.starts(sources)
    made = getattr(search, "labels_of", None) or resolve_name(implementation.labels)
    labels = made(context, graph, parameters, len(starts))
    if hasattr(search, "progress"):
        search.progress = lambda done, parts: context.progress(done, parts, "parts of a level")
    records = timed(context, graph, search, labels, named, starts, warm_ups=implementation.warm_ups)
    found, shared = labels.close()
    records = [record | shared for record in records]
    notes += [*getattr(search, "notes", []), *labels.notes()]
    described = described_search(context.machine, graph, search, parameters)
    if parameters.statistics and records:
        # Both workspaces at once might not fit.
        del search, labels
        described |= order_times(graph)
        notes += _count(context, graph, starts, records, parameters)
    notes += depth_notes(parameters)
    measurement = Measurement(**described, searches=records, notes=[*graph.notes, *notes])
    return labelled(parameters, sources, found, graph.vertex_count), measurement


def prepare_search(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters, *, statistics: bool = False
) -> tuple[Any, list[str]]:
    """Return a search, as the kernels of the algorithm have it, and sentences about what it leaves out.

    Raises `StageError` for a strategy, a constant or weights that do not fit.
    """
    implementation = IMPLEMENTATIONS[graph.form, parameters.algorithm]
    if implementation.arguments:
        return prepare_rows(graph, parameters, statistics=statistics)
    search, notes = resolve_name(implementation.entry)(context, graph, parameters)
    return search, notes


def _count(
    context: Context,
    graph: SearchedGraph,
    starts: Sequence[int],
    records: Sequence[dict[str, Any]],
    parameters: TraverseParameters,
) -> list[str]:
    """Add to records what searches with statistics count; returns notes."""
    if graph.placement == "streamed":
        return ["a streamed search does not count the arcs that it gathers"]
    if graph.partition is not None:
        return ["the searches of a partition do not count the arcs that they gather"]
    search, _ = prepare_search(context, graph, parameters, statistics=True)
    return add_statistics(graph, search, starts, records, parameters.max_depth)


def timed(
    context: Context,
    graph: SearchedGraph,
    search: Any,
    labels: Labels,
    sources: Sequence[Any],
    starts: Sequence[Any],
    *,
    warm_ups: int,
) -> list[dict[str, Any]]:
    """Search from every source, write its labels, and count what it reached; a record for each.

    `starts` are the sources in the numbering that is searched. `warm_ups` searches come before the clock.
    """
    records: list[dict[str, Any]] = []
    results = _results(graph, search, labels, starts, warm_ups)
    for source in sources:
        result = next(results)
        record = {"source": source, "milliseconds": result.milliseconds, **labels.add(source, result)}
        # The labels of the next search take no more.
        del result
        records.append(record | _rank_record(search))
        context.progress(len(records), len(sources), "runs" if source is None else "searches")
    if sources:
        next(results, None)  # which closes what the last search kept
    return records


def _rank_record(search: Any) -> dict[str, Any]:
    """Return what ranks say of the last search."""
    if getattr(search, "exchange", None):
        return {"exchange": search.exchange}
    if not getattr(search, "labels", ()):
        return {}
    from gravel.stages.ranks.levels import levels_by_rank

    return levels_by_rank(search)


def _results(
    graph: SearchedGraph, search: Any, labels: Labels, starts: Sequence[Any], warm_ups: int
) -> Iterator[Any]:
    """Search from one vertex after another, or from as many at once as the search takes."""
    from gravel.kernels.cuda.wake import wake

    if hasattr(search, "run_each"):
        # Ranks on workers take all sources together, and still search and measure each alone.
        search.run(starts[0])
        yield from search.run_each(starts)
        search.close()
        return
    if hasattr(search, "several"):
        # Ranks that find them `runs` times have compiled before.
        found, times, search.exchange = search.several(len(starts) + warm_ups * (not hasattr(search, "runs")))
        yield from (replace(found, milliseconds=each) for each in times[-len(starts) :])
        return
    size = getattr(search, "batch", 1)
    for first in range(0, len(starts), size):
        several = starts[first : first + size]
        for _ in range(0 if first else warm_ups):
            labels.warm(_run(search, several)[0])
        # Labels were copied to the host in between, and an idle GPU lowers its clocks.
        if graph.backend == "cuda":
            wake()
        yield from _run(search, several)


def _run(search: Any, starts: Sequence[Any]) -> list[Any]:
    if hasattr(search, "run_many"):
        return list(search.run_many(starts).searches())
    return [search.run(starts[0])]


def described_search(
    machine: Machine, graph: SearchedGraph, search: Any, parameters: TraverseParameters
) -> dict[str, Any]:
    """Say how a graph was searched: the fields of a measurement beside times, searches and notes."""
    backend = getattr(search, "backend", graph.backend)
    # Ranks on GPUs place their own columns.
    ranks = {"placement": search.placement} if hasattr(search, "placement") else {}
    return {
        "algorithm": parameters.algorithm,
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
    parameters: TraverseParameters, sources: Any, found: dict[str, Any], vertex_count: int
) -> Traversal:
    """Make the artifact of labels, a row for each source."""
    import numpy

    from gravel.stages.artifacts import Traversal

    return Traversal(
        algorithm=parameters.algorithm,
        sources=None if sources is None else numpy.asarray(sources, numpy.int64),
        vertex_count=vertex_count,
        max_depth=parameters.max_depth,
        direction=parameters.direction,
        **found,
    )


def open_graph(
    parameters: TraverseParameters, stored: Graph | CompressedGraph | Partition, machine: Machine
) -> SearchedGraph:
    """Open a graph, placed and encoded as the search wants it, and limit the threads of this process.

    Raises `StageError`, before anything is read, for a placement that does not fit and for weights that lack.
    """
    from gravel.kernels.threads import set_threads

    placed = replace(
        machine,
        backend=backend_of_search(parameters, machine),
        threads=min(machine.threads, parameters.threads or machine.threads),
    )
    set_threads(placed.threads)
    weights = weights_of(stored) if parameters.algorithm == "shortest_paths" else None
    # The ranks of a partition place its rows.
    split = isinstance(stored, Partition) or getattr(stored, "subgraphs", None) is not None
    placing = None if split else plan_for(parameters, stored, placed)
    if isinstance(stored, CompressedGraph):
        graph = _open_compressed(parameters, stored, placed, placing)
    else:
        graph = read_graph(stored, placed, placing)
    if placed.backend != machine.backend and graph.partition is None:
        graph.notes.append("searched on the CPU")
    if parameters.threads is not None and parameters.threads > placed.threads:
        graph.notes.append(f"{parameters.threads} threads were asked for, and {placed.threads} used")
    return graph if weights is None else replace(graph, weights=weights)


def weights_of(stored: Graph | CompressedGraph | Partition) -> Any:
    """Return the weights of a graph's arcs, read, or None where its ranks have them.

    Raises `StageError` for a graph without.
    """
    if isinstance(stored, Partition):
        if not stored.has_weights:
            raise StageError(NO_WEIGHTS, hint=NO_WEIGHTS_OF_RANKS_HINT)
        return None
    found = getattr(stored, "weights", None)
    if found is None:
        raise StageError(NO_WEIGHTS, hint=NO_WEIGHTS_HINT)
    if isinstance(stored, CompressedGraph):
        from gravel.stages.rows.decoding import unpacked_weights

        return unpacked_weights(found)
    return found if backend_of(found) == "cuda" else on_host(found)


def _open_compressed(
    parameters: TraverseParameters, stored: CompressedGraph, machine: Machine, placing: Placing | None
) -> SearchedGraph:
    """Leave rows encoded where the search reads them so, and decode the others."""
    from gravel.stages.ranks import partition

    if stored.subgraphs is not None:
        why = partition.why_ranks_decoded(parameters, stored, machine)
        if why:
            return read_graph(stored, machine, placing, decoded=why)
        notes = [f"rows of layout {stored.codec} were searched as they are, by each rank its own"]
        return partition.read_partition(stored, permutation_of(stored), machine, notes)
    placement = "device" if placing is None else placing.plan.placement
    why = why_decoded(parameters, placement, stored.codec)
    if why:
        return read_graph(stored, machine, placing, decoded=why)
    return read_encoded(stored, permutation_of(stored), machine, placing)


def read_graph(
    stored: Graph | CompressedGraph | Partition,
    machine: Machine,
    placing: Placing | None = None,
    *,
    decoded: str = "decoded before the search",
) -> SearchedGraph:
    """Read a stored graph as columns, and bring it to the machine's backend.

    `placing` says where its rows go there; without it, on the device of a GPU. The rows of a compressed graph
    are decoded, which the note `decoded` says. Raises `StageError` when they are damaged.
    """
    if isinstance(stored, CompressedGraph):
        return _read_decoded(stored, machine, placing, decoded)
    if isinstance(stored, Partition):
        from gravel.stages.ranks.partition import read_partition

        return read_partition(stored, permutation_of(stored), machine)
    return read_columns(stored, permutation_of(stored), machine, placing)


def _read_decoded(
    stored: CompressedGraph, machine: Machine, placing: Placing | None, decoded: str
) -> SearchedGraph:
    from gravel.stages.ranks.partition import read_partition
    from gravel.stages.rows.decoding import decompress
    from gravel.stages.rows.encoded import columns_as_stored

    placement = "device" if placing is None else placing.plan.placement
    permutation = permutation_of(stored)
    if stored.codec == "csr" and stored.subgraphs is None and placement == "streamed":
        return read_columns(columns_as_stored(stored), permutation, machine, placing, [decoded])
    # What does not lie on the device is not decoded there either.
    # Weights are brought by what searches by them.
    backend = machine.backend if placement == "device" else "cpu"
    plain = decompress(replace(stored, weights=None), backend=backend)
    if isinstance(plain, Partition):
        return read_partition(plain, permutation, machine, [decoded])
    return read_columns(plain, permutation, machine, placing, [decoded])
