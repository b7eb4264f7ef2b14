"""Arrays that are sent in messages of a bounded size.

The first message says how many there are. The others travel under numbers of their own, so that ranks whose
arrays are cut into different numbers of messages still post alike.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gravel.kernels.exchange.endpoint import Endpoint, Ticket

if TYPE_CHECKING:
    from numpy.typing import NDArray

Parcel: TypeAlias = "NDArray[Any]"


class Posted(NamedTuple):
    """What `take_arrays` waits for: the first messages, and whether more may follow."""

    ticket: Ticket
    cut: bool


def post_arrays(
    end: Endpoint, parcels: Mapping[int, Parcel], senders: Iterable[int], most_bytes: int = 0
) -> Posted:
    """Send arrays in messages of at most `most_bytes`, each whole with 0; waits for nothing."""
    if not most_bytes:
        return Posted(end.post(parcels, senders), False)
    pieces = {to: _cut(array, most_bytes) for to, array in parcels.items()}
    ticket = end.post({to: (len(cut), cut[0]) for to, cut in pieces.items()}, senders)
    for to, cut in pieces.items():
        for place, piece in enumerate(cut[1:], 1):
            end.post_further(ticket, place, to, piece)
    return Posted(ticket, True)


def take_arrays(posted: Posted) -> Generator[Ticket, dict[int, Any], dict[int, Parcel]]:
    """Wait for the arrays that the other ranks sent; returns them by sender."""
    came = yield posted.ticket
    if not posted.cut:
        return came
    import numpy  # planning imports this package and needs no arrays

    counts = {sender: count for sender, (count, _) in came.items()}
    got = {sender: [first] for sender, (_, first) in came.items()}
    for place in range(1, max(counts.values(), default=0)):
        senders = tuple(sender for sender, count in counts.items() if count > place)
        for sender, piece in (yield posted.ticket.further(place, senders)).items():
            got[sender].append(piece)
    return {
        sender: several[0] if len(several) == 1 else numpy.concatenate(several)
        for sender, several in got.items()
    }


def _cut(array: Parcel, most_bytes: int) -> list[Parcel]:
    size = max(1, most_bytes // array.itemsize)
    return [array[first : first + size] for first in range(0, max(1, len(array)), size)]
