"""Afforest on CUDA; see `afforest.cu` and `afforest_rows.cu`."""

from __future__ import annotations

from typing import Any, Literal

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.buffers import HEADS
from gravel.kernels.components.buffers import columns as table
from gravel.kernels.components.cuda.afforest_rows import ForestOfHeads
from gravel.kernels.cuda import event_milliseconds, load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/components/cuda/afforest.cu"
MAX_TRACED = 16  # as in afforest.cu


def prepare(
    rows: EncodedRows,
    *,
    symmetric: bool,
    rounds: int | None = None,
    keep: int | None = None,
    giant: Literal["sampled", "first"] = "sampled",
    prune: bool = True,
    block: int | None = None,
) -> ColumnForest | ForestOfHeads:
    """Make rows ready; see `gravel.kernels.components.prepare_rows`.

    Columns in device memory are read from their start by `afforest.cu`. Of other rows, of those that are kept
    in part, and with another `giant` or without `prune`, the first neighbours of every vertex are decoded
    before any search, which `afforest_rows.cu` joins before any row.

    Parameters
    ----------
    rows : of a square graph, whose arrays the device reads wherever they lie.
    symmetric : whether every arc has its reverse; without it no row is skipped.
    rounds : neighbours that every vertex links before the largest component is sought. Of columns those after
        the first, by default 1; else first neighbours that are kept on the device, 1 to 4, by default 2, as
        Sutton et al. take.
    keep : for rows in host memory: rows all of whose neighbours the device has are then not read again. Of
        columns it keeps the first ones of every row that fit so many bytes beside the `rounds`, of encoded
        rows these alone. None where rows lie on the device as well, and are read from their start.
    giant, prune : as for `gravel.kernels.components.cuda.afforest_tiles.components`.
    block : threads of a block, a multiple of 32 from 256 to 1024, by default 512; for columns alone.

    Raises ValueError for a value that a parameter cannot have.

    """
    if rows.layout == "csr" and keep is None and giant == "sampled" and prune:
        block = 512 if block is None else block
        refuse_block(block, least=256)
        if rounds is not None and rounds < 0:
            raise ValueError(f"rounds is {rounds}; it must be at least 0")
        return ColumnForest(rows, symmetric, 1 if rounds is None else rounds, block)
    if block is not None:
        raise ValueError(f"block is {block}; it is for columns whose rows are read from their start")
    return ForestOfHeads(rows, symmetric, HEADS if rounds is None else rounds, giant, prune, keep=keep)


class ColumnForest:
    """Columns in device memory; nothing is made ready but on the way."""

    prepare_milliseconds = 0.0

    def __init__(self, rows: EncodedRows, symmetric: bool, rounds: int, block: int) -> None:
        arrays = rows.arrays
        self._made_with = arrays["row_offsets"], arrays["column_indices"], symmetric, rounds, block

    def run(self, trace: Any = None) -> ComponentsResult:
        """Find the components. `trace`, uint64 (16,) on the device, gets the clock after each phase."""
        return _find(*self._made_with, trace)


def _find(
    row_offsets: Any, column_indices: Any, symmetric: bool, rounds: int, block: int, trace: Any
) -> ComponentsResult:
    import cupy

    vertices, arcs = len(row_offsets) - 1, len(column_indices)
    made = make(table(f"u{column_indices.dtype.itemsize}", vertices, arcs), cupy)
    component, arrivals = made["component"], made.pop("arrivals")
    if vertices == 0:
        return ComponentsResult(component, 0.0, "afforest")
    kernel = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype)).get_function("afforest")
    grid = (resident_blocks(kernel, block),), (block,)
    trace = cupy.zeros(MAX_TRACED, cupy.uint64) if trace is None else trace
    arguments = (
        cupy.ascontiguousarray(row_offsets),
        cupy.ascontiguousarray(column_indices),
        numpy.uint64(vertices),
        numpy.uint64(symmetric),
        numpy.uint64(rounds),
        *made.values(),
        trace,
        arrivals,
    )
    milliseconds = event_milliseconds(lambda: kernel(*grid, arguments))
    return ComponentsResult(component, milliseconds, "afforest")
