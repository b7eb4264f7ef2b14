"""Searches of a partition by weights, by its ranks on CPUs: all in this process, or each on a worker."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.ranks.partition import ON_CPU
from gravel.stages.ranks.rank import RankTask, search_as_rank
from gravel.stages.ranks.searches import read_options
from gravel.stages.traversal.memory import LABEL_BYTES
from gravel.stages.traversal.records import with_options

if TYPE_CHECKING:
    from gravel.kernels.partition.options import PathOptions
    from gravel.kernels.partition.paths import RankPaths
    from gravel.kernels.sssp import SSSPResult
    from gravel.stages.context import Context
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

ON_CPU_ALONE = "the partition was searched on the CPU: shortest paths over ranks have no CUDA form"


def prepare_paths(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters
) -> tuple[Any, list[str]]:
    """Make a partition ready for searches by weights; returns sentences on what could not be as asked, too.

    Raises `StageError` for constants that they do not take, and for weights that no search takes.
    """
    from gravel.kernels.partition.options import PathOptions

    assert graph.partition is not None
    options = read_options(PathOptions, parameters.tuning, "a search by weights over ranks")
    ranks, notes = graph.partition.ranks, list[str]()
    graph.notes[:] = [ON_CPU_ALONE if note == ON_CPU else note for note in graph.notes]
    if ranks > 1 and context.reserved >= ranks:
        return with_options(RankGroupPaths(context, graph, parameters, options), options, "cpu"), notes
    if ranks > 1:
        notes.append(f"{ranks} workers were not there at once, so the ranks took turns in one process")
    return with_options(PathsInTurn(graph, parameters, options), options, "cpu"), notes


def exchange_record(ranks: Sequence[RankPaths]) -> dict[str, Any]:
    """Describe a search as its ranks tell it: `rounds`, and bytes that all of them sent."""
    sums = {
        name: sum(getattr(rank, name) for rank in ranks)
        for name in ("delegate_bytes", "vertex_bytes", "tree_bytes")
    }
    return {"rounds": ranks[0].rounds, **sums}


class PathsInTurn:
    """A search whose ranks take turns in this process; `exchange` describes the last one."""

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"
    backend = "cpu"

    def __init__(self, graph: SearchedGraph, parameters: TraverseParameters, options: PathOptions) -> None:
        from gravel.kernels.partition.paths import PartitionPaths
        from gravel.stages.weights import unusable

        assert graph.partition is not None
        try:
            self._search = PartitionPaths(
                graph.partition, tree=parameters.output != "distance", options=options
            )
        except ValueError as error:
            raise unusable(error, graph.permutation) from None
        self.prepare_milliseconds = self._search.prepare_milliseconds
        self.exchange: dict[str, Any] = {}

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex."""
        found = self._search.run(source)
        self.exchange = exchange_record(self._search.labels)
        return found


class RankGroupPaths:
    """A search with every rank on a worker; `exchange` describes the last one.

    A partition stays in memory from the first source to the last, as in searches of levels.
    """

    strategy = "partition"
    backend = "cpu"
    prepare_milliseconds = 0.0

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, options: PathOptions
    ) -> None:
        from gravel.stages.ranks.searches import asked_of

        assert graph.partition is not None
        assert graph.stored is not None
        self._context, ranks = context, graph.partition.ranks
        self.reason = f"the graph is partitioned by degree; each of {ranks} ranks on its own worker"
        self.exchange: dict[str, Any] = {}
        arrays, token = graph.stored.arrays, uuid.uuid4().hex
        self._tasks = [
            RankTask(
                token=token,
                rank=rank,
                ranks=ranks,
                vertex_count=graph.vertex_count,
                striped=False,
                delegates=graph.stored.delegates,
                arrays={name: array for name, array in arrays.items() if name.startswith(f"rank{rank}/")},
                asked=asked_of(graph, parameters),
                options=options,
                threads=context.machine.threads,
            )
            for rank in range(ranks)
        ]
        self._size = max(1, LABEL_BYTES // (16 * max(1, graph.vertex_count)))

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex."""
        return next(self.run_each([source]))

    def run_each(self, sources: Sequence[int]) -> Iterator[SSSPResult]:
        """Search from one vertex after another; each result is valid until the next."""
        from gravel.kernels.partition.paths import joined

        for first in range(0, len(sources), self._size):
            several = tuple(sources[first : first + self._size])
            answers = self._call(several)
            for source in several:
                labels = [answer.pop(0) for answer in answers]
                self.exchange = exchange_record(labels)
                yield joined(labels, source, max(rank.milliseconds for rank in labels))

    def close(self) -> None:
        """Clear the partition from the workers' memory."""
        self._call(())

    def _call(self, sources: tuple[int, ...]) -> list[list[Any]]:
        tasks = [dataclasses.replace(task, sources=sources, returned=True) for task in self._tasks]
        return self._context.rank_group(search_as_rank, tasks)
