"""What the layouts of byte strings share: checks, refusals, and how rows are written and read on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import array_module
from gravel.kernels.layouts.layout import padded
from gravel.kernels.placement.pinned import pinnable
from gravel.kernels.row_blocks import row_blocks, run_blocks

FITS, DESCENDS, BROKEN, OUT_OF_RANGE = 0, 1, 2, 3

_REASONS = {
    BROKEN: "is damaged: its bytes are no neighbours",
    OUT_OF_RANGE: "names a vertex that is not in the graph",
}


def refuse(row: int, reason: int) -> NoReturn:
    """Raise ValueError for a row that cannot be decoded."""
    raise ValueError(f"row {row} of the compressed graph {_REASONS[reason]}")


def refuse_input(row: int, reason: int) -> NoReturn:
    """Raise ValueError for a row that cannot be encoded."""
    if reason == DESCENDS:
        raise ValueError(f"row {row} does not ascend; compressed rows need sorted neighbours")
    raise ValueError(f"row {row} is too long: its blocks cannot be addressed with 32 bits")


def check_offsets(offsets: Any, end: int, name: str, what: str) -> None:
    """Raise ValueError unless int64 offsets, NumPy or CuPy, ascend from 0 to `end`."""
    # CuPy compiles its first `any` of a process for 12 s; a minimum comes compiled.
    descends = len(offsets) > 1 and int((offsets[1:] - offsets[:-1]).min()) < 0
    if len(offsets) == 0 or int(offsets[0]) != 0 or int(offsets[-1]) != end or descends:
        raise ValueError(f"{name} must ascend from 0 to {end}, the number of {what}")


def check_stream(byte_offsets: Any, stream: Any) -> None:
    """Raise ValueError unless the offsets ascend within the stream and fill it but for the padding."""
    end = int(byte_offsets[-1]) if len(byte_offsets) else -1
    check_offsets(byte_offsets, end, "byte_offsets", "bytes")
    if len(stream) != padded(end):
        raise ValueError(f"the rows take {end} bytes; the stream has {len(stream)}, not {padded(end)}")


def vertex_dtype(dtype: Any) -> numpy.dtype[Any]:
    """Raise ValueError unless it is uint32 or uint64."""
    asked: numpy.dtype[Any] = numpy.dtype(dtype)
    if asked not in (numpy.dtype(numpy.uint32), numpy.dtype(numpy.uint64)):
        raise ValueError(f"columns of {asked} were asked for; they can be uint32 or uint64")
    return asked


def largest_vertex(bound: int, dtype: numpy.dtype[Any]) -> numpy.uint64:
    """Largest neighbour that there may be; `bound` is at least 1."""
    return numpy.uint64(min(bound - 1, int(numpy.iinfo(dtype).max)))


def offsets_of(counts: Any) -> Any:
    """Exclusive sums of int64 counts, NumPy or CuPy, and their total."""
    module = array_module(counts)
    offsets = module.zeros(len(counts) + 1, numpy.int64)
    module.cumsum(counts, out=offsets[1:])
    return offsets


def count_rows(rows: Any, byte_offsets: NDArray[Any], stream: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Count the neighbours of each row without decoding it, int64 (rows,).

    Parameters
    ----------
    rows : the class of the rows (`gravel.kernels.layouts.readers.StreamRows`).
    stream : as that class reads it.

    Raises ValueError for a row that ends too early.

    """
    degrees, bits = numpy.empty(len(byte_offsets) - 1, numpy.int64), 8 * numpy.dtype(dtype).itemsize
    cut = run_blocks(
        lambda a, b: rows.count_rows(a, b, byte_offsets, stream, degrees, bits), row_blocks(byte_offsets)
    )
    if bad := [row for row in cut if row >= 0]:
        refuse(min(bad), BROKEN)
    return degrees


@dataclass(frozen=True)
class Codec:
    """Kernels of a layout over a range of rows; see `blocks.cpu` for their arguments and results.

    Those that read are the class's, which compiled kernels know (`gravel.kernels.layouts.readers`).
    """

    sizes: Callable[..., tuple[int, int]]
    write: Callable[..., None]
    rows: Any

    def encode(
        self, row_offsets: NDArray[Any], columns: NDArray[Any], *, first_row: int, bound: int
    ) -> dict[str, NDArray[Any]]:
        """Write rows; see `gravel.kernels.layouts.encode`."""
        bits = 8 * vertex_dtype(columns.dtype).itemsize
        check_offsets(row_offsets, len(columns), "row_offsets", "arcs")
        sizes = numpy.empty(len(row_offsets) - 1, numpy.int64)
        blocks = row_blocks(row_offsets)
        most = numpy.uint64(min(bound, (1 << 64) - 1))
        found = run_blocks(
            lambda a, b: self.sizes(a, b, first_row, row_offsets, columns, sizes, bits, most), blocks
        )
        if bad := [fault for fault in found if fault[0] >= 0]:
            refuse_input(*min(bad))
        byte_offsets = offsets_of(sizes)
        # A GPU may come to read it there.
        stream = pinnable(padded(int(byte_offsets[-1])), numpy.uint8)
        run_blocks(
            lambda a, b: self.write(a, b, first_row, row_offsets, columns, byte_offsets, stream, bits, most),
            blocks,
        )
        return {"byte_offsets": byte_offsets, "stream": stream}

    def decode(
        self, arrays: Mapping[str, NDArray[Any]], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Read rows back; see `gravel.kernels.layouts.decode`."""
        dtype = vertex_dtype(dtype)
        byte_offsets, stream = arrays["byte_offsets"], arrays["stream"]
        check_stream(byte_offsets, stream)
        words = numpy.ascontiguousarray(stream).view(self.rows.word)
        degrees = count_rows(self.rows, byte_offsets, words, dtype)
        row_offsets = offsets_of(degrees)
        if row_offsets[-1] != arc_count:
            raise ValueError(f"the compressed graph holds {row_offsets[-1]} arcs; it should hold {arc_count}")
        columns = numpy.empty(arc_count, dtype)
        if bound < 1 and arc_count:
            refuse(int(numpy.flatnonzero(degrees)[0]), OUT_OF_RANGE)
        largest, bits = largest_vertex(max(bound, 1), dtype), 8 * dtype.itemsize
        found = run_blocks(
            lambda a, b: self.rows.read_rows(
                a, b, first_row, byte_offsets, words, row_offsets, columns, bits, largest
            ),
            row_blocks(byte_offsets),
        )
        if faults := [fault for fault in found if fault[0] >= 0]:
            refuse(*min(faults))
        return row_offsets, columns
