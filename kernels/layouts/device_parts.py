"""Parts of encoded rows as kernels take them, copied to the device one after the other; see `part.cuh`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.layouts import EncodedRows, device_rows
from gravel.kernels.layouts.parts import cut_stream, host_offsets, long_rows
from gravel.kernels.placement.copied import CopiedParts


class DeviceParts:
    """Encoded rows whose stream is read and copied in parts; offsets, and what names parts, on the device.

    Parameters
    ----------
    rows : `byte_offsets` int64 (rows + 1,), `stream` any array of bytes that can be sliced.
    buffer_bytes, buffers : as for `gravel.kernels.layouts.parts.cut_stream`.

    Raises ValueError as `host_offsets` and `cut_stream` there do. `notes` says what the system refused.

    """

    def __init__(self, rows: EncodedRows, *, buffer_bytes: int, buffers: int) -> None:
        import cupy

        offsets = host_offsets(rows)
        stream = rows.arrays["stream"]
        parts = cut_stream(offsets, len(stream), buffer_bytes=buffer_bytes, buffers=buffers)
        self.count = parts.count
        longest = max((last - first for first, last in parts.ranges), default=0)
        # Kernels load whole lines, also where the stream ends within one.
        room = min(parts.room, -(-longest // 128) * 128)
        self._copied = CopiedParts(stream, parts.ranges, room, buffers)
        self.notes = self._copied.notes
        self.byte_offsets = cupy.asarray(rows.arrays["byte_offsets"])
        self.rows = cupy.asarray(parts.rows)
        long, before = long_rows(offsets, parts.rows, rows.dtype)
        self._before = before.tolist()
        self._long = cupy.asarray(long) if len(long) else cupy.empty(1, rows.dtype)
        self._parts = parts
        self._described = replace(rows, arrays={})

    def each(self, parts: Sequence[int]) -> Iterator[tuple[int, tuple[Any, ...], int]]:
        """Yield (part, arguments of kernels that decode it, bytes copied); see `CopiedParts.each`.

        The arguments are the layout's ROWS_PARAMETERS, then the part's first byte and first and last row, the
        array of long rows, and which of them are in the part.
        """
        for part, buffer, size in self._copied.each(parts):
            arrays = {"byte_offsets": self.byte_offsets, "stream": buffer}
            numbers = self._parts.ranges[part][0], self._parts.rows[part], self._parts.rows[part + 1]
            yield (
                part,
                (
                    *device_rows(replace(self._described, arrays=arrays)),
                    *(numpy.uint64(number) for number in numbers),
                    self._long,
                    *(numpy.uint64(place) for place in self._before[part : part + 2]),
                ),
                size,
            )
