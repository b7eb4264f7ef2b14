"""Ranks that stay in a worker's memory from one source of a search to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

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
