"""Batches on several workers, which hold the whole graph each: as soon as one is free, it gets the next.

`context.rank_group` is called to read the graph on every worker, which keeps it, and at last to let go. What
is found comes back in the order of the sources, so that it is added up as on one worker.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.measuring.batches import Arrays, Batch, Clock
from gravel.stages.measuring.spreading import demanded
from gravel.stages.rank_group import RankContext, RankGroupBroken, worker_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context
    from gravel.stages.measuring.graph import MeasuredGraph, Stored
    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.measuring.searcher import Searcher, Take
    from gravel.stages.stage import Machine

SECONDS = 1.0
"""That a worker is given sources for at a time: much more than the some 10 ms to send them and what is found,
and little enough to lose by a kill."""


@dataclass(frozen=True)
class Task:
    """Task of a worker that makes a graph ready, for so many sources in all."""

    token: str
    parameters: CentralityParameters
    stored: Stored
    machine: Machine
    sources: int
    memory: int


@dataclass(frozen=True)
class Ready:
    """Answer of a worker that holds the graph."""

    name: str
    batch: int
    most: int
    form: str
    rounding: str
    seconds: float


@dataclass(frozen=True)
class Kept:
    """State of this process for batches, and which worker it is."""

    worker: int
    threads: int
    searcher: Searcher


@dataclass(frozen=True)
class Found:
    """Values that a worker found; `began` is by its clock."""

    worker: int
    began: float
    milliseconds: float
    arrays: Arrays


READ: dict[str, MeasuredGraph] = {}
"""Graphs that a stage in this process has read, by token: a worker of this process needs no second copy."""

RESIDENT: dict[str, Kept] = {}
"""What this process searches with, by token."""


def make_ready(rank_group: RankContext, task: Task) -> Ready:
    """Read the graph and keep it, as one worker of the rank group."""
    from gravel.kernels.threads import set_threads
    from gravel.stages.measuring.graph import read_measured
    from gravel.stages.measuring.searcher import searcher_of

    for other in [other for other in RESIDENT if other != task.token]:
        del RESIDENT[other]
    started = time.perf_counter()
    set_threads(task.machine.threads)
    graph = READ.get(task.token) or read_measured(task.stored, task.parameters, task.machine)
    searcher = searcher_of(graph, task.parameters, task.sources, task.memory)
    RESIDENT[task.token] = Kept(rank_group.rank, task.machine.threads, searcher)
    return Ready(
        worker_name(graph.backend),
        searcher.batch,
        searcher.most,
        searcher.form,
        searcher.rounding,
        time.perf_counter() - started,
    )


def let_go(rank_group: RankContext, token: str) -> None:
    """Forget the graph, as one worker of the rank group."""
    RESIDENT.pop(token, None)


def find(item: tuple[str, NDArray[Any]]) -> Found:
    """Search from some sources with what this process keeps."""
    from gravel.kernels.threads import set_threads

    token, sources = item
    kept = RESIDENT.get(token)
    if kept is None:
        raise RankGroupBroken("a worker that held the graph was replaced")
    set_threads(kept.threads)
    began, clock = time.time(), Clock()
    arrays = kept.searcher.find(sources)
    return Found(kept.worker, began, clock.milliseconds, arrays)


class Workers:
    """Workers that have a graph ready, within a `with` statement; `names`, `form` and `rounding` are theirs.

    Raises RuntimeError where their results would be rounded differently.
    """

    def __init__(
        self,
        context: Context,
        parameters: CentralityParameters,
        stored: Stored,
        graph: MeasuredGraph,
        workers: int,
        memory: int,
        machine: Machine,
        sources: int,
    ) -> None:
        self._context, self._graph, self._workers = context, graph, workers
        # Workers without GPUs share the memory that is free, but not what a batch is allowed.
        shared = graph.backend != "cuda" and parameters.memory is None
        memory //= workers if shared else 1
        self._task = Task(uuid.uuid4().hex, parameters, stored, machine, sources, memory)

    def __enter__(self) -> Workers:
        token = self._task.token
        READ[token] = self._graph
        try:
            ready: list[Ready] = self._context.rank_group(make_ready, [self._task] * self._workers)
        except BaseException:
            self._let_go()
            raise
        finally:
            del READ[token]
        self.names = [each.name for each in ready]
        self.form, self.rounding = ready[0].form, ready[0].rounding
        self._batch, self._most = ready[0].batch, ready[0].most
        load = max(each.seconds for each in ready)
        names = "; ".join(f"worker {place} is {name}" for place, name in enumerate(self.names))
        self._context.log(f"{len(ready)} workers hold the whole graph after {load:.1f} s; {names}")
        different = next((each for each in ready if each.rounding != self.rounding), None)
        if different is not None:
            self._let_go()
            raise RuntimeError(
                f"{ready[0].name} searches {self.rounding} and {different.name} {different.rounding}, whose "
                "results differ in their last bits"
            )
        return self

    def __exit__(self, *failure: object) -> None:
        self._let_go()

    def _let_go(self) -> None:
        with suppress(RankGroupBroken):
            self._context.rank_group(let_go, [self._task.token] * self._workers)

    def searched(self, sources: NDArray[Any], take: Take) -> Callable[[int], Iterator[Batch]]:
        """Return what searches from the sources at a position on, and gives what is found to `take`."""
        return lambda first: self._searched(sources, take, first)

    def _searched(self, sources: NDArray[Any], take: Take, first: int) -> Iterator[Batch]:
        ends: list[int] = []
        rate = [0.0]

        def items() -> Iterator[tuple[str, NDArray[Any]]]:
            begin = first
            while begin < len(sources):
                end = begin + self._size(len(sources) - begin, rate[0])
                ends.append(min(end, len(sources)))
                yield self._task.token, sources[begin : ends[-1]]
                begin = ends[-1]

        done = first
        for place, found in enumerate(self._context.map(find, items(), on_reserved=True)):
            end = ends[place]
            take(done, end, found.arrays)
            rate[0] = (end - done) / max(1e-3, found.milliseconds)
            done = end
            yield Batch(end, found.began, found.milliseconds, found.worker)

    def _size(self, left: int, rate: float) -> int:
        """Choose how many sources a worker gets, of those that are left; `rate` is sources a millisecond."""
        wanted = min(1e3 * SECONDS * rate, left / (2 * self._workers), self._most)
        return max(1, int(wanted // self._batch)) * self._batch


def over_reserved(
    context: Context,
    parameters: CentralityParameters,
    stored: Stored,
    graph: MeasuredGraph,
    memory: int,
    machine: Machine,
) -> Callable[[int], Workers] | None:
    """Return what makes the workers of a stage ready for so many sources; None where it has but one.

    Raises `StageError` where more are asked for than are there.
    """
    wanted = demanded(parameters)
    if wanted > context.reserved:
        raise StageError(
            f"{wanted} workers are asked for, and this process is the only one",
            hint="run it with --cluster local or --cluster cuda, or leave workers out",
        )
    workers = wanted or context.reserved
    if workers < 2 or parameters.workers == 1:
        return None
    return partial(Workers, context, parameters, stored, graph, workers, memory, machine)
