"""Ranks that stay in a worker's memory, on the host or on its GPU, from one source to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from gravel.stages.rank_group import RankContext


Rank = TypeVar("Rank")


class Residents(Generic[Rank]):
    """The ranks of one search that are here, by the search's token and their number."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], Rank] = {}

    def __len__(self) -> int:
        return len(self._held)

    def find(self, token: str, rank: int, make: Callable[[], Rank]) -> Rank:
        """Return a rank, made first if it is not here; ranks of other searches are let go before."""
        key = token, rank
        if key not in self._held:
            for other in [other for other in self._held if other[0] != token]:
                del self._held[other]
            self._held[key] = make()
        return self._held[key]

    def drop(self, token: str, rank: int) -> Rank | None:
        """Let a rank go and return it; None if it is not here."""
        return self._held.pop((token, rank), None)


Answer = TypeVar("Answer", covariant=True)


class GpuRank(Protocol[Answer]):
    """A rank whose GPU and those of the others know each other once all have joined."""

    def join(self, gang: RankContext) -> None:
        """Take part in the gang; all ranks call it."""
        ...

    def leave(self, gang: RankContext) -> None:
        """Let go of the others' memory; all ranks call it."""
        ...

    def wake(self) -> None:
        """Bring the GPU up to speed for a search that follows at once; all ranks call it."""
        ...

    def run(self, source: int) -> Answer:
        """Search from one vertex; all ranks call it."""
        ...


class Task(Protocol):
    """What a rank is asked for."""

    @property
    def token(self) -> str:
        """The search's, alike on all ranks."""
        ...

    @property
    def rank(self) -> int:
        """The number of the rank."""
        ...

    @property
    def sources(self) -> tuple[int, ...]:
        """Vertices to search from; none to let the rank go."""
        ...


def search_resident(
    held: Residents[GpuRank[Answer]], gang: RankContext, task: Task, make: Callable[[], GpuRank[Answer]]
) -> list[Answer]:
    """Search from each source in turn as one rank of a gang; without sources, let the rank go.

    Raises `RankGroupBroken` when the GPUs waited for each other in vain.
    """
    from gravel.stages.rank_group import RankGroupBroken

    if not task.sources:
        gone = held.drop(task.token, task.rank)
        if gone is not None:
            gone.leave(gang)
        return []
    try:
        rank = held.find(task.token, task.rank, make)
        rank.join(gang)
        answers = []
        for source in task.sources:
            gang.barrier()
            rank.wake()
            answers.append(rank.run(source))
    except RuntimeError as error:
        held.drop(task.token, task.rank)
        raise RankGroupBroken(f"rank {task.rank}: {error}") from error
    return answers
