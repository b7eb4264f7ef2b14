"""One device's launch of a striped search: the kernel, its arguments, and what it logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.parts import BITMASK, HISTORY, REMEMBERED, WARP, gather_number
from gravel.kernels.partition.cuda.launching import LevelLaunch, View
from gravel.kernels.striped.cuda.memory import LONGEST
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import LevelRecord

BLOCK = 256
"""Threads of a block, as the kernel's launch bounds say."""

TIMES, OF_BINS = 4, 5
"""Words of a record of the kernel's log, and of a rank in it before its bins."""

LOG_BYTES = 16 << 20
"""Of a device's log at first; a level of eight ranks of one device takes 864 bytes."""

LOGGED_LEVELS = 1 << 14
"""Levels that a log has room for at first, at most; see `Launch.grow`."""


class Launch(LevelLaunch):
    """A search on the current device, which has to be current at every call.

    Parameters
    ----------
    macros : VERTEX, OFFSET and TREE of `kernels/striped/stripes.cu`.
    longest : arcs of a row that one block reads, as of `StripeMemory`.

    """

    def __init__(
        self,
        macros: Mapping[str, object],
        view: View,
        *,
        vertex_count: int,
        options: StripedOptions,
        longest: int = LONGEST,
    ) -> None:
        path = "kernels/striped/stripes.cu"
        super().__init__(path, "search", macros, view, block=BLOCK, time_limit=options.barrier_seconds)
        self._ranks_here, self._tree = tuple(view.here), bool(macros["TREE"])
        words = TIMES + len(view.here) * (OF_BINS + self._ranks)
        self._allocate_log(max(1, min(LOGGED_LEVELS, LOG_BYTES // (8 * words))), first=1, words=words)
        numbers = (
            len(view.here),
            self._ranks,
            vertex_count,
            parts_of(options),
            options.history,
            gather_number(options.gather),
            longest,
        )
        self._sizes = tuple(numpy.uint64(number) for number in numbers)

    def start(self, source: int, depth: int) -> tuple[Any, Any]:
        """Begin a search that expands to `depth`; returns the events before and after it."""
        search = (numpy.uint64(value) for value in (self._logged, source, depth))
        return self._begin((self._table, self._here, self._barrier, self._log, *self._sizes, *search))

    def levels(self) -> list[tuple[LevelRecord, ...]]:
        """Read the levels of the last search, of each rank here.

        Times are those of the device, the same for all its ranks. A rank reads its peers' bins while it
        contracts, so there is no exchange of its own, and waiting is for the barriers.
        """
        words = self._records()
        return [self._of_rank(words, place) for place in range(len(self._ranks_here))]

    def _of_rank(self, words: NDArray[Any], place: int) -> tuple[LevelRecord, ...]:
        each, rank = OF_BINS + self._ranks, self._ranks_here[place]
        records = []
        for times, counts in zip(
            words[:, :TIMES].tolist(), words[:, TIMES + place * each :][:, :each].tolist(), strict=True
        ):
            expand, barrier, contract, wait = (time / 1e6 for time in times)
            frontier, arcs, duplicates, masked, claimed, *sent = counts
            records.append(
                LevelRecord(
                    frontier=frontier,
                    arcs=arcs,
                    duplicates=duplicates,
                    masked=masked,
                    sent=tuple(sent),
                    sent_bytes=(8 if self._tree else 4) * (sum(sent) - sent[rank]),
                    claimed=claimed,
                    expand_milliseconds=expand,
                    barrier_milliseconds=barrier + wait,
                    exchange_milliseconds=0.0,
                    contract_milliseconds=contract,
                )
            )
        return tuple(records)


def parts_of(options: StripedOptions) -> int:
    """Say what is culled as the kernel takes it; raises ValueError for a history that it has no room for."""
    if options.history > REMEMBERED:
        raise ValueError(f"history is {options.history}; on GPUs it has at most {REMEMBERED} entries")
    parts = BITMASK if options.bitmask else 0
    if options.local_duplicates:
        parts |= HISTORY | (WARP if options.warp_duplicates else 0)
    return parts
