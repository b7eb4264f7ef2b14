"""Components by passes over all arcs of rows in any layout; see `kernels/papers/moschou/passes.cu`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult, refuse_giant
from gravel.kernels.components.buffers import HUB_ARCS
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, strided_blocks, vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.units import with_units
from gravel.kernels.papers.buffers import passes
from gravel.kernels.papers.moschou.one_lane import refuse_other_layouts

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE, ONE_LANE_SOURCE = "kernels/papers/moschou/passes.cu", "kernels/papers/moschou/passes_one_lane.cu"
BLOCK = 256


class RowPasses:
    """Rows made ready; each run decodes all of them in every pass.

    Parameters
    ----------
    rows : of a square graph, in any layout, whose arrays the device reads wherever they lie.
    symmetric : changes nothing: every arc is linked.
    giant : the component whose arcs are skipped: that of vertex 0, or, after a pass over the first arc of
        every vertex, the most frequent one of a sample.
    prune : whether arcs inside that component are skipped, or issue their atomics like all others.
    decoder : how a warp reads rows: all lanes together, or `one_lane` for all, as in Moschou's report
        (section 2.3), for comparison; that one reads varint rows alone.

    Raises ValueError for a value that a parameter cannot have, and for rows that do not ascend.

    """

    name: str
    most: int | None
    """Passes at most; None for as many as change anything."""

    def __init__(
        self,
        rows: EncodedRows,
        *,
        symmetric: bool,
        giant: Literal["sampled", "first"] = "first",
        prune: bool = True,
        decoder: Literal["warp", "one_lane"] = "warp",
    ) -> None:
        import cupy

        refuse_giant(giant)
        one_lane = decoder == "one_lane"
        if one_lane:
            refuse_other_layouts(rows.layout)
        started = time.perf_counter()
        n, dtype = rows.vertex_count, numpy.dtype(rows.dtype)
        source = ONE_LANE_SOURCE if one_lane else SOURCE
        self._module = load(source, LAYOUT=rows.layout, VERTEX=vertex_macro(dtype))
        cut = rows.layout != "csr" and not one_lane and n > 0
        hubs = rows.arc_count // HUB_ARCS + 1 if cut else 1
        self._component, self._giant, self._flag, self._hubs = make(
            passes(f"u{dtype.itemsize}", n, hubs), cupy
        ).values()
        # The arguments by which kernels read arcs, and how many threads share these.
        if rows.layout == "csr":
            self._rows, self._threads = rows, rows.arc_count
            self._reads: tuple[Any, ...] = tuple(
                map(cupy.ascontiguousarray, (rows.arrays["row_offsets"], rows.arrays["column_indices"]))
            )
        else:
            self._rows = with_units(rows, cut=not one_lane)  # which keeps the arrays alive
            # A warp takes one row, or 32 of them.
            self._threads = 32 * n if one_lane else n
            noted = self._note_hubs() if cut else 0
            self._reads = *device_rows(self._rows), self._hubs, numpy.uint64(noted)
        self._vertices = n
        self._most_blocks = strided_blocks()
        self._sampled, self._prune = giant == "sampled", prune
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _note_hubs(self) -> int:
        """List the rows that are split over the grid; returns how many there are."""
        import cupy

        n, room, noted = self._rows.vertex_count, len(self._hubs), cupy.zeros(1, cupy.uint64)
        arguments = *device_rows(self._rows), numpy.uint64(n), self._hubs, numpy.uint64(room), noted
        self._module.get_function("note_hubs")((blocks_for(n, BLOCK),), (BLOCK,), arguments)
        return min(int(noted[0]), room)

    def run(self) -> ComponentsResult:
        """Find the components; the labels are valid until the next call.

        Whether the passes were enough is found out off the clock.
        """
        if self._vertices == 0:
            return ComponentsResult(self._component, 0.0, self.name, passes=1)
        done: list[tuple[int, bool]] = []
        milliseconds = event_milliseconds(lambda: done.append(self._link()))
        passes, converged = done[0]
        converged = converged or not self._flagged("compare")  # which an arc that joins two labels raises
        return ComponentsResult(self._component, milliseconds, self.name, converged, passes)

    def _link(self) -> tuple[int, bool]:
        """Link in passes; returns how many, and whether the last one changed nothing."""
        n = numpy.uint64(self._vertices)
        self._call("alone", self._vertices, self._component, n)
        if self._sampled:
            self._call("first_arcs", self._vertices, *self._reads, n, self._component)
            self._flatten()
        passes, changed = 0, True
        while changed and passes != self.most:
            if self._sampled:
                self._call("sample", BLOCK, *self._reads, n, self._component, self._giant)
            else:
                self._giant[0] = self._component[0]
            changed = self._flagged("pass", self._giant, numpy.uint32(self._prune))
            self._flatten()
            passes += 1
        return passes, not changed

    def _call(self, name: str, items: int, *arguments: Any) -> None:
        blocks = blocks_for(items, BLOCK, most=self._most_blocks)
        self._module.get_function(name)((blocks,), (BLOCK,), arguments)

    def _flagged(self, name: str, *arguments: Any) -> bool:
        """Run a kernel over all arcs and say whether it raised its flag."""
        self._flag.fill(0)
        n = numpy.uint64(self._vertices)
        self._call(name, self._threads, *self._reads, n, self._component, *arguments, self._flag)
        return bool(self._flag[0])

    def _flatten(self) -> None:
        self._call("compress", self._vertices, self._component, numpy.uint64(self._vertices))


class SinglePass(RowPasses):
    """Links all arcs once; the result tells whether that was enough."""

    name, most = "afforest_single_pass", 1


class MultiPass(RowPasses):
    """Links all arcs until a pass changes nothing."""

    name, most = "afforest_multi_pass", None
