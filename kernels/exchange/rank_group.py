"""What the ranks of a rank group see of each other beside the wire."""

from __future__ import annotations

from typing import Any, Protocol

from gravel.kernels.exchange.endpoint import Wire


class Gathering(Protocol):
    """Ranks that tell all others what they have: plain data or small arrays."""

    rank: int
    size: int

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all ranks, in rank order."""
        ...


class RankGroup(Gathering, Wire, Protocol):
    """One rank's view of its rank group."""

    def barrier(self) -> None:
        """Wait until every rank is here."""
        ...
