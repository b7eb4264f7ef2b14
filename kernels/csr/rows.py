"""Sorted rows on the CPU: count, scatter by row, then sort and compact each row where it lies.

A counting sort by row, whose memory is offsets and columns alone beside the edges (arcs before duplicates
are removed), and 0.3 MB per thread while rows are sorted. Edges may come in parts, so that not even they need
be in memory: first all parts through `degrees`, then the same parts through `RowBuilder.add`.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.csr import Choice, Rows, buffers
from gravel.kernels.csr.sort import LONG_ROW, long_rows, sort_rows
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.threads import thread_count

OWNED_BITS = 9  # rows are dealt to threads in runs of 512, whose counters fill 64 cache lines


class RowBuilder:
    """Rows `first_vertex` onwards, filled from edges that come in parts.

    Parameters
    ----------
    offsets : int64 (rows + 2,), taken over: the arc count of row r at offsets[r + 2], from `degrees` over
        the same edges with the same options.
    dtype : of the vertices.
    direction, keep_loops : see `gravel.kernels.csr.build`.

    """

    def __init__(
        self,
        offsets: NDArray[numpy.int64],
        dtype: Any,
        *,
        first_vertex: int = 0,
        direction: str = "as_given",
        keep_loops: bool = True,
    ) -> None:
        self._rows = len(offsets) - 2
        self._first = first_vertex
        self._direction = direction
        self._keep_loops = keep_loops
        offsets[:2] = 0
        numpy.cumsum(offsets, out=offsets)
        # offsets[r + 1] is now the start of row r and serves as its cursor: it ends as the row's end.
        self._offsets = offsets
        self._columns = buffers.columns(int(offsets[-1]), numpy.dtype(dtype).str[1:]).make(numpy)

    def add(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Put the arcs of these edges into their rows; edges that `degrees` has not seen corrupt memory."""
        _on_threads(
            _scatter,
            source,
            target,
            self._offsets[1:-1],
            self._columns,
            self._first,
            *arc_ends(self._direction),
            self._keep_loops,
        )

    def finish(self, *, keep_duplicates: bool = False, vertex_count: int) -> Rows:
        """Sort the rows and close the gaps that duplicates leave."""
        offsets = self._offsets[: self._rows + 1]
        columns = self._columns
        for row in long_rows(offsets, LONG_ROW):
            columns[offsets[row] : offsets[row + 1]].sort()
        bits = max(1, (vertex_count - 1).bit_length())
        blocks = row_blocks(offsets)
        starts = {low: int(offsets[low]) for low, _ in blocks}

        def sort(low: int, high: int) -> Any:
            return sort_rows(columns, offsets, low, high, starts[low], self._first, bits, keep_duplicates)

        done = run_blocks(sort, blocks)
        end = 0
        for start, (length, _) in zip(starts.values(), done, strict=True):
            if start != end:
                columns[end : end + length] = columns[start : start + length]
            end += length
        numpy.cumsum(offsets, out=offsets)
        if end < len(columns):
            del self._columns
            columns.resize(end, refcheck=False)  # shrinks in place, without a copy
        return Rows(offsets, columns, sum(loops for _, loops in done))


def build(source: NDArray[Any], target: NDArray[Any], vertex_count: int, chosen: Choice) -> Rows:
    """Build rows from edges in memory; see `gravel.kernels.csr.build`."""
    offsets = buffers.ends(chosen.last_vertex - chosen.first_vertex).make(numpy)
    _count_into(offsets[2:], source, target, vertex_count, chosen)
    builder = RowBuilder(
        offsets,
        source.dtype,
        first_vertex=chosen.first_vertex,
        direction=chosen.direction,
        keep_loops=chosen.keep_loops,
    )
    builder.add(source, target)
    return builder.finish(keep_duplicates=chosen.keep_duplicates, vertex_count=vertex_count)


def degrees(
    source: NDArray[Any], target: NDArray[Any], chosen: Choice, out: NDArray[numpy.int64] | None
) -> NDArray[numpy.int64]:
    """Count arcs per vertex; see `gravel.kernels.csr.degrees`."""
    counts = numpy.zeros(chosen.last_vertex, numpy.int64) if out is None else out
    _count_into(counts, source, target, chosen.last_vertex, chosen)
    return counts


def arc_ends(direction: str) -> tuple[bool, bool]:
    """Whether an edge makes the arc source -> target, and whether the arc target -> source."""
    return direction != "reverse", direction != "as_given"


def _count_into(
    counts: NDArray[numpy.int64],
    source: NDArray[Any],
    target: NDArray[Any],
    vertex_count: int,
    chosen: Choice,
) -> None:
    ends = *arc_ends(chosen.direction), chosen.keep_loops
    bad = max(_on_threads(_count, source, target, counts, vertex_count, chosen.first_vertex, *ends))
    if bad >= 0:
        raise ValueError(
            f"an edge joins {source[bad]} and {target[bad]}; there are {vertex_count} vertices, 0-based"
        )


def _on_threads(kernel: Any, source: NDArray[Any], *arguments: Any) -> list[Any]:
    """Run a kernel once per owner; each looks at all edges and serves the rows that it owns."""
    threads = thread_count() if len(source) > 1 << 16 else 1
    owners = 1 << (threads - 1).bit_length()

    def serve(owner: int, mask: int) -> Any:
        return kernel(source, *arguments, owner, mask)

    return run_blocks(serve, [(owner, owners - 1) for owner in range(owners)])


@serial
def _count(
    source: NDArray[Any],
    target: NDArray[Any],
    counts: NDArray[numpy.int64],
    vertex_count: int,
    first: int,
    forward: bool,
    backward: bool,
    keep_loops: bool,
    owner: int,
    mask: int,
) -> int:
    """Return the number of an edge that leaves the vertices, or -1."""
    rows = len(counts)
    for i in range(len(source)):
        u, v = numpy.int64(source[i]), numpy.int64(target[i])
        if not (0 <= u < vertex_count and 0 <= v < vertex_count):
            return i
        loop = u == v
        if loop and not keep_loops:
            continue
        r = u - first
        if (forward or loop) and 0 <= r < rows and (r >> OWNED_BITS) & mask == owner:
            counts[r] += 1
        r = v - first
        if backward and not loop and 0 <= r < rows and (r >> OWNED_BITS) & mask == owner:
            counts[r] += 1
    return -1


@serial
def _scatter(
    source: NDArray[Any],
    target: NDArray[Any],
    cursors: NDArray[numpy.int64],
    columns: NDArray[Any],
    first: int,
    forward: bool,
    backward: bool,
    keep_loops: bool,
    owner: int,
    mask: int,
) -> None:
    rows = len(cursors)
    for i in range(len(source)):
        u, v = numpy.int64(source[i]), numpy.int64(target[i])
        loop = u == v
        if loop and not keep_loops:
            continue
        r = u - first
        if (forward or loop) and 0 <= r < rows and (r >> OWNED_BITS) & mask == owner:
            columns[cursors[r]] = v
            cursors[r] += 1
        r = v - first
        if backward and not loop and 0 <= r < rows and (r >> OWNED_BITS) & mask == owner:
            columns[cursors[r]] = u
            cursors[r] += 1
