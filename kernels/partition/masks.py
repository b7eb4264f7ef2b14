"""Masks over the delegates on their way: whole, or only the words that changed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.exchange import Endpoint, Groups, Ticket

Words = NDArray[Any]  # uint64, bit d % 64 of word d // 64
Message = tuple[Words, ...]
"""(), for no bit at all; (words,), a whole mask; (places, words), the words at these places, uint32."""


def pack(mask: Words, changed_only: bool) -> Message:
    """Make the shortest message of a mask; a whole one where changes are not to be looked for."""
    if not changed_only:
        return (mask,)
    places = numpy.flatnonzero(mask)
    if len(places) == 0:
        return ()
    if 12 * len(places) >= 8 * len(mask):
        return (mask,)
    return places.astype(numpy.uint32), mask[places]


def add(mask: Words, message: Message) -> None:
    """Set in `mask` the bits of a message."""
    if len(message) == 1:
        mask |= message[0]
    elif message:
        mask[message[0]] |= message[1]


def message_bytes(message: Message) -> int:
    """Count what a message carries."""
    return sum(part.nbytes for part in message)


class Reduction:
    """An OR over all ranks: `begin` posts, `end` waits, and other work may go on in between.

    With groups it has two phases (section V-A): members send to their group's leader, leaders exchange, and
    each hands the result to its members.
    """

    def __init__(self, end: Endpoint, *, groups: Groups | None, changed_only: bool) -> None:
        self._end = end
        self._groups = groups
        self._changed_only = changed_only
        self.sent_bytes = 0

    def _post(self, mask: Words, to: tuple[int, ...], senders: tuple[int, ...]) -> Ticket:
        message = pack(mask, self._changed_only)
        self.sent_bytes += message_bytes(message) * len(to)
        return self._end.post(dict.fromkeys(to, message), senders)

    def begin(self, mask: Words) -> Ticket:
        """Send what this rank found; the mask must not change before `end`."""
        groups = self._groups
        if groups is None:
            return self._post(mask, self._end.others, self._end.others)
        if groups.leads:
            return self._post(mask, (), groups.mates)
        return self._post(mask, (groups.leader,), ())

    def end(self, mask: Words, begun: Ticket) -> Generator[Ticket, dict[int, Any], Words]:
        """Give the OR of all masks."""
        total = mask.copy()
        for message in (yield begun).values():
            add(total, message)
        groups = self._groups
        if groups is None:
            return total
        leaders = groups.twins if groups.leads else ()
        for message in (yield self._post(total, leaders, leaders)).values():
            add(total, message)
        if groups.leads:
            yield self._post(total, groups.mates, ())
        else:
            for message in (yield self._post(total, (), (groups.leader,))).values():
                add(total, message)
        return total
