"""A wire on which parcels overtake each other and ranks go on in any order, for tests of programs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from gravel.kernels.exchange import Endpoint, Program, Stuck, Ticket


class DisorderedNetwork:
    """Delivers every parcel once, in random order and as late as it likes, and never the same object twice.

    A parcel is under way until somebody draws it. With `hold` a parcel stays under way while anything else
    can happen, so that ranks get as far ahead of each other as their program lets them.
    """

    def __init__(self, size: int, seed: int, *, hold: float = 0.5) -> None:
        self.size = size
        self.delivered = 0
        self.overtaken = 0
        self._random = random.Random(seed)
        self._hold = hold
        self._under_way: list[tuple[int, int, int, Any]] = []
        self._arrived: list[dict[tuple[int, int], Any]] = [{} for _ in range(size)]

    def wire(self, rank: int) -> _DisorderedWire:
        return _DisorderedWire(self, rank)

    def post(self, sender: int, to: int, number: int, value: Any) -> None:
        self._under_way.append((sender, to, number, value))

    def deliver_one(self) -> None:
        chosen = self._random.randrange(len(self._under_way))
        sender, to, number, value = self._under_way.pop(chosen)
        self.overtaken += any(s == sender and t == to and n < number for s, t, n, _ in self._under_way)
        assert (sender, number) not in self._arrived[to], "two parcels under one number"
        self._arrived[to][sender, number] = value
        self.delivered += 1

    def run(self, start: Callable[[Endpoint], Program[Any]]) -> list[Any]:
        programs = [start(Endpoint(self.wire(rank))) for rank in range(self.size)]
        waiting: dict[int, Ticket | None] = dict.fromkeys(range(self.size))
        results: dict[int, Any] = {}
        while waiting:
            able = [rank for rank, ticket in waiting.items() if ticket is None or self._here(rank, ticket)]
            if self._under_way and (not able or self._random.random() > self._hold):
                self.deliver_one()
                continue
            if not able:
                raise Stuck(f"nobody can go on: {waiting}")
            rank = self._random.choice(able)
            ticket = waiting[rank]
            try:
                if ticket is None:
                    waiting[rank] = next(programs[rank])
                else:
                    shelf = self._arrived[rank]
                    answer = {sender: shelf.pop((sender, ticket.number)) for sender in ticket.senders}
                    waiting[rank] = programs[rank].send(answer)
            except StopIteration as end:
                results[rank] = end.value
                del waiting[rank]
        assert not self._under_way, "parcels that nobody waits for"
        assert not any(self._arrived), "parcels that nobody took"
        return [results[rank] for rank in range(self.size)]

    def _here(self, rank: int, ticket: Ticket) -> bool:
        return all((sender, ticket.number) in self._arrived[rank] for sender in ticket.senders)


class _DisorderedWire:
    def __init__(self, network: DisorderedNetwork, rank: int) -> None:
        self.rank, self.size, self._network = rank, network.size, network

    def send(self, to: int, number: int, value: Any) -> None:
        self._network.post(self.rank, to, number, value)

    def receive(self, sender: int, number: int) -> Any:
        raise AssertionError("programs are driven by the network")
