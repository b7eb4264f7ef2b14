"""Components by passes over all arcs of rows in any layout; see `kernels/components/passes.cu`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import numpy

from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.cuda.afforest_rows import HUB_ARCS
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, strided_blocks, vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.layouts.units import with_units

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/components/passes.cu"
SINGLE_PASS, MULTI_PASS = "afforest_single_pass", "afforest_multi_pass"
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
    """Make rows ready to have all arcs linked once; the result tells whether that was enough.

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

        if giant not in ("sampled", "first"):
            raise ValueError(f"giant is {giant!r}; it must be sampled or first")
        one_lane = decoder == "one_lane"
        if one_lane:
            layout_of(rows.layout).check_one_lane()
        started = time.perf_counter()
        n, dtype = rows.vertex_count, numpy.dtype(rows.dtype)
        self._name, self._most = name, most
        module = load(SOURCE, LAYOUT=rows.layout, VERTEX=vertex_macro(dtype), ONE_LANE=int(one_lane))
        if rows.layout == "csr":
            self._rows, threads = rows, rows.arc_count
            reads = tuple(
                map(cupy.ascontiguousarray, (rows.arrays["row_offsets"], rows.arrays["column_indices"]))
            )
        else:
            self._rows = with_units(rows, cut=not one_lane)  # which keeps the arrays alive
            # A warp takes one row, or 32 of them.
            threads = 32 * n if one_lane else n
            reads = *device_rows(self._rows), *_hubs(module, self._rows, 0 if one_lane else n)
        self._passes = Passes(module, reads, threads, n, dtype, sampled=giant == "sampled", prune=prune)
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components; the labels are valid until the next call."""
        return find(self._name, self._passes, self._most)


def _hubs(module: Any, rows: EncodedRows, upto: int) -> tuple[Any, Any]:
    """List the rows below `upto` that are split over the grid, and how many there are."""
    import cupy

    dtype = numpy.dtype(rows.dtype)
    if not upto:
        return cupy.empty(1, dtype), numpy.uint64(0)
    room = rows.arc_count // HUB_ARCS + 1
    hubs, noted = cupy.empty(room, dtype), cupy.zeros(1, cupy.uint64)
    arguments = *device_rows(rows), numpy.uint64(upto), hubs, numpy.uint64(room), noted
    module.get_function("note_hubs")((blocks_for(upto, BLOCK),), (BLOCK,), arguments)
    return hubs, numpy.uint64(min(int(noted[0]), room))


class Passes:
    """The kernels with the arrays of one graph: `reads` are the arguments by which they read its arcs.

    `threads` are as many as share the arcs.
    """

    def __init__(
        self,
        module: Any,
        reads: tuple[Any, ...],
        threads: int,
        vertices: int,
        dtype: Any,
        *,
        sampled: bool,
        prune: bool,
    ) -> None:
        import cupy

        self._module, self._reads, self._threads = module, reads, threads
        self.vertices = vertices
        self.component = cupy.empty(vertices, dtype)
        self._most_blocks = strided_blocks()
        self._giant = cupy.empty(1, dtype)
        self._flag = cupy.zeros(1, cupy.uint32)
        self._sampled, self._prune = sampled, prune

    def _call(self, name: str, items: int, *arguments: Any) -> None:
        blocks = blocks_for(items, BLOCK, most=self._most_blocks)
        self._module.get_function(name)((blocks,), (BLOCK,), arguments)

    def _flagged(self, name: str, *arguments: Any) -> bool:
        """Run a kernel over all arcs and say whether it raised its flag."""
        self._flag.fill(0)
        n = numpy.uint64(self.vertices)
        self._call(name, self._threads, *self._reads, n, self.component, *arguments, self._flag)
        return bool(self._flag[0])

    def _flatten(self) -> None:
        self._call("compress", self.vertices, self.component, numpy.uint64(self.vertices))

    def run(self, most: int | None) -> tuple[int, bool]:
        """Link up to `most` times; returns how often, and whether the last pass changed nothing."""
        n = numpy.uint64(self.vertices)
        self._call("alone", self.vertices, self.component, n)
        if self._sampled:
            self._call("first_arcs", self.vertices, *self._reads, n, self.component)
            self._flatten()
        passes, changed = 0, True
        while changed and passes != most:
            if self._sampled:
                self._call("sample", BLOCK, *self._reads, n, self.component, self._giant)
            else:
                self._giant[0] = self.component[0]
            changed = self._flagged("pass", self._giant, numpy.uint32(self._prune))
            self._flatten()
            passes += 1
        return passes, not changed

    def apart(self) -> bool:
        """Whether an arc joins two labels."""
        return self._flagged("compare")


def find(name: str, passes: Passes, most: int | None) -> ComponentsResult:
    """Find components by at most so many passes; whether they were enough is found out off the clock."""
    if passes.vertices == 0:
        return ComponentsResult(passes.component, 0.0, name, passes=1)
    done: list[tuple[int, bool]] = []
    taken = event_milliseconds(lambda: done.append(passes.run(most)))
    count, converged = done[0]
    return ComponentsResult(passes.component, taken, name, converged or not passes.apart(), count)
