"""How ranks tell each other things: a search is written once, and carried by whatever wire there is.

What a rank does is a *program*: a generator that posts parcels to other ranks through its `Endpoint`, and
yields a `Ticket` where it cannot go on before the parcels named there have come. So posting never waits, a
program may post a reduction, work, and then wait for it (overlap), and the same program runs

- in lock step, all ranks in this process one after another: `run_in_lock_step`;
- as one rank of a group, with a wire that really carries: `drive`.

Parcels of one post may arrive in any order and mixed with those of later posts; a ticket's number tells them
apart. A wire has to deliver every parcel once, and nothing else is asked of it.

`post`, `gather`, `reduce` and `swap` are what programs are made of::

    def program(end: Endpoint) -> Program[int]:
        counts = yield from gather(end, own_count)
        return sum(counts)
"""

from __future__ import annotations

from gravel.kernels.exchange.endpoint import Endpoint, Program, Stopwatch, Ticket, Wire, drive, gather, swap
from gravel.kernels.exchange.groups import Groups
from gravel.kernels.exchange.lock_step import Stuck, run_in_lock_step
from gravel.kernels.exchange.pieces import Posted, post_arrays, take_arrays
from gravel.kernels.exchange.rank_group import Gathering, RankGroup

__all__ = [
    "Endpoint",
    "Gathering",
    "Groups",
    "Posted",
    "Program",
    "RankGroup",
    "Stopwatch",
    "Stuck",
    "Ticket",
    "Wire",
    "drive",
    "gather",
    "post_arrays",
    "run_in_lock_step",
    "swap",
    "take_arrays",
]
