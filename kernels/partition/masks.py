"""Masks over the delegates, or values of theirs, on their way: whole, or only the words that changed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Ticket
from gravel.kernels.partition.reductions import Algorithm, receivers, reduction_rounds

Words = NDArray[Any]  # uint64, bit d % 64 of word d // 64; or a value for each delegate
Message = tuple[Words, ...]
"""(), where nothing changed; (words,), a whole mask; (places, words), the words at these places, uint32."""


class Joining(NamedTuple):
    """How the words of all ranks become one, and the word that changes nothing."""

    ufunc: numpy.ufunc
    neutral: Any


BITS = Joining(numpy.bitwise_or, 0)


def pack(mask: Words, changed_only: bool, joining: Joining = BITS) -> Message:
    """Make the shortest message of a mask; a whole one where changes are not to be looked for."""
    if not changed_only:
        return (mask,)
    places = numpy.flatnonzero(mask != mask.dtype.type(joining.neutral))
    if len(places) == 0:
        return ()
    if (4 + mask.itemsize) * len(places) >= mask.nbytes:
        return (mask,)
    return places.astype(numpy.uint32), mask[places]


def add(mask: Words, message: Message, joining: Joining = BITS) -> None:
    """Join the words of a message with those of `mask`."""
    if len(message) == 1:
        joining.ufunc(mask, message[0], out=mask)
    elif message:
        mask[message[0]] = joining.ufunc(mask[message[0]], message[1])


def message_bytes(message: Message) -> int:
    """Count what a message carries."""
    return sum(part.nbytes for part in message)


class Reduction:
    """An OR over all ranks, or what else joins words: `begin` posts, `end` waits, and other work may go on.

    It follows the rounds of `gravel.kernels.partition.reductions`. Every rank posts in every round, with a
    mask or without, since the n-th post of one rank belongs to the n-th of all others.
    """

    def __init__(
        self,
        end: Endpoint,
        *,
        changed_only: bool,
        algorithm: Algorithm = "all_gather",
        groups: int = 0,
        joining: Joining = BITS,
    ) -> None:
        self._end, self._joining = end, joining
        self._changed_only = changed_only
        self._rounds = [
            (receivers(each, end.rank), each[end.rank])
            for each in reduction_rounds(algorithm, end.size, groups)
        ]
        self.sent_bytes = 0

    def _post(self, mask: Words, number: int) -> Ticket:
        to, senders = self._rounds[number]
        # What is sent may be added to before it is read in this process: by words of the result alone.
        message = pack(mask, self._changed_only, self._joining) if to else ()
        self.sent_bytes += message_bytes(message) * len(to)
        return self._end.post(dict.fromkeys(to, message), senders)

    def begin(self, mask: Words) -> Ticket:
        """Send what this rank found; the mask must not change before `end`."""
        return self._post(mask, 0) if self._rounds else self._end.post({}, ())

    def end(self, mask: Words, begun: Ticket) -> Generator[Ticket, dict[int, Any], Words]:
        """Give what all masks become together."""
        total = mask.copy()
        ticket = begun
        for following in range(1, len(self._rounds) + 1):
            for message in (yield ticket).values():
                add(total, message, self._joining)
            if following < len(self._rounds):
                ticket = self._post(total, following)
        return total
