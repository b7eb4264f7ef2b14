"""What all ranks do together at once."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from gravel.kernels.exchange.endpoint import Endpoint, Ticket


def gather(end: Endpoint, value: Any) -> Generator[Ticket, dict[int, Any], list[Any]]:
    """Give every rank the values of all ranks, in rank order."""
    answers = yield end.post(dict.fromkeys(end.others, value), end.others)
    return [value if rank == end.rank else answers[rank] for rank in range(end.size)]


def swap(end: Endpoint, parcels: Mapping[int, Any]) -> Generator[Ticket, dict[int, Any], dict[int, Any]]:
    """Send every other rank its parcel; returns what each of them sent here, in rank order."""
    answers = yield end.post(parcels, end.others)
    return {rank: answers[rank] for rank in end.others}
