"""Components of encoded rows by passes over all arcs on the GPU; see `passes.cu` beside this."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import numpy

from gravel.kernels.bfs.rows.cuda.search import with_units
from gravel.kernels.components.cuda.passes import MULTI_PASS, SINGLE_PASS, Passes, check_giant, find
from gravel.kernels.components.rows.cuda import HUB_ARCS
from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.registry import layout_of

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/components/rows/passes.cu"
BLOCK = 256
Decoder = Literal["warp", "one_lane"]


def single_pass(
    rows: EncodedRows,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
    decoder: Decoder = "warp",
) -> RowPasses:
    """Make rows ready to have all arcs linked once.

    Parameters
    ----------
    rows : of a square graph, whose arrays the device reads wherever they lie.
    symmetric, giant, prune : as for `gravel.kernels.components.cuda.passes.single_pass`.
    decoder : how a warp reads rows: all lanes together, or `one_lane` for all, as in Moschou's report
        (section 2.3), for comparison; that one reads varint rows alone.

    Raises ValueError for a value that a parameter cannot have, and for rows that do not ascend.

    """
    return RowPasses(SINGLE_PASS, rows, giant, prune, decoder, most=1)


def multi_pass(
    rows: EncodedRows,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
    decoder: Decoder = "warp",
) -> RowPasses:
    """Make rows ready to be linked until a pass changes nothing; parameters as those of `single_pass`."""
    return RowPasses(MULTI_PASS, rows, giant, prune, decoder, most=None)


class RowPasses:
    """Rows made ready; each run decodes all of them in every pass."""

    def __init__(
        self, name: str, rows: EncodedRows, giant: str, prune: bool, decoder: str, *, most: int | None
    ) -> None:
        import cupy

        check_giant(giant)
        one_lane = decoder == "one_lane"
        if one_lane:
            layout_of(rows.layout).check_one_lane()
        started = time.perf_counter()
        n, dtype = rows.vertex_count, numpy.dtype(rows.dtype)
        self._name, self._most = name, most
        self._rows = with_units(rows, cut=not one_lane)  # which keeps the arrays alive
        module = load(SOURCE, LAYOUT=rows.layout, VERTEX=vertex_macro(dtype), ONE_LANE=int(one_lane))
        given = device_rows(self._rows)
        hubs, count = cupy.empty(1, dtype), 0
        if n and not one_lane:
            room = rows.arc_count // HUB_ARCS + 1
            hubs, noted = cupy.empty(room, dtype), cupy.zeros(1, cupy.uint64)
            arguments = *given, numpy.uint64(n), hubs, numpy.uint64(room), noted
            module.get_function("note_hubs")((blocks_for(n, BLOCK),), (BLOCK,), arguments)
            count = min(int(noted[0]), room)
        # A warp takes one row, or 32 of them.
        threads = 32 * n if one_lane else n
        reads = *given, hubs, numpy.uint64(count)
        self._passes = Passes(module, reads, threads, n, dtype, sampled=giant == "sampled", prune=prune)
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components; the labels are valid until the next call."""
        return find(self._name, self._passes, self._most)
