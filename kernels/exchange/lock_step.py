"""All ranks in this process: each goes on until it waits for a parcel that is not there yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gravel.kernels.exchange.endpoint import Endpoint, Program, Ticket

Result = TypeVar("Result")


class Stuck(RuntimeError):
    """Every rank waits for a parcel that nobody has sent: a defect of the program."""


class _Shelf:
    """A wire whose parcels lie on the receiver's shelf at once."""

    def __init__(self, rank: int, shelves: list[dict[tuple[int, int], Any]]) -> None:
        self.rank = rank
        self.size = len(shelves)
        self._shelves = shelves

    def send(self, to: int, number: int, value: Any) -> None:
        self._shelves[to][self.rank, number] = value

    def receive(self, sender: int, number: int) -> Any:
        return self._shelves[self.rank].pop((sender, number))

    def has(self, ticket: Ticket) -> bool:
        shelf = self._shelves[self.rank]
        return all((sender, ticket.number) in shelf for sender in ticket.senders)


def run_in_lock_step(start: Callable[[Endpoint], Program[Result]], size: int) -> list[Result]:
    """Run `start(endpoint)` for every rank; returns the results by rank.

    Raises `Stuck` when no rank can go on.
    """
    shelves: list[dict[tuple[int, int], Any]] = [{} for _ in range(size)]
    wires = [_Shelf(rank, shelves) for rank in range(size)]
    programs = [start(Endpoint(wire)) for wire in wires]
    waiting: list[Ticket | None] = [None] * size
    results: dict[int, Result] = {}
    while len(results) < size:
        moved = False
        for rank, program in enumerate(programs):
            if rank in results:
                continue
            try:
                ticket = waiting[rank]
                if ticket is None:
                    ticket = next(program)
                    moved = True
                while wires[rank].has(ticket):
                    moved = True
                    answer = {sender: wires[rank].receive(sender, ticket.number) for sender in ticket.senders}
                    ticket = program.send(answer)
                waiting[rank] = ticket
            except StopIteration as end:
                results[rank] = end.value
                moved = True
        if not moved:
            raise Stuck(f"ranks wait for parcels that nobody sent: {waiting}")
    return [results[rank] for rank in range(size)]
