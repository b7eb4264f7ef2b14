"""A communicator between threads with what `gravel.kernels.partition.nccl` asks of NCCL, on streams."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from typing import Any

import numpy

from tests.emulation.lazy_cupy import Operation
from tests.emulation.lazy_cupy import queue as enqueued


class Network:
    """Carries what ranks send. With `lost`, that rank's messages are lost from its n-th operation on."""

    def __init__(self, ranks: int, *, lost: tuple[int, int] | None = None, patience: float = 30.0) -> None:
        self.ranks, self.lost, self.patience = ranks, lost, patience
        self.boxes: dict[tuple[int, int], queue.Queue[Any]] = defaultdict(queue.Queue)
        self.lock = threading.Lock()
        self.operations: dict[int, list[str]] = {rank: [] for rank in range(ranks)}

    def box(self, sender: int, to: int) -> queue.Queue[Any]:
        with self.lock:
            return self.boxes[sender, to]

    def connect(self, group: Any) -> FakeCommunicator:
        return FakeCommunicator(self, group.rank)


class FakeCommunicator:
    def __init__(self, network: Network, rank: int) -> None:
        self.rank, self.size = rank, network.ranks
        self._network = network
        self._last: Operation | None = None
        self.closed = self.resting = False

    def _send(self, to: int, values: Any) -> None:
        lost = self._network.lost
        if lost is None or lost[0] != self.rank or len(self._network.operations[self.rank]) < lost[1]:
            self._network.box(self.rank, to).put(numpy.array(values))

    def _receive(self, sender: int, into: Any) -> None:
        try:
            values = self._network.box(sender, self.rank).get(timeout=self._network.patience)
        except queue.Empty:
            raise RuntimeError("the search was given up") from None
        assert (values.dtype, values.shape) == (into.dtype, into.shape)
        into[...] = values

    def _enqueue(self, name: str, act: Any, stream: Any) -> None:
        assert not self.closed
        self.resting = False
        self._network.operations[self.rank].append(name)
        # NCCL keeps the operations of a communicator in order, whatever streams they are on.
        self._last = stream.enqueue(act, self._last)

    def all_gather(self, own: Any, everyones: Any, stream: Any) -> None:
        rows = everyones.reshape(self.size, -1)
        assert rows.shape[1] == len(own)

        def act() -> None:
            for to in range(self.size):
                self._send(to, own)
            for sender in range(self.size):
                self._receive(sender, rows[sender])

        self._enqueue("all_gather", act, stream)

    def exchange(self, sends: Any, receives: Any, stream: Any) -> None:
        sends, receives = list(sends), list(receives)

        def act() -> None:
            for to, array in sends:
                self._send(to, array)
            for sender, array in receives:
                self._receive(sender, array)

        self._enqueue("exchange", act, stream)

    def smallest(self, rows: Any, own: Any, stream: Any) -> None:
        parts = rows.reshape(self.size, -1)

        def act() -> None:
            for to in range(self.size):
                self._send(to, parts[to])
            came = numpy.empty_like(parts)
            for sender in range(self.size):
                self._receive(sender, came[sender])
            own[...] = came.min(axis=0)

        self._enqueue("smallest", act, stream)

    def wait(self, event: Any) -> None:
        assert event.done

    def rest(self) -> None:
        assert not enqueued.waiting, "something runs on when the search has ended"
        self.resting = True

    def close(self) -> None:
        self.closed = True
