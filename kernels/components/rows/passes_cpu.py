"""Components of encoded rows by passes over all arcs on the CPU; every pass decodes each row anew."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_min
from gravel.kernels.components.cpu import passes
from gravel.kernels.components.cpu.passes import by_passes, root
from gravel.kernels.jit import serial
from gravel.kernels.layouts.readers import columns_of, read_row, readable
from gravel.kernels.row_blocks import row_blocks, run_blocks

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.layouts import EncodedRows


def single_pass(
    rows: EncodedRows,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> RowPasses:
    """Make rows ready to have all arcs linked once; their neighbours are counted, which finds damaged ones.

    Parameters
    ----------
    rows : of a square graph. Those of layout `csr` are searched as columns.
    symmetric, giant, prune : as for `gravel.kernels.components.cuda.passes.single_pass`.

    Raises ValueError for bytes that are no rows.

    """
    return RowPasses(rows, giant, prune, most=1)


def multi_pass(
    rows: EncodedRows,
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> RowPasses:
    """Make rows ready to be linked until a pass changes nothing; parameters as those of `single_pass`."""
    return RowPasses(rows, giant, prune, most=None)


class RowPasses:
    """Rows made ready; each run grows the forest anew."""

    def __init__(self, rows: EncodedRows, giant: str, prune: bool, *, most: int | None) -> None:
        started = time.perf_counter()
        self._giant, self._prune, self._most = giant, prune, most
        self._count, self._dtype = rows.vertex_count, rows.dtype
        self._columns = columns_of(rows) if rows.layout == "csr" else None
        if self._columns is None:
            self._rows = readable(rows)
            self._blocks = row_blocks(self._rows.byte_offsets)
            nothing = numpy.zeros(0, rows.dtype)
            _pass_rows(self._rows, 0, 0, nothing, 0, True, 1, nothing)
            _apart_rows(self._rows, 0, 0, nothing, nothing)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components; whether the passes were enough is found out off the clock."""
        name = "afforest_single_pass" if self._most == 1 else "afforest_multi_pass"
        given: dict[str, Any] = {"giant": self._giant, "prune": self._prune}
        if self._columns is not None:
            of_columns = passes.single_pass if self._most == 1 else passes.multi_pass
            return of_columns(*self._columns, symmetric=True, **given)
        component = numpy.zeros(self._count, self._dtype)
        link, apart = partial(self._link, component), partial(self._apart, component)
        return by_passes(name, component, link, apart, most=self._most, **given)

    def _buffer(self) -> NDArray[Any]:
        return numpy.empty(max(1, self._rows.longest), self._dtype)

    def _link(self, component: NDArray[Any], skipped: int, prune: bool, arcs: int) -> bool:
        def link(first: int, last: int) -> bool:
            buffer = self._buffer()
            return bool(_pass_rows(self._rows, first, last, component, skipped, prune, arcs, buffer))

        return any(run_blocks(link, self._blocks))

    def _apart(self, component: NDArray[Any]) -> bool:
        def apart(first: int, last: int) -> bool:
            return bool(_apart_rows(self._rows, first, last, component, self._buffer()))

        return any(run_blocks(apart, self._blocks))


@serial
def _pass_rows(
    rows: Any,
    first: int,
    last: int,
    component: NDArray[Any],
    giant: int,
    prune: bool,
    most: int,
    buffer: NDArray[Any],
) -> bool:
    """Link up to `most` arcs of each row; returns whether any parent was lowered."""
    changed = False
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        for k in range(min(read_row(rows, v, buffer), most)):
            p = root(component, numpy.uint64(v))
            q = root(component, numpy.uint64(buffer[k]))
            if prune and p == giant and q == giant:
                continue
            low = min(p, q)
            if fetch_min(component, max(p, q), low) > low:
                changed = True
    return changed


@serial
def _apart_rows(rows: Any, first: int, last: int, component: NDArray[Any], buffer: NDArray[Any]) -> bool:
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        for k in range(read_row(rows, v, buffer)):
            if component[buffer[k]] != component[v]:
                return True
    return False
