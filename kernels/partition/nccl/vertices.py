"""Normal vertices point to point, and their predecessors at the end (sections V-B and VI-A3).

Visits sort what nn arcs reach into a bin for each rank, as 32-bit ids there. In every level the ranks gather
how much each sent to each, so that all know what comes, and send the new parts of their bins. What came lies
by origin, in the order in which it was sent; so at the end a receiver asks with one bit for each vertex for
the tails of those arcs that found a vertex without a delegate for a predecessor, and gets these alone, in
order.

With local all-to-all a vertex for another group goes to the member of this group that has the destination's
place there; that member sends on, as one parcel a group, what its mates gave it. Every rank knows all counts,
so that a parcel is taken apart by origin where it ends, and questions and answers at the end need no detour.
Uniquify drops what a rank sent before; mates do not look for what another one sent.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Groups
from gravel.kernels.partition.nccl.communicator import Message, NcclCommunicator
from gravel.kernels.partition.nccl.launching import Kernels
from gravel.kernels.partition.nccl.layout import Regions, empty, pinned

ROW_NORMALS, ROW_DELEGATES, ROW_BACKWARD, ROW_SENT = range(4)
"""Places in what the ranks tell each other; in `kernels/partition/nccl/level.cu` too."""


MAX_AT_ONCE = 256
"""Messages between two ranks that NCCL gets at once. A group of 100,000 of 8 bytes did not end in minutes."""


def cut(messages: list[Message], most_bytes: int) -> list[Message]:
    """Cut messages of uint32 into some of at most so many bytes; 0 leaves them whole."""
    if not most_bytes:
        return messages
    size = most_bytes // 4
    return [
        (other, array[first : first + size])
        for other, array in messages
        for first in range(0, len(array), size)
    ]


def rounds(messages: list[Message]) -> list[list[Message]]:
    """Assign messages to rounds, at most so many of one rank to each; both ends of a message agree on it."""
    assigned: list[list[Message]] = []
    before = Counter[int]()
    for other, array in messages:
        number = before[other] // MAX_AT_ONCE
        before[other] += 1
        if number == len(assigned):
            assigned.append([])
        assigned[number].append((other, array))
    return assigned


class Positions:
    """How many bits are set before each chunk: `array` on the device, `here` on the host, (chunks + 1)."""

    def __init__(self, chunks: int) -> None:
        import cupy

        self.chunks = chunks
        self.counts, self.array = empty(chunks, numpy.uint64), empty(chunks + 1, numpy.uint64)
        self.here = pinned(chunks + 1)
        self.event = cupy.cuda.Event()


class VertexExchange:
    """Bins on their way between the ranks.

    Parameters
    ----------
    capacities : what at most goes from each rank to each, int64 (ranks, ranks).
    bins, tails : of this rank's nn arcs, uint32; tails only where predecessors are found.
    groups : for local all-to-all; None to send directly.
    message_bytes : of a message at most; 0 for messages of any size.

    """

    def __init__(
        self,
        communicator: NcclCommunicator,
        kernels: Kernels,
        capacities: NDArray[numpy.int64],
        bins: Any,
        tails: Any | None,
        *,
        groups: Groups | None,
        stream: Any,
        message_bytes: int = 0,
    ) -> None:
        import cupy

        self._message_bytes = message_bytes
        self.local_bytes = 0
        self._communicator, self._kernels, self._stream = communicator, kernels, stream
        self._groups = groups
        rank, ranks = communicator.rank, communicator.size
        self._bins, self._tails = bins, tails
        self._out = Regions(capacities[rank].tolist())
        self._in = Regions(capacities[:, rank].tolist())
        self.ids = empty(self._in.starts[-1], numpy.uint32)
        asking = tails is not None
        self._words = (self._in.first_words[-1], self._out.first_words[-1]) if asking else (0, 0)
        self._bits, self._questions = (empty(words, numpy.uint32) for words in self._words)
        self._answers = empty(self._in.starts[-1] if asking else 0, numpy.uint32)
        self._wanted, self._asked = (Positions(regions.chunks) for regions in (self._in, self._out))
        self._row = empty(ROW_SENT + ranks, numpy.uint64)
        self._rows = empty(ranks * (ROW_SENT + ranks), numpy.uint64)
        self.level_counts = pinned(ranks * (ROW_SENT + ranks)).reshape(ranks, -1)
        self._sent = numpy.zeros((ranks, ranks), numpy.int64)
        self._starts, self._first_words, self._out_starts, self._out_words = (
            cupy.asarray(numpy.array(values, numpy.uint64))
            for values in (self._in.starts, self._in.first_words, self._out.starts, self._out.first_words)
        )
        self.sent_bytes = 0
        if groups is not None:
            self._joined = empty(*self._staging(capacities, groups))
            self._arrived = empty(self._in.starts[-1], numpy.uint32)
            self._parcels = empty(3 * ranks, numpy.uint64)
            self._parcels_here = pinned(3 * ranks)

    def _staging(self, capacities: NDArray[numpy.int64], groups: Groups) -> tuple[int, Any]:
        first = groups.leader
        through = capacities[first : first + groups.members][:, list(groups.twins)]
        return int(through.sum()), numpy.uint32

    def described(self) -> Any:
        """Make the kernels' `Arrivals`."""
        import cupy

        arrays = (self._starts, self._first_words, self.ids, self._bits)
        pointers = [array.data.ptr for array in arrays]
        return cupy.asarray(numpy.array([*pointers, self._words[0], self._rows.data.ptr], numpy.uint64))

    @property
    def row(self) -> Any:
        """What this rank tells in a level, uint64."""
        return self._row

    def start(self) -> None:
        """Forget the last search."""
        self._sent[:] = 0
        self.sent_bytes = self.local_bytes = 0
        if self._words[1]:
            self._questions.data.memset_async(0, 4 * self._words[1], self._stream)

    def tell(self, event: Any) -> None:
        """Gather all rows; the event is recorded when they are here, in `level_counts`."""
        self._communicator.all_gather(self._row, self._rows, self._stream)
        self._rows.get(stream=self._stream, out=self.level_counts.reshape(-1), blocking=False)
        event.record(self._stream)

    def deliver(self, gathered: Any) -> bool:
        """Enqueue the vertices that were counted; returns whether anything goes from any rank to any.

        The event is recorded when what goes within groups has come.
        """
        before, self._sent = self._sent, self.level_counts[:, ROW_SENT:].astype(numpy.int64)
        new = self._sent - before
        if not new.any():
            gathered.record(self._stream)
            return False
        if self._groups is None:
            gathered.record(self._stream)
            self._deliver_directly(before, new)
        else:
            parcels = self._gather_from_mates(self._groups, before, new)
            gathered.record(self._stream)
            self._send_on(self._groups, parcels, before, new)
        return True

    def _bin(self, to: int, before: NDArray[Any]) -> Any:
        rank = self._communicator.rank
        return self._bins[self._out.part(to, int(before[rank, to]), int(self._sent[rank, to]))]

    def _place(self, origin: int, before: NDArray[Any]) -> Any:
        rank = self._communicator.rank
        return self.ids[self._in.part(origin, int(before[origin, rank]), int(self._sent[origin, rank]))]

    def _deliver_directly(self, before: NDArray[Any], new: NDArray[Any]) -> None:
        rank = self._communicator.rank
        ranks = range(self._communicator.size)
        sends = [(to, self._bin(to, before)) for to in ranks if new[rank, to]]
        receives = [(origin, self._place(origin, before)) for origin in ranks if new[origin, rank]]
        self._send_and_receive(sends, receives)
        self.sent_bytes += 4 * int(new[rank].sum())

    def _send_and_receive(self, sends: list[Message], receives: list[Message]) -> None:
        most = self._message_bytes
        assigned = rounds(cut(sends, most)), rounds(cut(receives, most))
        for some_sends, some_receives in zip_longest(*assigned, fillvalue=list[Message]()):
            self._communicator.exchange(some_sends, some_receives, self._stream)

    def _gather_from_mates(
        self, groups: Groups, before: NDArray[Any], new: NDArray[Any]
    ) -> dict[int, list[tuple[int, int]]]:
        """Exchange within the group; returns what is to go on to each twin: places and sizes."""
        rank = self._communicator.rank
        origins = sorted((rank, *groups.mates))
        sends, receives, first = [], [], 0
        for mate in groups.mates:
            for group in range(groups.count):
                to = groups.at(group, mate % groups.members)
                if new[rank, to]:
                    sends.append((mate, self._bin(to, before)))
        # Pieces of one mate match in order: what is for this rank lies among those for its twins.
        parcels: dict[int, list[tuple[int, int]]] = {twin: [] for twin in groups.twins}
        pieces: dict[int, list[Any]] = {origin: [] for origin in origins}
        for group in range(groups.count):
            to = groups.at(group, groups.member)
            for origin in origins:
                size = int(new[origin, to])
                if to == rank:
                    if size:
                        pieces[origin].append(self._place(origin, before))
                    continue
                if size:
                    pieces[origin].append(self._joined[first : first + size])
                parcels[to].append((first, size))
                first += size
        for mate in groups.mates:
            receives += [(mate, piece) for piece in pieces[mate]]
        self._send_and_receive(sends, receives)
        given = sum(4 * len(array) for _, array in sends)
        self.sent_bytes += given
        self.local_bytes += given
        for own, twin in zip(pieces[rank], [twin for twin in groups.twins if new[rank, twin]], strict=True):
            own.data.copy_from_device_async(self._bin(twin, before).data, 4 * len(own), self._stream)
        return parcels

    def _send_on(
        self,
        groups: Groups,
        parcels: dict[int, list[tuple[int, int]]],
        before: NDArray[Any],
        new: NDArray[Any],
    ) -> None:
        """Exchange parcels with the twins, and take apart what comes."""
        rank = self._communicator.rank
        sends, receives, moves, first = [], [], [], 0
        for twin, pieces in parcels.items():
            size = sum(count for _, count in pieces)
            if size:
                sends.append((twin, self._joined[pieces[0][0] : pieces[0][0] + size]))
            begin = first
            leader = twin - groups.member
            for origin in range(leader, leader + groups.members):
                count = int(new[origin, rank])
                if count:
                    moves += [count, first, self._in.starts[origin] + int(before[origin, rank])]
                first += count
            if first > begin:
                receives.append((twin, self._arrived[begin:first]))
        self._send_and_receive(sends, receives)
        self.sent_bytes += sum(4 * len(array) for _, array in sends)
        if moves:
            self._parcels_here[: len(moves)] = moves
            self._parcels.set(self._parcels_here, stream=self._stream)
            arguments = (self._arrived, self.ids, self._parcels, len(moves) // 3)
            self._kernels.launch("move_parcels", self._stream, *arguments, items=first)

    def answers(self) -> tuple[Any, Any]:
        """Exchange the tails that `bits` ask for; returns them and the positions of chunks among them.

        Every rank calls this once, after the last level.
        """
        communicator, stream = self._communicator, self._stream
        rank, ranks = communicator.rank, range(communicator.size)
        came, sent = self._sent[:, rank].tolist(), self._sent[rank].tolist()
        wanted = self._positions(self._bits, self._wanted)
        communicator.exchange(
            [(k, self._bits[self._in.words(k, came[k])]) for k in ranks if came[k]],
            [(k, self._questions[self._out.words(k, sent[k])]) for k in ranks if sent[k]],
            stream,
        )
        asked = self._positions(self._questions, self._asked)
        # Nobody needs the ids in the bins any more.
        arguments = (self._questions, asked.array, self._out_words, self._out_starts, self._tails, self._bins)
        count = communicator.size
        self._kernels.launch("pick", stream, *arguments, count, blocks=max(1, asked.chunks))
        replies = [(k, self._bins[self._out.chosen(asked.here, k)]) for k in ranks]
        expected = [(k, self._answers[self._in.chosen(wanted.here, k)]) for k in ranks]
        sends = [(k, array) for k, array in replies if len(array)]
        communicator.exchange(sends, [(k, array) for k, array in expected if len(array)], stream)
        self.sent_bytes += sum(4 * len(array) for _, array in sends)
        return self._answers, wanted.array

    def _positions(self, bits: Any, positions: Positions) -> Positions:
        """Count the bits before each chunk, on the device and here."""
        chunks, stream = positions.chunks, self._stream
        if chunks:
            self._kernels.launch("count_chosen", stream, bits, positions.counts, chunks, blocks=chunks)
        arguments = (positions.counts, positions.array, chunks)
        self._kernels.launch("place_chosen", stream, *arguments, blocks=1)
        positions.array.get(stream=stream, out=positions.here, blocking=False)
        positions.event.record(stream)
        self._communicator.wait(positions.event)
        return positions

    @property
    def chunks(self) -> int:
        """Chunks of the bitmap that chooses among what came."""
        return self._in.chunks
