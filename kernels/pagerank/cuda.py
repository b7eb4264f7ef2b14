"""PageRank on a GPU: an iteration pulls over all rows (columns.cu, encoded.cu), then commits (commit.cu).

What is added up together depends on the graph alone, and no float is added by an atomic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import BLOCK, Kernels
from gravel.kernels.pagerank.buffers import VERTICES, ranks_on_device

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.pagerank.interface import Walk

WARP = 32

TILE = 2048
"""Arcs of a tile, as in columns.cu."""

MAX_BLOCKS = 1 << 30

WEIGHTS = {numpy.dtype(numpy.float32): "float", numpy.dtype(numpy.float64): "double"}
"""Weights as they are; all others become float64."""


class Ranks:
    """Ranks on the current GPU; arguments are those of `gravel.kernels.pagerank.pagerank`."""

    def __init__(self, rows: EncodedRows, outgoing: Any, weights: Any, walk: Walk) -> None:
        import cupy

        n = rows.vertex_count
        self._commit = Kernels("kernels/pagerank/commit.cu", most=MAX_BLOCKS)
        self._rows = _Columns(rows, weights) if rows.layout == "csr" else _Encoded(rows, weights)
        self.rank, self._sums, self._parts = make(ranks_on_device(n), cupy).values()
        self.rank[:] = cupy.asarray(walk.start)
        is_dangling = outgoing == 0
        inverse = cupy.where(is_dangling, 0.0, 1.0 / cupy.where(is_dangling, 1.0, outgoing))
        self._shares = self.rank * inverse
        self._groups = -(-n // VERTICES)
        dangling = float(cupy.where(is_dangling, self.rank, 0.0).sum())
        self._totals = cupy.asarray(numpy.array([numpy.inf, dangling]))
        teleport = cupy.asarray(walk.teleport)
        leak = teleport if walk.leak is walk.teleport else cupy.asarray(walk.leak)
        self._arguments = (
            *(n, self._groups, numpy.float64(walk.damping)),
            *(teleport, int(len(teleport) > 1), leak, int(len(leak) > 1)),
            *(inverse, self._totals, self._sums, self.rank, self._shares, self._parts),
        )
        self._done = 0

    def run(self, until: int, bound: float) -> tuple[int, float]:
        """Go on; see `gravel.kernels.pagerank.interface.Ranks`."""
        residual = numpy.inf
        while self._done < until and not residual < bound:
            self._rows.pull(self._shares, self._sums)
            self._commit.run("commit", self._groups * BLOCK, *self._arguments)
            self._commit.run("finish", BLOCK, self._parts, self._groups, self._totals)
            self._done += 1
            residual = float(self._totals.get()[0])
        return self._done, residual


class _Columns:
    """Tiles of columns."""

    def __init__(self, rows: EncodedRows, weights: Any) -> None:
        import cupy

        offsets, columns = rows.arrays["row_offsets"], rows.arrays["column_indices"]
        arcs = len(columns)
        if weights is not None:
            if len(weights) != arcs:
                raise ValueError(f"there are {len(weights)} weights and {arcs} arcs")
            if weights.dtype not in WEIGHTS:
                weights = weights.astype(numpy.float64)
        kind = "u8" if weights is None else WEIGHTS[numpy.dtype(weights.dtype)]
        vertex = vertex_macro(columns.dtype)
        self._kernels = Kernels("kernels/pagerank/columns.cu", most=MAX_BLOCKS, VERTEX=vertex, WEIGHT=kind)
        self._tiles = -(-arcs // TILE)
        firsts = cupy.minimum(cupy.arange(self._tiles + 1, dtype=numpy.int64) * TILE, max(0, arcs - 1))
        first_row = (cupy.searchsorted(offsets, firsts, side="right") - 1).astype(numpy.int64)
        self._carries = cupy.zeros(self._tiles, numpy.float64)
        self._tiling = first_row, self._tiles
        self._offsets, self._read = offsets, (offsets, columns, weights, arcs)

    def pull(self, shares: Any, sums: Any) -> None:
        """Add up what each row's vertices pass on."""
        given = (*self._tiling, shares, sums, self._carries)
        self._kernels.run("pull", self._tiles * BLOCK, *self._read, *given)
        self._kernels.run(
            "add_carries", self._tiles * WARP, self._offsets, *self._tiling, self._carries, sums
        )


class _Encoded:
    """Units of encoded rows."""

    def __init__(self, rows: EncodedRows, weights: Any) -> None:
        import cupy

        from gravel.kernels.layouts import device_rows
        from gravel.kernels.layouts.units import with_units

        if weights is not None:
            raise ValueError("weighted PageRank on a GPU reads columns (gravel.kernels.layouts.decode)")
        self._with_units = with_units(rows)
        self._read = device_rows(self._with_units)
        vertex = vertex_macro(rows.dtype)
        self._kernels = Kernels("kernels/pagerank/encoded.cu", LAYOUT=rows.layout, VERTEX=vertex)
        self._count = rows.vertex_count
        self._units = cupy.empty(self._count, numpy.int64)
        self._kernels.run("count_units", self._count, *self._read, self._count, self._units)
        long_rows = cupy.flatnonzero(self._units > 1)
        first_unit = cupy.zeros(len(long_rows) + 1, numpy.int64)
        first_unit[1:] = cupy.cumsum(self._units[long_rows])
        self._long = long_rows.astype(numpy.int64), first_unit, len(long_rows)
        self._parts = cupy.zeros(int(first_unit[-1]), numpy.float64)

    def pull(self, shares: Any, sums: Any) -> None:
        """Add up what each row's vertices pass on."""
        rows = (*self._read, self._count)
        self._kernels.run("pull", self._count * WARP, *rows, self._units, shares, sums)
        given = (*self._read, *self._long, shares, self._parts)
        self._kernels.run("pull_units", len(self._parts) * WARP, *given)
        self._kernels.run("add_units", self._long[2] * WARP, *self._long, self._parts, sums)
