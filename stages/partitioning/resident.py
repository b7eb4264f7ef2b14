"""The ranks of a generated graph in the memory of the workers that made them, found again or made anew.

A rank is known by its graph's recipe. All ranks of a group look for theirs at once. If each worker has one,
they go on with these, whichever worker has which; else all make theirs together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gravel.kernels.partition.distributor.buffers import PART_EDGES, PART_EDGES_CUDA
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.kernels.exchange import Wire
    from gravel.kernels.partition.census import Census
    from gravel.kernels.partition.distributor.program import RankShare
    from gravel.stages.artifacts import DistributedGraph
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext

Result = TypeVar("Result")
Task = TypeVar("Task")


PARTS, LEAST_PART = 32, 1 << 12
"""Parts that a rank makes its edges in at least, so that one with its arcs, on the way to all others, takes
little beside what the rank keeps; unless they would be smaller than this many edges."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of a generated graph over ranks; `arguments` are JSON, so that equal ones are equal."""

    name: str
    arguments: str
    ranks: int
    threshold: int | Literal["auto"]
    hosts: int | None = None

    @classmethod
    def of(cls, graph: DistributedGraph) -> Recipe:
        """Read the recipe of an artifact."""
        generator = graph.generator
        arguments = json.dumps(generator["arguments"], sort_keys=True)
        return cls(generator["name"], arguments, graph.ranks, graph.threshold)

    @property
    def key(self) -> str:
        """The name of the ranks of this graph in memory; the threshold has to be known."""
        return f"{self.name} {self.arguments} over {self.ranks}, threshold {self.threshold}"


@dataclass
class Resident:
    """A rank in this process's memory; `kept` is what its searches and checks keep beside it."""

    share: RankShare
    backend: str
    kept: dict[str, Any]


RESIDENT: dict[tuple[str, int], Resident] = {}
"""Ranks in this process's memory, by recipe and rank."""


class Renamed:
    """A rank group whose members go by the ranks that they hold (`gravel.stages.rank_group.RankContext`)."""

    def __init__(self, rank_group: RankContext, ranks: Sequence[int]) -> None:
        self._rank_group = rank_group
        self._ranks = list(ranks)
        self._members = {rank: member for member, rank in enumerate(ranks)}
        self.rank, self.size = self._ranks[rank_group.rank], rank_group.size

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all ranks, in rank order."""
        values = self._rank_group.all_gather(value)
        return [values[self._members[rank]] for rank in range(self.size)]

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self._rank_group.barrier()

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the group is."""
        self._rank_group.progress(done, total, unit)

    def send(self, to: int, number: int, value: Any) -> None:
        """Send a value to a rank under a number."""
        self._rank_group.send(self._members[to], number, value)

    def receive(self, sender: int, number: int) -> Any:
        """Wait for the value that a rank sent under this number."""
        return self._rank_group.receive(self._members[sender], number)


def run_ranks(
    context: Context, function: Callable[[RankContext, Task], Result], task: Task, ranks: int
) -> list[Result]:
    """Run a task as all ranks: each on a worker of its own, or as threads of this process.

    Raises `StageError` where GPUs of their own are needed and are not there.
    """
    from gravel.stages.rank_group import run_in_threads

    if context.reserved >= ranks:
        return context.rank_group(function, [task] * ranks)
    if ranks > 1 and getattr(task, "backend", "cpu") == "cuda":
        raise StageError(
            f"{ranks} ranks take {ranks} GPUs at the same time, and {context.reserved} were there",
            hint="run it with as many GPUs, with fewer ranks, or with --backend cpu",
        )
    return run_in_threads(function, [task] * ranks)


def find_rank(
    rank_group: RankContext, recipe: Recipe, backend: str | None
) -> tuple[RankContext, Resident, bool]:
    """Find the rank that this worker holds, or make its rank together with all others.

    Without a backend they stay on the side where they are, and are made on the CPU. Returns the rank group by
    the names of the resident ranks, the rank, and whether it was made now.
    """
    own = _resident_rank(rank_group.rank, recipe) if recipe.threshold != "auto" else None
    sides = rank_group.all_gather(None if own is None else (own, RESIDENT[recipe.key, own].backend))
    names = [-1 if side is None else side[0] for side in sides]
    if sorted(names) == list(range(rank_group.size)):
        if backend is None and len({side for _, side in sides}) > 1:
            backend = "cpu"
        renamed = Renamed(rank_group, names)
        resident = RESIDENT[recipe.key, renamed.rank]
        if backend is not None and resident.backend != backend:
            resident = RESIDENT[recipe.key, renamed.rank] = Resident(
                moved(resident.share, backend), backend, {}
            )
        return renamed, resident, False
    # Of other graphs, or what not all have. Ranks are made together, so none is there before all have let go.
    RESIDENT.clear()
    backend = backend or "cpu"
    share = make_rank_of(rank_group, recipe, backend)
    resident = RESIDENT[replace(recipe, threshold=share.threshold).key, rank_group.rank] = Resident(
        share, backend, {}
    )
    return rank_group, resident, True


def _resident_rank(preferred: int, recipe: Recipe) -> int | None:
    if (recipe.key, preferred) in RESIDENT:
        return preferred
    return min((rank for key, rank in RESIDENT if key == recipe.key), default=None)


def make_rank_of(rank_group: RankContext, recipe: Recipe, backend: str) -> RankShare:
    """Make one rank of a graph, all ranks of the rank group at the same time."""
    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.partition.distributor.program import EdgeSource, distribute_program

    source = EdgeSource(recipe.name, json.loads(recipe.arguments))
    threshold: Any = recipe.threshold
    if threshold == "auto":
        threshold = _chooser(recipe)
    if backend == "cuda":
        from gravel.kernels.partition.distributor.cuda import RankBuilder as OnGpu

        builder: Any = OnGpu(source, rank_group.size, rank_group.rank)
        largest = PART_EDGES_CUDA
    else:
        from gravel.kernels.partition.distributor.cpu import RankBuilder as OnCpu

        builder, largest = OnCpu(source, rank_group.size, rank_group.rank), PART_EDGES
    part = part_edges(source.edges, rank_group.size, largest)
    arc = 4 + index_dtype(source.vertices).itemsize
    with wire_of(rank_group, backend, 2 * part * arc) as wire:
        program = distribute_program(Endpoint(wire), builder, threshold=threshold, part_edges=part)
        share = drive(program, wire)
    if backend == "cuda":
        import cupy

        # Memory that others map is allocated beside the pool.
        del builder, program
        cupy.get_default_memory_pool().free_all_blocks()
    return share


@contextmanager
def wire_of(rank_group: RankContext, backend: str, mailbox: int = 0) -> Iterator[Wire]:
    """Give what carries arrays of a backend between the ranks; on GPUs at least `mailbox` bytes at once."""
    if backend == "cpu":
        yield rank_group
        return
    from gravel.kernels.partition.distributor.wires import HALF, cuda_wire

    with cuda_wire(rank_group, max(mailbox, HALF)) as wire:
        yield wire


def moved(share: RankShare, backend: str) -> RankShare:
    """Bring a rank's arrays to the side of a backend."""
    from gravel.kernels.partition.layout import SUBGRAPHS, Subgraph

    if backend == "cuda":
        import cupy

        there: Callable[[Any], Any] = cupy.asarray
    else:
        from gravel.kernels.arrays import on_host

        there = on_host
    part = share.part
    arrays: dict[str, Any] = {
        name: Subgraph(*(there(each) for each in part.subgraph(name))) for name in SUBGRAPHS
    }
    for name in ("nd_source_list", "dn_source_mask", "dd_source_mask"):
        arrays[name] = there(getattr(part, name))
    return replace(share, part=replace(part, **arrays), delegates=there(share.delegates))


def part_edges(edges: int, ranks: int, largest: int) -> int:
    """Choose how many edges a rank makes at once, `largest` at most."""
    return min(largest, max(LEAST_PART, edges // (PARTS * ranks)))


def _chooser(recipe: Recipe) -> Callable[[Census], int]:
    from gravel.kernels.partition.threshold import choose_threshold

    return lambda census: choose_threshold(census, recipe.ranks, hosts=recipe.hosts)
