"""One device's launch of a search: the kernel, its arguments, and what it logs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition.cuda.by_degree import in_order
from gravel.kernels.partition.cuda.compact_ids import CompactIds
from gravel.kernels.partition.cuda.launching import LevelLaunch, View
from gravel.kernels.partition.cuda.staging import Staging
from gravel.kernels.partition.culled import Gathered
from gravel.kernels.partition.layout import find_delegate, mask_words
from gravel.kernels.partition.options import CULLING, OPTIMIZED, SearchOptions

BLOCK = 512
"""Threads of a block, as the kernel's launch bounds say."""

LINK_SECTORS, BEGAN, ENDED, FIRST_LEVEL, LEVEL_WORDS, CULLED_WORDS = 1, 2, 3, 5, 11, 13
"""Of the kernel's log, as `ranks.cu` has them; its first word counts the levels. Levels of
`ranks_culled.cu` have more words, of which the last four are `Gathered`."""

PREFIX_SUM, UNIQUIFY, BEST_EFFORT, LOCAL_DUPLICATES = 1, 2, 4, 8
"""Of `Part` in `culled.cuh`."""

LOGGED_LEVELS = 1 << 12
"""Levels that a log has room for at first, in 352 KiB; see `Launch.grow`."""

NOWHERE = (1 << 64) - 1
"""What the kernel takes for no delegate and no compact id."""

SECTOR = 32
"""Bytes, as in `placed.cuh`."""


@dataclass(frozen=True)
class Level:
    """One level on one device; times are microseconds by the clock of its first block."""

    backward: tuple[tuple[str, ...], ...]  # of each rank here, of nd, dn, dd and nn
    normal: int  # frontier here
    delegates: int  # frontier everywhere
    arrived: int  # vertices that other ranks sent here
    visit: float
    wait: float  # for the others' visits
    commit: float  # masks, arrivals, labels
    commit_wait: float
    reduce: float = 0.0  # masks, where they are reduced in rounds; not in `commit`
    relay: float = 0.0  # what is listed for other groups; not in `commit` either
    gathered: Gathered | None = None  # of all ranks here, where nn arcs are culled

    @property
    def pulled(self) -> bool:
        """Whether any rank here visited nd, dn or dd backward."""
        return any(name != "nn" for names in self.backward for name in names)


class Launch(LevelLaunch):
    """A search on the current device, which has to be current at every call.

    Parameters
    ----------
    macros : VERTEX, OFFSET and TREE of `ranks.cu`.
    delegates : their vertices, ascending.
    numbers : of the delegates in the ranks' arrays (`gravel.kernels.partition.cuda.by_degree`); None where
        they ascend.
    ids : compact ones of ranks (`gravel.kernels.partition.cuda.compact_ids`); all vertices of a rank that is
        missing have one.
    nn_rows : of all ranks that are not empty; 0 where nn is visited forward alone, as encoded rows are.
    layout : of encoded rows, which goes with VERTEX u32 and OFFSET u64; None of columns.
    placed : whether columns were placed (`placed.cuh`), which goes with OFFSET u64.
    staging : what is done by stages (`staged.cuh`), which goes with OFFSET u64; or None.

    """

    def __init__(
        self,
        macros: Mapping[str, object],
        view: View,
        delegates: NDArray[Any],
        query: Query,
        options: SearchOptions,
        *,
        nn_rows: int = 0,
        placed: bool = False,
        layout: str | None = None,
        numbers: NDArray[numpy.uint32] | None = None,
        ids: Mapping[int, CompactIds] | None = None,
        staging: Staging | None = None,
    ) -> None:
        import cupy

        self._delegates, self._numbers, self._ids = delegates, numbers, ids or {}
        self._culled = options.culls
        file = "ranks_placed" if placed else "ranks" if staging is None else "ranks_staged"
        file = "ranks_culled" if options.culls else file
        if layout is not None:
            file, macros = "ranks_encoded", {**macros, "LAYOUT": layout}
        path = f"kernels/partition/cuda/{file}.cu"
        super().__init__(path, "search", macros, view, block=BLOCK, time_limit=options.barrier_seconds)
        self._alone, self._here_count = len(view.points) == 1, len(view.here)
        self._placed = placed
        self._staged = staging is not None
        described = [0, 0, 0, parts_of(options)]
        if staging is not None:
            self._schedule = cupy.asarray(staging.schedule())
            described[:3] = int(self._schedule.data.ptr), len(staging.rounds), staging.members
        self._stages = cupy.asarray(numpy.array(described, numpy.uint64))
        d = len(delegates)
        # The level after the last is logged too.
        words = CULLED_WORDS if options.culls else LEVEL_WORDS
        self._allocate_log(LOGGED_LEVELS, first=FIRST_LEVEL, words=words, beyond=1)
        self._tables = (
            self._table,
            self._here,
            cupy.asarray(in_order(delegates, numbers)),
            self._barrier,
            cupy.asarray(packed_factors(options, symmetric=query.symmetric)),
        )
        self._sizes = tuple(
            numpy.uint64(value) for value in (len(view.here), self._ranks, d, 2 * mask_words(d), nn_rows)
        )

    def start(self, source: int, depth: int) -> tuple[Any, Any]:
        """Begin a search that expands to `depth`; returns the events before and after it."""
        place = find_delegate(self._delegates, source)
        own = self._compact_id(source) if place is None else None
        if place is not None and self._numbers is not None:
            place = int(self._numbers[place])
        places = (NOWHERE if each is None else each for each in (place, own))
        last = [*(numpy.uint64(v) for v in (source, *places, depth)), self._stages]
        log = self._log, numpy.uint64(self._logged)
        return self._begin((*self._tables, *log, *self._sizes, *last))

    def _compact_id(self, source: int) -> int | None:
        """Find the compact id of a source on its rank; only that rank's device asks for it."""
        local, ids = source // self._ranks, self._ids.get(source % self._ranks)
        return local if ids is None else ids.find(local)

    def milliseconds(self, start: Any, end: Any) -> float:
        """Tell what the search took: among several devices from when all had come, by the device's clock."""
        if self._alone:
            return super().milliseconds(start, end)
        began, ended = self._log[BEGAN : ENDED + 1].get().tolist()
        return (int(ended) - int(began)) / 1e6

    def reset(self) -> None:
        """Make ready for another search after one that was given up, which some blocks may have counted."""
        super().reset()
        self._log.fill(0)

    def levels(self) -> tuple[Level, ...]:
        """Read the levels of the last search."""
        records = self._records().tolist()
        return tuple(_read_levels(records, self._here_count, staged=self._staged, culled=self._culled))

    def link_bytes(self) -> int | None:
        """Count what the last search read out of host memory; None where columns were not placed."""
        return SECTOR * int(self._log[LINK_SECTORS : LINK_SECTORS + 1].get()[0]) if self._placed else None


def packed_factors(options: SearchOptions, *, symmetric: bool) -> NDArray[numpy.uint64]:
    """Make the kernels' `Factors`, uint64 (7,), of which six are the bits of float64."""
    factors = [options.backward(name) for name in OPTIMIZED]
    factors += [options.forward(name) for name in OPTIMIZED]
    packed = numpy.zeros(7, numpy.uint64)
    packed[:6] = numpy.array(factors, numpy.float64).view(numpy.uint64)
    packed[6] = symmetric and options.direction_optimized
    return packed


def parts_of(options: SearchOptions) -> int:
    """Make the kernel's word of the options by which nn arcs are culled and sorted."""
    chosen = {
        PREFIX_SUM: options.bins == "prefix_sum",
        UNIQUIFY: options.uniquify,
        BEST_EFFORT: options.bitmask == "best_effort",
        LOCAL_DUPLICATES: options.local_duplicates,
    }
    return sum(part for part, wanted in chosen.items() if wanted)


def check_culled(options: SearchOptions, *, placed: bool, layout: str | None, staged: bool) -> None:
    """Raise ValueError for rows and ways that `ranks_culled.cu` does not take."""
    if not options.culls or not (placed or layout is not None or staged):
        return
    chosen = [name for name in CULLING if getattr(options, name) != getattr(SearchOptions, name)]
    others = "encoded rows" if layout is not None else "columns in host memory" if placed else ""
    raise ValueError(
        f"{' and '.join(chosen)}: on GPUs for columns there and neither groups nor a reduction_algorithm"
        + (f", and these are {others}" if others else "")
        + "; leave one or the other out"
    )


def _read_levels(
    records: Sequence[Sequence[int]], here: int, *, staged: bool, culled: bool
) -> Iterator[Level]:
    """Read the kernel's log of all levels; the last record is that of the level after the last."""
    for words, later in itertools.pairwise(records):
        turned = [
            tuple(name for bit, name in enumerate((*OPTIMIZED, "nn")) if words[0] >> (4 * rank + bit) & 1)
            for rank in range(here)
        ]
        began, visited, met, committed, met_again = words[3:8]
        reduced, relayed = words[9:11] if staged else (met, met)
        yield Level(
            tuple(turned),
            words[1],
            words[2],
            later[8],  # what came counts with the frontier that it made
            (visited - began) / 1e3,
            (met - visited) / 1e3,
            (committed - relayed) / 1e3,
            (met_again - committed) / 1e3,
            (reduced - met) / 1e3,
            (relayed - reduced) / 1e3,
            Gathered(*words[LEVEL_WORDS - 2 :]) if culled else None,
        )
