"""Afforest on rows in any layout, wherever they lie; see `afforest_rows.cu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult, refuse_giant
from gravel.kernels.components.buffers import HUB_ARCS, tiles
from gravel.kernels.components.buffers import heads as first_neighbours
from gravel.kernels.components.cuda.afforest_tiles import GIANTS, MAX_TRACED, ROUNDS
from gravel.kernels.components.cuda.kept import Kept, heads_alone, keep_first, read_kept_heads
from gravel.kernels.cuda import event_milliseconds, load, resident_blocks, run_over, vertex_macro
from gravel.kernels.layouts import device_rows

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/components/cuda/afforest_rows.cu"
BLOCK = 512


class ForestOfHeads:
    """Rows made ready; `heads` (rounds, vertices) are first neighbours, all ones where there are fewer.

    Parameters are those of `gravel.kernels.components.cuda.afforest.prepare`, and `heads` of rows made ready
    before.

    `kept` is what the device has of rows that lie elsewhere, None where they do not.
    """

    def __init__(
        self,
        rows: EncodedRows,
        symmetric: bool,
        rounds: int,
        giant: str,
        prune: bool,
        heads: Any = None,
        *,
        keep: int | None = None,
    ) -> None:
        import cupy

        if not 1 <= rounds <= ROUNDS:
            raise ValueError(f"rounds is {rounds}; it must be 1 to {ROUNDS}")
        if keep is not None and keep < 0:
            raise ValueError(f"keep is {keep}; it must be 0 or more")
        refuse_giant(giant)
        n, dtype = rows.vertex_count, numpy.dtype(rows.dtype)
        shape = (rounds, n)
        if heads is not None and (heads.shape != shape or heads.dtype != dtype):
            raise ValueError(f"heads are {heads.dtype} {heads.shape}; {dtype} {shape} are expected")
        self._made_with = symmetric, rounds, giant, prune
        self._rows = rows  # which keeps the arrays alive
        self._vertices = n
        self._module = load(SOURCE, LAYOUT=rows.layout, VERTEX=vertex_macro(dtype), BLOCK=BLOCK)
        vertex = f"u{dtype.itemsize}"
        made = make(tiles(vertex, n, rows.arc_count, hub=HUB_ARCS), cupy)
        self.component, self._counters = made["component"], made.pop("counters")
        self.prepare_milliseconds = 0.0
        self.heads = make(first_neighbours(vertex, n, rounds), cupy)["heads"] if heads is None else heads
        self.kept: Kept | None = None
        self._sizes = numpy.uint64(n), numpy.uint64(rounds)
        if n == 0:
            return
        if heads is None:
            self.prepare_milliseconds = event_milliseconds(lambda: self._read_heads(keep))
        self._kernel = self._module.get_function("afforest_rows")
        self._grid = resident_blocks(self._kernel, BLOCK)
        self._arguments = (
            *device_rows(rows),
            numpy.uint64(n),
            numpy.uint64(symmetric),
            self.heads,
            numpy.uint64(rounds),
            *((numpy.uint64(0),) * 4 if self.kept is None else self.kept.arguments()),
            numpy.uint64(GIANTS[giant] if prune else 0),
            *made.values(),
            numpy.uint64(len(made["hubs"])),
            self._counters,
        )

    def beside(self, rows: EncodedRows) -> ForestOfHeads:
        """Make the same graph ready where its rows lie elsewhere or otherwise, with these first neighbours.

        Raises ValueError for rows of another number or type of vertices.
        """
        return ForestOfHeads(rows, *self._made_with, heads=self.heads)

    def _read_heads(self, keep: int | None) -> None:
        if keep and self._rows.layout == "csr":
            arrays = self._rows.arrays
            self.kept = keep_first(
                arrays["row_offsets"], arrays["column_indices"], keep, least=self.heads.shape[0]
            )
        if self.kept is not None:
            read_kept_heads(self.kept, self.heads)
            return
        self.kept = None if keep is None else heads_alone(self._vertices)
        longer = numpy.uint64(0) if self.kept is None else self.kept.longer
        arguments = *device_rows(self._rows), *self._sizes, self.heads, longer
        run_over(self._module.get_function("read_heads"), self._vertices, *arguments, most=1 << 16)

    def run(self, trace: Any = None) -> ComponentsResult:
        """Find the components; the labels are valid until the next call.

        `trace` is as for `gravel.kernels.components.cuda.afforest_tiles.components`.
        """
        import cupy

        if self._vertices == 0:
            return ComponentsResult(self.component, 0.0, "afforest")
        self._counters.fill(0)
        trace = cupy.zeros(MAX_TRACED, cupy.uint64) if trace is None else trace
        arguments = *self._arguments, trace
        milliseconds = event_milliseconds(lambda: self._kernel((self._grid,), (BLOCK,), arguments))
        return ComponentsResult(self.component, milliseconds, "afforest")
