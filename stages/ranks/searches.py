"""Searches of a partition by its ranks: all in this process or on its GPU, or each on a worker of its own.

On workers a partition stays in memory from the first source to the last: `context.rank_group` is called for
some sources at a time, as many as their labels have room for, and finds on each worker what the first call
left.
"""

from __future__ import annotations

import dataclasses
import difflib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.stages.errors import StageError
from gravel.stages.ranks.label_ranges import WrittenResult, WrittenSearches, may_be_written
from gravel.stages.ranks.levels import SearchOnGpu
from gravel.stages.ranks.partition import ON_CPU
from gravel.stages.ranks.placement import RankPlan, plan_encoded, plan_loaded
from gravel.stages.ranks.rank import RankTask, check_nccl_options, search_as_rank
from gravel.stages.rows.encoded import encoded_ranks
from gravel.stages.traversal.memory import LABEL_BYTES
from gravel.stages.traversal.rank_memory import rank_device_bytes
from gravel.stages.traversal.records import ranks_are, unread_notes, with_options

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult, Search
    from gravel.kernels.bfs.query import Query
    from gravel.kernels.partition import PartitionedGraph, SearchOptions
    from gravel.stages.context import Context
    from gravel.stages.ranks.label_ranges import LabelRanges
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

Options = TypeVar("Options")


def search_options(tuning: Mapping[str, Any], *, ranks: int = 1) -> SearchOptions:
    """Read the options of a search over ranks.

    Raises `StageError` for a name or value that none has, and for groups that do not fit the ranks.
    """
    from gravel.kernels.exchange import Groups
    from gravel.kernels.partition.options import SearchOptions

    options = read_options(SearchOptions, tuning, "a search over ranks")
    if options.groups:
        try:
            Groups.of(0, ranks, options.groups)
        except ValueError as error:
            raise StageError(str(error)) from None
    return options


def read_options(options: type[Options], tuning: Mapping[str, Any], whose: str) -> Options:
    """Read a dataclass of options, all with defaults; raises `StageError` for what it does not take."""
    kinds = {field.name: type(field.default) for field in dataclasses.fields(options)}  # type: ignore[arg-type]
    chosen: dict[str, Any] = {}
    for name, value in tuning.items():
        if name not in kinds:
            near = difflib.get_close_matches(name, kinds, 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            known = ", ".join(kinds)
            raise StageError(f"{whose} has no constant {name!r}{meant}; it has {known}")
        kind = kinds[name]
        fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and kind is not bool):
            wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]
            raise StageError(f"constant {name!r} of {whose} is {value!r}; it is {wanted}")
        chosen[name] = value
    try:
        return options(**chosen)
    except ValueError as error:
        raise StageError(str(error)) from None


def prepare_ranks(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters
) -> tuple[Search, list[str]]:
    """Make a partition ready for searches; returns sentences on what could not be as asked, too.

    Raises `StageError` for options that ranks do not take where they search, and where GPUs have no room.
    """
    assert graph.partition is not None
    ranks = graph.partition.ranks
    options = search_options(parameters.tuning, ranks=ranks)
    notes = []
    if options.direction_optimized and not graph.symmetric:
        notes.append("a graph that is not symmetric is searched forward alone")
    is_stored = graph.stored is not None or graph.compressed is not None
    grouped = ranks > 1 and context.reserved >= ranks and is_stored
    plan = None
    if parameters.backend == "cuda" and context.machine.backend == "cuda":
        graph.notes[:] = [note for note in graph.notes if note != ON_CPU]
        plan, more = plan_partition(context, graph, parameters, options, grouped=grouped)
        notes += more
    elif parameters.transport != "auto":
        notes.append(f"transport {parameters.transport} is for ranks on GPUs, and was left out")
    backend = "cpu" if plan is None else "cuda"
    are = ranks_are(backend, parameters.transport, grouped=grouped)
    notes += unread_notes(options, parameters.tuning, are)
    if grouped:
        return with_options(RankGroupSearch(context, graph, parameters, options, plan), options, are), notes
    if ranks > 1:
        workers, turns = ("workers", "the ranks took turns in one process")
        if plan is not None:
            workers, turns = "GPUs", "one holds all ranks"
        notes.append(f"{ranks} {workers} were not there at once, so {turns}")
    search = _prepare_here(graph.partition, graph, parameters, options, plan)
    return with_options(search, options, are), notes


def asked_of(graph: SearchedGraph, parameters: TraverseParameters) -> Query:
    """Give what the parameters ask of a search of this graph."""
    from gravel.kernels.bfs.query import Query

    return Query(output=parameters.output, symmetric=graph.symmetric, max_depth=parameters.max_depth)


def plan_partition(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters, options: Any, *, grouped: bool
) -> tuple[RankPlan, list[str]]:
    """Choose where the columns of a partition lie on GPUs, one for each rank if they are `grouped`.

    Raises `StageError` for options that have no meaning there, and where columns do not fit as they are to be
    placed, or what else a GPU has to hold does not.
    """
    from gravel.kernels.partition.cuda.launch import check_culled
    from gravel.kernels.partition.cuda.staging import Staging, check_staged
    from gravel.kernels.partition.encoded import encoded_bytes, layout_of
    from gravel.kernels.partition.layout import arc_count
    from gravel.kernels.partition.storage import storage
    from gravel.stages.stage import Extent

    assert graph.partition is not None
    parts, ranks = graph.partition.parts, graph.partition.ranks
    if parameters.transport == "nccl":
        return _plan_over_nccl(context, parameters, options, ranks=ranks, grouped=grouped), []
    encoded = graph.compressed is not None
    size = sum(map(encoded_bytes, parts)) if encoded else storage(graph.partition)["bytes"]
    nn_arcs = sum(arc_count(part.nn) for part in parts)
    extent = Extent("Partition", graph.vertex_count, bytes=size, normal_arcs=nn_arcs)
    gpus = ranks if grouped else 1
    ways = {"relays": options.local_all_to_all, "uniquify": options.uniquify}
    whole = rank_device_bytes(extent, gpus, **ways)
    if encoded:
        plan = plan_encoded(parameters, context.machine, whole=whole)
    else:
        plan = plan_loaded(parameters, context.machine, graph.partition, whole=whole, gpus=gpus)
    notes = [] if plan.placement == "device" else [plan.described()]
    try:
        placed, staging, layout = plan.placement != "device", Staging.of(options, ranks), layout_of(parts[0])
        check_staged(staging, placed=placed, layout=layout)
        check_culled(options, placed=placed, layout=layout, staged=staging is not None)
    except ValueError as error:
        raise StageError(str(error)) from None
    return plan, notes


def _plan_over_nccl(
    context: Context, parameters: TraverseParameters, options: Any, *, ranks: int, grouped: bool
) -> RankPlan:
    """Check that ranks can search over NCCL; they have all on their GPUs.

    Raises `StageError` where there is no GPU for each rank, and where columns were to lie in host memory.
    """
    check_nccl_options(options)
    if parameters.placement not in ("auto", "device"):
        raise StageError(
            f"placement {parameters.placement} and transport nccl do not go together; ranks that send have "
            "all their columns on their GPUs",
            hint="leave the placement out, or use transport: peer",
        )
    if ranks > 1 and not grouped:
        there = max(1, context.reserved)
        raise StageError(
            f"NCCL takes a GPU for each rank; there are {ranks} ranks, and {there} GPUs were there at once",
            hint=f"search with {ranks} GPUs, or with transport: peer, which takes several ranks on a GPU",
        )
    return RankPlan("device", 0, 0, 0, "ranks that send have all their columns there")


def _prepare_here(
    partition: PartitionedGraph,
    graph: SearchedGraph,
    parameters: TraverseParameters,
    options: Any,
    plan: RankPlan | None,
) -> Any:
    """Return a search of all ranks in this process, or with a plan on its GPU."""
    given = partition, asked_of(graph, parameters), options
    if plan is None:
        from gravel.kernels.partition.search import PartitionSearch

        return PartitionSearch(*given)
    if parameters.transport == "nccl":
        from gravel.kernels.partition.nccl import NcclSearch

        return SearchOnGpu(_refused(NcclSearch, *given, hint="use transport: peer"), plan)
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    placing = plan.placing(partition.ranks)
    return SearchOnGpu(_refused(CudaPartitionSearch, *given, placing=placing), plan)


def _refused(prepare: Any, *given: Any, hint: str = "", **more: Any) -> Any:
    """Prepare a search; raises `StageError` for what the GPU's refuses."""
    try:
        return prepare(*given, **more)
    except ValueError as error:
        raise StageError(str(error), hint=hint) from None


class RankGroupSearch:
    """Search of all ranks, with every rank on a worker, or with a plan on its GPU."""

    def __init__(
        self,
        context: Context,
        graph: SearchedGraph,
        parameters: TraverseParameters,
        options: Any,
        plan: RankPlan | None,
    ) -> None:
        started = time.perf_counter()
        assert graph.partition is not None
        self.backend = "cpu" if plan is None else "cuda"
        if plan is not None:
            self.placement = plan.placement
        self.strategy = "partition"
        self.labels: Sequence[Any] = ()
        self._context, self._graph, self._asked = context, graph, asked_of(graph, parameters)
        ranks = graph.partition.ranks
        how = "striped" if graph.striped else "partitioned by degree"
        self.reason = f"the graph is {how}; each of {ranks} ranks on its own worker"
        encoded = None if graph.compressed is None else encoded_ranks(graph.compressed)
        arrays = {} if graph.stored is None else graph.stored.arrays
        token = uuid.uuid4().hex
        self._tasks = [
            RankTask(
                token=token,
                rank=rank,
                ranks=ranks,
                vertex_count=graph.vertex_count,
                striped=graph.striped,
                delegates=graph.partition.delegates if graph.stored is None else graph.stored.delegates,
                arrays={name: array for name, array in arrays.items() if name.startswith(f"rank{rank}/")},
                asked=self._asked,
                options=options,
                threads=context.machine.threads,
                backend=self.backend,
                transport=parameters.transport,
                placing=None if plan is None else plan.placing(1),
                encoded=None if encoded is None else encoded[rank],
            )
            for rank in range(ranks)
        ]
        self._size = max(1, LABEL_BYTES // (12 * max(1, graph.vertex_count)))
        self._written: LabelRanges | None = None
        # Ranks write their labels, unless those of all vertices are mapped back here.
        self.labels_of = self._written_labels if may_be_written(graph) else None
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _written_labels(self, *given: Any) -> WrittenSearches:
        made = WrittenSearches(*given)
        self._written = made.ranges
        return made

    def run(self, source: int) -> None:
        """Search from one vertex, and keep nothing."""
        self._call((source,))

    def run_each(self, sources: Sequence[int]) -> Iterator[Any]:
        """Search from one vertex after another; each result is valid until the next."""
        written = self._written
        size = self._size if written is None else written.together
        for first in range(0, len(sources), size):
            several = tuple(sources[first : first + size])
            if written is None:
                answers = self._call(several, returned=True)
            else:
                answers = self._call(several, writers=written.writers())
            for source in several:
                yield self._result(source, [answer.pop(0) for answer in answers])

    def _call(self, sources: tuple[int, ...], **more: Any) -> list[list[Any]]:
        tasks = [dataclasses.replace(task, sources=sources, **more) for task in self._tasks]
        return self._context.rank_group(search_as_rank, tasks)

    def _result(self, source: int, answers: Sequence[Any]) -> BFSResult | WrittenResult:
        if self._written is None:
            return self._put_together(source, answers)
        self.labels = [labels for labels, _ in answers]
        return WrittenResult(self._described(source), [written for _, written in answers])

    def _put_together(self, source: int, labels: Sequence[Any]) -> BFSResult:
        import numpy

        from gravel.kernels.partition.search import put_together

        asked = self._asked
        distance, predecessor = asked.wanted(*asked.allocate(self._graph.vertex_count, numpy))
        put_together(labels, distance, predecessor)
        # The records of levels are all that is asked for later: no process keeps all labels twice.
        none = numpy.empty(0, numpy.int32)
        self.labels = [dataclasses.replace(each, distance=none, predecessor=None) for each in labels]
        found = self._described(source)
        return dataclasses.replace(found, distance=distance, predecessor=predecessor)

    def _described(self, source: int) -> BFSResult:
        """Say of the last search what its ranks tell, without labels."""
        from gravel.kernels.bfs import BFSResult
        from gravel.kernels.partition.search import directions_of

        labels = self.labels
        milliseconds = max(rank.milliseconds for rank in labels)
        read = [bytes_ for rank in labels if (bytes_ := getattr(rank, "link_bytes", None)) is not None]
        directions = directions_of(labels)
        link = sum(read) if read else None
        return BFSResult(source, None, None, milliseconds, directions, link_bytes=link)

    def close(self) -> None:
        """Clear the partition from the workers' memory."""
        self._call(())
