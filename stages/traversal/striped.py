"""Searches of a striped graph: all ranks in lock step in this process, or each on a worker of its own."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.traversal.partitioned import LABEL_BYTES, read_options
from gravel.stages.traversal.records import with_options
from gravel.stages.traversal.residents import Residents

if TYPE_CHECKING:
    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.striped import StripedOptions
    from gravel.kernels.striped.program import RankLabels
    from gravel.kernels.striped.rank import StripedRankSearch
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traverse import TraverseParameters


def prepare_stripes(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters
) -> tuple[Any, list[str]]:
    """Make a striped graph ready for searches; returns sentences on what could not be as asked, too.

    Raises `StageError` for options that are none.
    """
    from gravel.kernels.striped import StripedOptions, StripedSearch

    assert graph.partition is not None
    options = read_options(StripedOptions, parameters.tuning, "a search over stripes")
    ranks = graph.partition.ranks
    if parameters.backend == "cuda" and context.machine.backend == "cuda":
        from gravel.stages.traversal.gpu_stripes import prepare_on_gpus

        search, more = prepare_on_gpus(context, graph, parameters, options)
        return with_options(search, options), more
    if ranks > 1 and context.reserved >= ranks:
        return with_options(StripedGang(context, graph, parameters, options), options), []
    notes = []
    if ranks > 1:
        notes.append(f"{ranks} workers were not there at once, so the ranks took turns in one process")
    search = StripedSearch(
        graph.partition, output=parameters.output, max_depth=parameters.max_depth, options=options
    )
    return with_options(search, options), notes


def told_by_stripes(labels: Sequence[RankLabels]) -> dict[str, Any]:
    """Describe a search's levels as its ranks tell them.

    Lists over levels: `expand`, `barrier`, `exchange` and `contract`, the slowest rank's milliseconds;
    `frontier`, `arcs` (expanded), `duplicates` and `masked` (dropped by the history and by the bitmask),
    `vertices` (sent to other ranks) and `bytes` (of those), of all ranks together. `between[r][s]` counts the
    vertices that rank r had for rank s in the whole search; those for itself are not sent. `computation` and
    `communication` are by rank the milliseconds in which it worked, and waited for others. A GPU reads its
    peers' bins while it contracts, so `exchange` is 0 there, and all its ranks have its times.
    """
    ranks = len(labels)
    levels = list(zip(*(rank.levels for rank in labels), strict=True))
    told: dict[str, Any] = {
        name: [max(getattr(record, f"{name}_milliseconds") for record in level) for level in levels]
        for name in ("expand", "barrier", "exchange", "contract")
    }
    for name in ("frontier", "arcs", "duplicates", "masked"):
        told[name] = [sum(getattr(record, name) for record in level) for level in levels]
    told["vertices"] = [
        sum(sum(record.sent) - record.sent[rank] for rank, record in enumerate(level)) for level in levels
    ]
    told["bytes"] = [sum(record.sent_bytes for record in level) for level in levels]
    told["between"] = [
        [sum(record.sent[to] for record in rank.levels) for to in range(ranks)] for rank in labels
    ]
    told["computation"] = [
        sum(record.expand_milliseconds + record.contract_milliseconds for record in rank.levels)
        for rank in labels
    ]
    told["communication"] = [
        sum(record.barrier_milliseconds + record.exchange_milliseconds for record in rank.levels)
        for rank in labels
    ]
    return told


@dataclass(frozen=True)
class StripeTask:
    """What one rank of a gang needs: its rows, and the sources of this call."""

    token: str
    rank: int
    ranks: int
    vertex_count: int
    arrays: Mapping[str, Any]
    options: StripedOptions
    max_depth: int | None
    tree: bool
    threads: int
    sources: tuple[int, ...]
    backend: str = "cpu"


RESIDENT: Residents[StripedRankSearch] = Residents()
"""Ranks that are in this process's memory."""


def load_stripe(task: StripeTask) -> StripedRankSearch:
    """Find the rank in memory, or read it."""
    from gravel.kernels.striped import rank_from_arrays
    from gravel.kernels.striped.rank import StripedRankSearch

    def read() -> StripedRankSearch:
        part = rank_from_arrays(task.arrays, task.rank)
        return StripedRankSearch(part, task.vertex_count, task.ranks, tree=task.tree, options=task.options)

    return RESIDENT.find(task.token, task.rank, read)


def search_as_stripe(gang: RankContext, task: StripeTask) -> list[RankLabels]:
    """Search from each source in turn as one rank of a gang; without sources, let the rank go."""
    from gravel.kernels.jit import set_threads
    from gravel.kernels.striped import search_rank

    if task.backend == "cuda":
        from gravel.stages.traversal.gpu_stripes import search_on_gpu

        return search_on_gpu(gang, task)
    if not task.sources:
        RESIDENT.drop(task.token, task.rank)
        return []
    set_threads(task.threads)
    state = load_stripe(task)
    answers = []
    for source in task.sources:
        # Nobody begins, or starts its clock, before all have ended the search before.
        gang.barrier()
        answers.append(search_rank(gang, state, source, max_depth=task.max_depth))
    return answers


class StripedGang:
    """As `gravel.kernels.striped.StripedSearch`, with every rank on a worker."""

    strategy = "striped"
    rank_backend = "cpu"

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, options: StripedOptions
    ) -> None:
        import time

        started = time.perf_counter()
        stored = graph.stored
        assert stored is not None
        self.labels: Sequence[RankLabels] = ()
        self._context, self._vertices, self._output = context, graph.vertex_count, parameters.output
        self.reason = f"the graph is striped; each of {stored.ranks} ranks on its own worker"
        token = uuid.uuid4().hex
        self._tasks = [
            StripeTask(
                token=token,
                rank=rank,
                ranks=stored.ranks,
                vertex_count=graph.vertex_count,
                arrays={
                    name: array for name, array in stored.arrays.items() if name.startswith(f"rank{rank}/")
                },
                options=options,
                max_depth=parameters.max_depth,
                tree=parameters.output != "distance",
                threads=context.machine.threads,
                sources=(),
                backend=self.rank_backend,
            )
            for rank in range(stored.ranks)
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
        return self._context.rank_group(search_as_stripe, tasks)

    def _result(self, source: int, labels: Sequence[RankLabels]) -> BFSResult:
        import numpy

        from gravel.kernels.bfs import BFSResult
        from gravel.kernels.partition.search import directions_of, predecessor_dtype, put_together

        n, output = self._vertices, self._output
        distance = numpy.empty(n, numpy.int32) if output != "predecessor" else None
        predecessor = numpy.empty(n, predecessor_dtype(n)) if output != "distance" else None
        self.labels = labels
        milliseconds = max(rank.milliseconds for rank in labels)
        put_together(labels, distance, predecessor)
        return BFSResult(source, distance, predecessor, milliseconds, directions_of(labels))

    def close(self) -> None:
        """Let the workers forget the graph."""
        self._call(())
