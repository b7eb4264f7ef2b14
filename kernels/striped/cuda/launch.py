"""One device's launch of a striped search: the kernel, its arguments, and what it logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.parts import BITMASK, HISTORY, REMEMBERED, WARP, gather_number
from gravel.kernels.cuda import grid_of, load, resident_blocks
from gravel.kernels.partition.cuda.meeting import MeetingPoint
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


class Launch:
    """A search on the current device, which has to be current at every call.

    Parameters
    ----------
    macros : VERTEX, OFFSET and TREE of `kernels/striped/stripes.cu`.
    rows : of the table of all ranks, as this device sees them (`gravel.kernels.striped.cuda.memory`).
    here : ranks of this device.
    points : of all devices' meeting points, as this device sees them; `place` is its own among them.
    time_limit : seconds that it waits for the others at one meeting.
    longest : arcs of a row that one block reads, as of `StripeMemory`.
    blocks : of the grid, at most what runs at the same time; None fills the device.

    """

    def __init__(
        self,
        macros: Mapping[str, object],
        rows: Sequence[NDArray[numpy.uint64]],
        here: Sequence[int],
        points: Sequence[int],
        place: int,
        *,
        vertex_count: int,
        point: MeetingPoint,
        options: StripedOptions,
        time_limit: float,
        longest: int = LONGEST,
        blocks: int | None = None,
    ) -> None:
        import cupy

        self.point = point
        self._here, self._ranks = tuple(here), len(rows)
        self._tree = bool(macros["TREE"])
        self._kernel = load("kernels/striped/stripes.cu", **macros).get_function("search")
        self._blocks = grid_of(blocks, resident_blocks(self._kernel, BLOCK))
        self._words = TIMES + len(here) * (OF_BINS + len(rows))
        self._allocate_log(max(1, min(LOGGED_LEVELS, LOG_BYTES // (8 * self._words))))
        numbers = (
            len(here),
            len(rows),
            vertex_count,
            parts_of(options),
            options.history,
            gather_number(options.gather),
            longest,
        )
        self._tables = (
            cupy.asarray(numpy.concatenate(rows)),
            cupy.asarray(numpy.array(here, numpy.uint64)),
            point.described(points, place, time_limit),
        )
        self._sizes = tuple(numpy.uint64(number) for number in numbers)

    def _allocate_log(self, levels: int) -> None:
        import cupy

        self._logged = levels
        self._log = cupy.zeros(1 + levels * self._words, numpy.uint64)

    def start(self, source: int, max_depth: int | None) -> tuple[Any, Any]:
        """Begin a search; returns the events before and after it."""
        import cupy

        depth = (1 << 31) - 1 if max_depth is None else max_depth
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        search = (numpy.uint64(value) for value in (self._logged, source, depth))
        start.record()
        self._kernel((self._blocks,), (BLOCK,), (*self._tables, self._log, *self._sizes, *search))
        end.record()
        return start, end

    def depth(self) -> int:
        """Count the levels of the last search, which ranks on other devices have too."""
        return int(self._log[:1].get()[0])

    def grow(self) -> bool:
        """Make the log longer if the last search had more levels than it; the search has to be repeated then.

        All devices find the same, since a search from one source always has the same levels.
        """
        depth = self.depth()
        if depth <= self._logged:
            return False
        self._allocate_log(1 << (depth - 1).bit_length())
        return True

    def levels(self) -> list[tuple[LevelRecord, ...]]:
        """Read the levels of the last search, of each rank here.

        Times are those of the device, the same for all its ranks. A rank reads its peers' bins while it
        contracts, so there is no exchange of its own, and waiting is for the barriers.
        """
        depth = self.depth()
        words = self._log[1 : 1 + depth * self._words].get().reshape(depth, self._words)
        return [self._of_rank(words, place) for place in range(len(self._here))]

    def _of_rank(self, words: NDArray[Any], place: int) -> tuple[LevelRecord, ...]:
        each, rank = OF_BINS + self._ranks, self._here[place]
        records = []
        for times, counts in zip(
            words[:, :TIMES].tolist(), words[:, TIMES + place * each :][:, :each].tolist(), strict=True
        ):
            expand, barrier, contract, wait = (time / 1e6 for time in times)
            frontier, arcs, duplicates, masked, fresh, *sent = counts
            records.append(
                LevelRecord(
                    frontier=frontier,
                    arcs=arcs,
                    duplicates=duplicates,
                    masked=masked,
                    sent=tuple(sent),
                    sent_bytes=(8 if self._tree else 4) * (sum(sent) - sent[rank]),
                    fresh=fresh,
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
