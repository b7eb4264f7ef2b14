"""Streams of encoded rows cut between rows, into parts that a buffer holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.layouts import EncodedRows

LINE = 128
"""Bytes that parts are read in whole multiples of: a kernel loads aligned words of a copy."""

LONG_BYTES = 4096
"""Bytes from which all warps share a row; the constant of the same name in `part.cuh`."""

GROUP = 32  # vertices that no cut divides: a word of their bitmaps
ROOM = 64 << 20
"""Bytes of each of the two buffers of rows that lie in host memory: 1.3 ms over the link against a few
microseconds for a step."""


@dataclass(frozen=True)
class StreamParts:
    """Parts of a stream: their first rows, and the bytes that hold them.

    `rows` int64 (parts + 1,) are the first row of each part and the number of rows; `ranges` the first byte
    of each part, a multiple of `LINE`, and one more than its last. `room` is a buffer's size in bytes, a
    multiple of `LINE` that no part exceeds.
    """

    rows: NDArray[numpy.int64]
    ranges: Sequence[tuple[int, int]]
    room: int

    @property
    def count(self) -> int:
        """How many parts there are."""
        return len(self.ranges)


def host_offsets(rows: EncodedRows) -> NDArray[numpy.int64]:
    """Bring the byte offsets of streamed rows to the host; raises ValueError where they cannot be.

    They must ascend from 0, be one more than the rows, and end within the stream.
    """
    import numpy

    from gravel.kernels.layouts.streams import check_offsets

    offsets = rows.arrays["byte_offsets"]
    if rows.first_row:
        raise ValueError(f"the rows begin with row {rows.first_row}; all of a graph's are streamed")
    there: NDArray[numpy.int64] = offsets.get() if hasattr(offsets, "get") else numpy.asarray(offsets)
    if len(there) != rows.vertex_count + 1:
        raise ValueError(f"there are {len(there)} byte offsets; {rows.vertex_count} rows have one more")
    check_offsets(there, int(there[-1]), "byte_offsets", "bytes")
    if int(there[-1]) > len(rows.arrays["stream"]):
        raise ValueError(f"the rows end at {int(there[-1])}; there are {len(rows.arrays['stream'])} bytes")
    return there


def cut_stream(
    byte_offsets: NDArray[numpy.int64], stream_bytes: int, *, buffer_bytes: int, buffers: int
) -> StreamParts:
    """Cut rows into parts whose lines fit a buffer each.

    Parameters
    ----------
    byte_offsets : int64 (rows + 1,), as `host_offsets` returns them.
    stream_bytes : length of the stream, with or without padding.
    buffer_bytes, buffers : size and number of the buffers.

    Raises ValueError for less than two buffers, for one smaller than a line, and, naming it, for a row that
    fits none.

    """
    import numpy

    if buffers < 2:
        raise ValueError(f"buffers is {buffers}; it must be 2 or more")
    room = buffer_bytes // LINE * LINE
    if not room:
        raise ValueError(f"buffer_bytes is {buffer_bytes}; a line takes {LINE}")
    count, cuts, ranges = len(byte_offsets) - 1, [0], []
    while cuts[-1] < count:
        row = cuts[-1]
        first = int(byte_offsets[row]) // LINE * LINE
        # Lines up to a row's end fit where that end does, since the limit is the end of a line.
        last = int(numpy.searchsorted(byte_offsets, first + room, side="right")) - 1
        if last <= row:
            size = -(-int(byte_offsets[row + 1]) // LINE) * LINE - first
            raise ValueError(
                f"row {row} lies in {size:,} bytes of the stream, and a buffer holds {room:,}: allow "
                f"{buffers} buffers of at least {size:,} bytes, by host_memory and device_memory"
            )
        cuts.append(last)
        ranges.append((first, min(-(-int(byte_offsets[last]) // LINE) * LINE, stream_bytes)))
    return StreamParts(numpy.array(cuts, numpy.int64), ranges, room)


def cut_rows(byte_offsets: NDArray[numpy.int64], room: int) -> tuple[NDArray[numpy.uint64], int]:
    """Cut rows into parts whose lines fit `room` bytes, or what the largest group of 32 rows takes.

    Parameters
    ----------
    byte_offsets : NumPy int64 (rows + 1,), ascending from 0.
    room : bytes of a buffer.

    Returns the first rows of the parts and the number of rows, uint64 (parts + 1,), and the room that the
    largest part takes, a multiple of `LINE`.

    """
    import numpy

    rows = len(byte_offsets) - 1
    edges = numpy.append(numpy.arange(0, rows, GROUP), rows)
    at = byte_offsets[edges]
    first_lines, last_lines = at // LINE, -(-at // LINE)
    cuts, most_lines = [0], 0
    while cuts[-1] < len(edges) - 1:
        place = cuts[-1]
        # The first edge whose lines, up to it, no longer fit; at least one group is taken.
        fitting = int(numpy.searchsorted(last_lines, first_lines[place] + room // LINE, side="right")) - 1
        cuts.append(max(place + 1, fitting))
        most_lines = max(most_lines, int(last_lines[cuts[-1]] - first_lines[place]))
    return edges[cuts].astype(numpy.uint64), max(1, most_lines) * LINE


def long_rows(
    byte_offsets: NDArray[numpy.int64], parts: NDArray[Any], dtype: Any
) -> tuple[NDArray[Any], NDArray[numpy.uint64]]:
    """List the rows of more than LONG_BYTES, of `dtype`, and how many lie before each part, uint64."""
    import numpy

    found = numpy.flatnonzero(numpy.diff(byte_offsets) > LONG_BYTES)
    return found.astype(dtype), numpy.searchsorted(found, parts.astype(numpy.int64)).astype(numpy.uint64)
