"""Searches of a partition: all ranks in lock step in this process, or each on a worker of its own.

On workers a partition stays in memory from the first source to the last: `context.rank_group` is called for
some sources at a time, as many as their labels have room for, and finds on each worker what the first call
left.
"""

from __future__ import annotations

import dataclasses
import difflib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.stages.errors import StageError
from gravel.stages.traversal.encoded_ranks import encoded_ranks
from gravel.stages.traversal.records import with_options
from gravel.stages.traversal.residents import Residents

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult, Search
    from gravel.kernels.partition import SearchOptions
    from gravel.kernels.partition.cuda.placing import Placing
    from gravel.kernels.partition.program import RankLabels
    from gravel.kernels.partition.rank_search import RankSearch
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.encoded_ranks import EncodedRank
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traverse import TraverseParameters

Options = TypeVar("Options")

LABEL_BYTES = 256 << 20
"""Of the labels that one call of the gang brings back; they pass through memory twice."""


def search_options(tuning: Mapping[str, Any]) -> SearchOptions:
    """Read the options of a search over ranks; raises `StageError` for a name or value that none has."""
    from gravel.kernels.partition import SearchOptions

    return read_options(SearchOptions, tuning, "a search over ranks")


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

    Raises `StageError` for options that are none, or whose groups do not fit the ranks.
    """
    from gravel.kernels.exchange import Groups
    from gravel.kernels.partition import prepare

    assert graph.partition is not None
    if graph.stored is not None and graph.stored.scheme == "striped":
        from gravel.stages.traversal.striped import prepare_stripes

        return prepare_stripes(context, graph, parameters)
    options = search_options(parameters.tuning)
    ranks = graph.partition.ranks
    if options.groups:
        try:
            Groups.of(0, ranks, options.groups)
        except ValueError as error:
            raise StageError(str(error)) from None
    notes = []
    if options.direction_optimized and not graph.symmetric:
        notes.append("a graph that is not symmetric is searched forward alone")
    if parameters.backend == "cuda" and context.machine.backend == "cuda":
        from gravel.stages.traversal.gpu_ranks import prepare_on_gpus

        search, more = prepare_on_gpus(context, graph, parameters, options)
        return with_options(search, options), notes + more
    if parameters.transport != "auto":
        notes.append(f"transport {parameters.transport} is for ranks on GPUs, and was left out")
    held = graph.stored is not None or graph.compressed is not None
    if ranks > 1 and context.reserved >= ranks and held:
        return with_options(GangSearch(context, graph, parameters, options), options), notes
    if ranks > 1:
        notes.append(f"{ranks} workers were not there at once, so the ranks took turns in one process")
    search = prepare(
        graph.partition,
        output=parameters.output,
        max_depth=parameters.max_depth,
        symmetric=graph.symmetric,
        options=options,
    )
    return with_options(search, options), notes


def told_by_ranks(search: Any) -> dict[str, Any]:
    """Describe the last search's levels as its ranks tell them, under `ranks`; {} for other searches.

    Lists over levels: `visit`, `reduce` and `exchange`, the slowest rank's milliseconds, `local_exchange` and
    `remote_exchange` of that within and between groups; `mask_bytes` and `vertex_bytes`, sent by all,
    `local_vertex_bytes` of them within groups; `normal`, the frontier's normal vertices, and `delegates`;
    `backward`, the subgraphs that any rank visited backward. `answer_bytes` were sent for predecessors;
    `link_bytes`, where columns were placed, were read out of host memory by each rank. Of stripes it is
    `stripes`, as `gravel.stages.traversal.striped.told_by_stripes` has them.
    """
    labels: Sequence[Any] = getattr(search, "labels", ())
    if not labels:
        return {}
    if search.strategy == "striped":
        from gravel.stages.traversal.striped import told_by_stripes

        return {"stripes": told_by_stripes(labels)}
    levels = list(zip(*(rank.levels for rank in labels), strict=True))
    told: dict[str, Any] = {
        name: [max(getattr(record, f"{name}_milliseconds") for record in level) for level in levels]
        for name in ("visit", "reduce", "exchange", "local_exchange", "remote_exchange")
    }
    for name in ("mask_bytes", "vertex_bytes", "local_vertex_bytes", "normal"):
        told[name] = [sum(getattr(record, name) for record in level) for level in levels]
    told["delegates"] = [level[0].delegates for level in levels]
    told["backward"] = [sorted({way for record in level for way in record.backward}) for level in levels]
    told["answer_bytes"] = sum(rank.answer_bytes for rank in labels)
    if any(rank.link_bytes is not None for rank in labels):
        told["link_bytes"] = [rank.link_bytes for rank in labels]
    return {"ranks": told}


@dataclass(frozen=True)
class RankTask:
    """What one rank of a gang needs: its part of the partition, and the sources of this call."""

    token: str
    rank: int
    ranks: int
    vertex_count: int
    symmetric: bool
    delegates: Any
    arrays: Mapping[str, Any]
    options: SearchOptions
    max_depth: int | None
    tree: bool
    threads: int
    sources: tuple[int, ...]
    backend: str = "cpu"
    placing: Placing | None = None
    encoded: EncodedRank | None = None  # instead of `arrays`


RESIDENT: Residents[RankSearch] = Residents()
"""Ranks that are in this process's memory."""


def load_rank(task: RankTask) -> RankSearch:
    """Find the rank in memory, or read it."""
    import numpy

    from gravel.kernels.partition.layout import rank_from_arrays
    from gravel.kernels.partition.rank_search import RankSearch

    def read() -> RankSearch:
        part = task.encoded.read() if task.encoded else rank_from_arrays(task.arrays, task.rank)
        delegates = numpy.asarray(task.delegates)
        return RankSearch(
            part, delegates, task.vertex_count, task.ranks, symmetric=task.symmetric, options=task.options
        )

    return RESIDENT.find(task.token, task.rank, read)


def search_as_rank(gang: RankContext, task: RankTask) -> list[RankLabels]:
    """Search from each source in turn as one rank of a gang; without sources, let the rank go."""
    from gravel.kernels.partition import search_rank
    from gravel.kernels.threads import set_threads

    if task.backend != "cpu":
        from gravel.stages.traversal.gpu_ranks import search_on_gpu

        return search_on_gpu(gang, task)
    if not task.sources:
        RESIDENT.drop(task.token, task.rank)
        return []
    set_threads(task.threads)
    state = load_rank(task)
    answers = []
    for source in task.sources:
        # Nobody begins, or starts its clock, before all have ended the search before.
        gang.barrier()
        answers.append(search_rank(gang, state, source, max_depth=task.max_depth, tree=task.tree))
    return answers


class GangSearch:
    """As `gravel.kernels.partition.PartitionSearch`, with every rank on a worker."""

    strategy = "partition"
    rank_backend = "cpu"

    def __init__(
        self,
        context: Context,
        graph: SearchedGraph,
        parameters: TraverseParameters,
        options: SearchOptions,
        *,
        placing: Placing | None = None,
    ) -> None:
        import time

        started = time.perf_counter()
        assert graph.partition is not None
        encoded = None if graph.compressed is None else encoded_ranks(graph.compressed)
        arrays = {} if graph.stored is None else graph.stored.arrays
        self.labels: Sequence[RankLabels] = ()
        self._context, self._graph = context, graph
        self._output = parameters.output
        token = uuid.uuid4().hex
        ranks = graph.partition.ranks
        self.reason = f"the graph is partitioned by degree; each of {ranks} ranks on its own worker"
        self._tasks = [
            RankTask(
                token=token,
                rank=rank,
                ranks=ranks,
                vertex_count=graph.vertex_count,
                symmetric=graph.symmetric,
                delegates=graph.partition.delegates if graph.stored is None else graph.stored.delegates,
                arrays={name: array for name, array in arrays.items() if name.startswith(f"rank{rank}/")},
                options=options,
                max_depth=parameters.max_depth,
                tree=parameters.output != "distance",
                threads=context.machine.threads,
                sources=(),
                backend=self.rank_backend,
                placing=placing,
                encoded=None if encoded is None else encoded[rank],
            )
            for rank in range(ranks)
        ]
        self._size = max(1, LABEL_BYTES // (12 * max(1, graph.vertex_count)))
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex."""
        return next(self.run_each([source]))

    def run_each(self, sources: Sequence[int]) -> Iterator[BFSResult]:
        """Search from one vertex after another; each result is valid until the next."""
        for first in range(0, len(sources), self._size):
            several = tuple(sources[first : first + self._size])
            answers = self._call(several)
            for place, source in enumerate(several):
                yield self._result(source, [answer[place] for answer in answers])

    def _call(self, sources: tuple[int, ...]) -> list[list[RankLabels]]:
        tasks = [dataclasses.replace(task, sources=sources) for task in self._tasks]
        return self._context.rank_group(search_as_rank, tasks)

    def _result(self, source: int, labels: Sequence[RankLabels]) -> BFSResult:
        import numpy

        from gravel.kernels.bfs import BFSResult
        from gravel.kernels.partition.search import directions_of, predecessor_dtype, put_together

        n = self._graph.vertex_count
        distance = numpy.empty(n, numpy.int32) if self._output != "predecessor" else None
        predecessor = numpy.empty(n, predecessor_dtype(n)) if self._output != "distance" else None
        put_together(labels, distance, predecessor)
        self.labels = labels
        milliseconds = max(rank.milliseconds for rank in labels)
        read = [rank.link_bytes for rank in labels if rank.link_bytes is not None]
        link = sum(read) if read else None
        return BFSResult(source, distance, predecessor, milliseconds, directions_of(labels), link_bytes=link)

    def close(self) -> None:
        """Let the workers forget the partition."""
        self._call(())
