"""Searches by a rank that stays on its worker's GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from gravel.stages.traversal.residents import Residents

if TYPE_CHECKING:
    from gravel.stages.rank_group import RankContext

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
