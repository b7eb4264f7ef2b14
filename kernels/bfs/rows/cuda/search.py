"""A search of encoded rows that is one cooperative launch: what its strategies share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.cuda.labels import NARROW, Labels
from gravel.kernels.bfs.cuda.level_loop import (
    IN_PLANE,
    MOST_IN_TEAM,
    MOST_PLANES,
    MOST_TEAM_WEIGHT,
    STAGED,
    WAITING,
    LevelLoopSearch,
    bitmap_words,
    check_shared,
    depth_limit,
    shared_room,
)
from gravel.kernels.cuda import (
    blocks_for,
    load,
    resident_blocks,
    vertex_macro,
)
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.registry import layout_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/bfs/rows/search.cu"
LISTED_BEFORE = 64  # neighbours that a warp lists beside those of a unit: expand_encoded.cuh
UNEVEN = 1024  # arcs by which a block of the team may be behind the others
LONGEST = 1 << 33  # weight of a row of 64-bit vertices: an entry names 2^28 units, of at least 32 neighbours


@dataclass(frozen=True)
class Tuning:
    """Constants of a search, as `gravel.kernels.bfs.cuda.direction_optimizing.prepare` describes them."""

    pull: bool
    alpha: float | None = None
    alphas: tuple[float, float] = (0.0, 0.0)  # where rows begin with hubs, and elsewhere
    beta: float = 0.0
    floor: float = 0.0
    flood: float = 1e18  # a search that never goes bottom-up needs every level's queue
    patience: int = 0
    team_blocks: int = 64
    team_capacity: int = 4096
    team_limit: int = 1 << 16
    words_per_open: float = 0.0
    planes: int | None = 0
    one_lane: bool = False


class RowsSearch(LevelLoopSearch):
    """Rows made ready for searches: bitmaps, queue, labels and first neighbours lie on the device.

    The rows' own arrays may lie wherever the device can read; see `gravel.kernels.layouts.device_rows`.

    Parameters
    ----------
    rows : of a square graph.
    output, symmetric, max_depth : as for `gravel.kernels.bfs.prepare`.
    tuning : the strategy's constants.
    shared_kilobytes, narrow : as for `gravel.kernels.bfs.cuda.direction_optimizing.prepare`.
    block : threads of a block, a multiple of 32; by default as many as decoding leaves registers for.

    """

    def __init__(
        self,
        rows: EncodedRows,
        *,
        output: str,
        symmetric: bool,
        max_depth: int | None,
        tuning: Tuning,
        shared_kilobytes: int = 160,
        block: int | None = None,
        narrow: int = NARROW,
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self.vertices = rows.vertex_count
        self.output = output
        dtype = numpy.dtype(rows.dtype)
        layout = layout_of(rows.layout)
        if tuning.one_lane:
            layout.check_one_lane()
        self._rows = with_units(rows, cut=not tuning.one_lane)
        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        module = load(
            SOURCE,
            LAYOUT=rows.layout,
            VERTEX=vertex_macro(dtype),
            TREE=self._labels.tree,
            ONE_LANE=int(tuning.one_lane),
        )
        self._kernel = module.get_function("search")
        most_threads = int(self._kernel.max_threads_per_block)
        block = most_threads if block is None else block
        if block % 32 or not 32 <= block <= most_threads:
            raise ValueError(f"block is {block}; it must be a multiple of 32 up to {most_threads}")
        most_shared, shared = shared_room(shared_kilobytes)
        listed = layout.unit_arcs + LISTED_BEFORE
        lists = block // 32 * listed * (dtype.itemsize + 1)
        needed = max(lists + block // 32 * STAGED * 8, block // 32 * WAITING * dtype.itemsize)
        check_shared(block, needed, shared)
        # The limit belongs to the kernel, which searches with other settings share.
        self._kernel.max_dynamic_shared_size_bytes = most_shared
        grid = resident_blocks(self._kernel, block, shared)

        given = device_rows(self._rows)
        measure = module.get_function("measure_rows")
        units, weight, hubs, last, linked = self._measure(measure, given, None, self.vertices)[0]
        # Without in-arcs a vertex that has no arcs may still be reached, unless every arc has its reverse.
        candidates = linked if symmetric else self.vertices
        reached = last if symmetric and linked else self.vertices
        words = bitmap_words(reached)
        planes = tuning.planes
        if planes is None:
            most = rows.arc_count // (2 * IN_PLANE * words * 32)
            planes = 0 if self._hubs_first() else min(MOST_PLANES, most)
        planes = planes if tuning.pull else 0
        heads = cupy.empty(words * 32 * 2 if tuning.pull else 0, dtype)
        behind = cupy.empty(max(1, planes * words * 32 * IN_PLANE), dtype)
        first = (heads, behind, planes) if tuning.pull else None
        _, closed = self._measure(measure, given, first, words * 32)
        if not symmetric:
            closed = self._padding(words)

        weight_of_arc = weight / rows.arc_count if rows.arc_count else 1.0
        alpha = tuning.alpha
        if alpha is None:
            alpha = tuning.alphas[0 if self._hubs_first() else 1]
        team_blocks = max(1, min(tuning.team_blocks, MOST_IN_TEAM, grid))
        capacity = min(tuning.team_capacity, (shared - lists) // 16) & ~31
        limit = min(int(tuning.team_limit * weight_of_arc), MOST_TEAM_WEIGHT)
        self._launch = (grid,), (block,), shared
        self._arguments = (
            *given,
            heads,
            behind,
            closed,
            cupy.zeros(2 * words, cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.empty(max(units, 1), cupy.uint64),
            cupy.empty(max(hubs, 1), dtype),
            *self._work_arrays(),
            *(
                numpy.uint64(x)
                for x in (self.vertices, words, candidates, weight, int(tuning.pull), depth_limit(max_depth))
            ),
            *(numpy.float64(x) for x in (alpha, tuning.beta, tuning.floor, tuning.flood, weight_of_arc)),
            *(
                numpy.uint64(x)
                for x in (
                    tuning.patience,
                    team_blocks,
                    capacity,
                    limit,
                    max(1, int(UNEVEN * weight_of_arc)),
                    shared,
                )
            ),
            numpy.float64(tuning.words_per_open),
            numpy.uint64(planes),
        )
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _measure(
        self, kernel: Any, given: Any, first: tuple[Any, Any, int] | None, upto: int
    ) -> tuple[list[int], Any]:
        """Sum up rows; fill `first` (heads, planes, how many) and mark vertices without arcs below `upto`."""
        import cupy
        import numpy

        places = -(-max(upto, 1) // 32) * 32
        closed = cupy.empty(places // 32, cupy.uint32)
        totals = cupy.zeros(5, cupy.uint64)
        kernel(
            (blocks_for(places, 256, most=resident_blocks(kernel, 256)),),
            (256,),
            (
                *given,
                numpy.uint64(self.vertices),
                numpy.uint64(places),
                numpy.uint64(first[2] if first else 0),
                *(first[:2] if first else (numpy.uint64(0), numpy.uint64(0))),
                closed,
                totals,
            ),
        )
        return [int(total) for total in totals.get()], closed

    def _hubs_first(self) -> bool:
        """Whether the first 64th of the vertices has at least four times its share of the weight."""
        offsets = offsets_of(self._rows)
        return int(offsets[self.vertices // 64]) * 16 > int(offsets[-1]) if len(offsets) else False


def offsets_of(rows: EncodedRows) -> Any:
    """The array that says where each row begins, in columns or in bytes."""
    return rows.arrays["row_offsets" if rows.layout == "csr" else "byte_offsets"]


def with_units(rows: EncodedRows, *, cut: bool = True) -> EncodedRows:
    """Check that rows ascend, and `cut` long ones into units where their layout needs help for that."""
    offsets = offsets_of(rows)
    if rows.first_row:
        raise ValueError(f"the rows begin with row {rows.first_row}; a search needs all of a graph's")
    if len(offsets) != rows.vertex_count + 1 or int(offsets[0]) != 0:
        raise ValueError(
            f"there are {len(offsets)} offsets; {rows.vertex_count} rows have one more, from 0 on"
        )
    if rows.vertex_count:
        lengths = offsets[1:] - offsets[:-1]
        if int(lengths.min()) < 0:
            raise ValueError("the rows' offsets do not ascend")
        if rows.dtype.itemsize == 8 and int(lengths.max()) >= LONGEST:
            raise ValueError(f"a row of {int(lengths.max())} is longer than a queue can name")
    body = rows.arrays["column_indices" if rows.layout == "csr" else "stream"]
    if int(offsets[-1]) > len(body):
        raise ValueError(f"the rows end at {int(offsets[-1])}; there are {len(body)}")
    return layout_of(rows.layout).codec("cuda").searchable(rows) if cut else rows
