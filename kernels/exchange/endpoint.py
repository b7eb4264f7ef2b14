"""One rank's end of the exchange: what programs post, wait for and do together, and one rank's driver."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

Result = TypeVar("Result")

FURTHER = 1 << 40
"""Further messages of a post have its number and so many times their place; no program posts as often."""


class Ticket(NamedTuple):
    """Parcels that a program waits for: one of each of these ranks, posted under this number."""

    number: int
    senders: tuple[int, ...]

    def further(self, place: int, senders: tuple[int, ...]) -> Ticket:
        """Give what to yield for further messages of the same post (`Endpoint.post_further`)."""
        return Ticket(self.number + place * FURTHER, senders)


Program = Generator[Ticket, dict[int, Any], Result]
"""A rank's work; each ticket that it yields is answered with the parcels by sender."""


class Wire(Protocol):
    """Carries values between ranks; `gravel.stages.rank_group.RankContext` fits."""

    rank: int
    size: int

    def send(self, to: int, number: int, value: Any) -> None:
        """Take a value on its way, without waiting for its receiver."""
        ...

    def receive(self, sender: int, number: int) -> Any:
        """Wait for the value that `sender` sent under this number."""
        ...


class Endpoint:
    """What a program knows of the others: its own rank, how many there are, and how to post to them.

    Every rank posts in the same order, so that the n-th post of one belongs to the n-th of all the others.
    """

    def __init__(self, wire: Wire) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._wire = wire
        self._posted = 0

    @property
    def others(self) -> tuple[int, ...]:
        """All ranks but this one."""
        return tuple(rank for rank in range(self.size) if rank != self.rank)

    def post(self, parcels: Mapping[int, Any], senders: Iterable[int]) -> Ticket:
        """Send `parcels` to the ranks that they are for; returns what to yield for those of `senders`.

        A parcel to the own rank is refused with ValueError: nothing needs to carry it.
        """
        number = self._posted
        self._posted += 1
        for to, value in parcels.items():
            if to == self.rank:
                raise ValueError(f"rank {to} posts to itself")
            self._wire.send(to, number, value)
        return Ticket(number, tuple(senders))

    def post_further(self, ticket: Ticket, place: int, to: int, value: Any) -> None:
        """Send a further message of a post; its receiver knows from the first that it comes."""
        self._wire.send(to, ticket.number + place * FURTHER, value)


def drive(program: Program[Result], wire: Wire) -> Result:
    """Run one rank's program to its end over a wire whose other ends run theirs."""
    try:
        ticket = next(program)
        while True:
            ticket = program.send({sender: wire.receive(sender, ticket.number) for sender in ticket.senders})
    except StopIteration as end:
        result: Result = end.value
        return result


def gather(end: Endpoint, value: Any) -> Generator[Ticket, dict[int, Any], list[Any]]:
    """Give every rank the values of all ranks, in rank order."""
    answers = yield end.post(dict.fromkeys(end.others, value), end.others)
    return [value if rank == end.rank else answers[rank] for rank in range(end.size)]


def swap(end: Endpoint, parcels: Mapping[int, Any]) -> Generator[Ticket, dict[int, Any], dict[int, Any]]:
    """Send every other rank its parcel; returns what each of them sent here, in rank order."""
    answers = yield end.post(parcels, end.others)
    return {rank: answers[rank] for rank in end.others}


class Stopwatch:
    """Tells the milliseconds since it was asked before, or made."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def lap(self) -> float:
        """Tell them, and begin anew."""
        before, self._since = self._since, time.perf_counter()
        return (self._since - before) * 1e3
