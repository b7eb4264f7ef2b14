"""Delta-varint rows on the CPU; the format is described in `gravel.kernels.layouts.varint`."""

from __future__ import annotations

import numpy

from gravel.kernels.jit import serial
from gravel.kernels.layouts.readers import StreamRows
from gravel.kernels.layouts.streams import BROKEN, DESCENDS, FITS, OUT_OF_RANGE, Codec


@serial
def _sizes(first, last, first_row, row_offsets, columns, sizes, vertex_bits, bound):  # type: ignore[no-untyped-def]
    """Store each row's bytes; return the first row that does not ascend, and that it does not."""
    for v in range(first, last):
        size = 0
        before = numpy.uint64(0)
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            value = numpy.uint64(columns[arc])
            if value < before:
                return v, DESCENDS
            gap = value - before
            before = value
            size += 1
            while gap >= numpy.uint64(128):
                gap >>= numpy.uint64(7)
                size += 1
        sizes[v] = size
    return -1, FITS


@serial
def _write(first, last, first_row, row_offsets, columns, byte_offsets, stream, vertex_bits, bound):  # type: ignore[no-untyped-def]
    for v in range(first, last):
        place = byte_offsets[v]
        before = numpy.uint64(0)
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            value = numpy.uint64(columns[arc])
            gap = value - before
            before = value
            while gap >= numpy.uint64(128):
                stream[place] = numpy.uint8(gap & numpy.uint64(127)) | numpy.uint8(128)
                gap >>= numpy.uint64(7)
                place += 1
            stream[place] = numpy.uint8(gap)
            place += 1


@serial
def _count(first, last, byte_offsets, stream, degrees, vertex_bits):  # type: ignore[no-untyped-def]
    """Store each row's neighbours; return the first row that ends within a number, or -1."""
    for v in range(first, last):
        count = 0
        for place in range(byte_offsets[v], byte_offsets[v + 1]):
            count += stream[place] < 128
        degrees[v] = count
        if byte_offsets[v] < byte_offsets[v + 1] and stream[byte_offsets[v + 1] - 1] >= 128:
            return v
    return -1


@serial
def _read(first, last, first_row, byte_offsets, stream, row_offsets, columns, vertex_bits, largest):  # type: ignore[no-untyped-def]
    """Decode rows; return (first bad row, reason), or (-1, FITS). `_count` has found every row whole."""
    groups = (vertex_bits + 6) // 7
    for v in range(first, last):
        place = byte_offsets[v]
        value = numpy.uint64(0)
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            gap = numpy.uint64(0)
            group = 0
            while True:
                byte = numpy.uint64(stream[place])
                place += 1
                payload = byte & numpy.uint64(127)
                if group >= groups or (group == 9 and payload > numpy.uint64(1)):
                    return v, BROKEN
                gap |= payload << numpy.uint64(7 * group)
                group += 1
                if byte < numpy.uint64(128):
                    break
            value += gap
            if value < gap:
                return v, BROKEN
            if value > largest:
                return v, OUT_OF_RANGE
            columns[arc] = value
    return -1, FITS


@serial
def _read_one(rows, v, buffer):  # type: ignore[no-untyped-def]
    """Decode row v into the buffer; return how many neighbours it has, none where it is damaged."""
    place, end = rows.byte_offsets[v] - rows.base, rows.byte_offsets[v + 1] - rows.base
    value, count = numpy.uint64(0), 0
    while place < end:
        gap, shift = numpy.uint64(0), numpy.uint64(0)
        byte = numpy.uint64(128)
        while byte >= numpy.uint64(128):
            # A row does not end within a number: `readable` has looked at its last byte.
            byte = numpy.uint64(rows.stream[place])
            place += 1
            if shift > numpy.uint64(63):
                return 0
            gap |= (byte & numpy.uint64(127)) << shift
            shift += numpy.uint64(7)
        value += gap
        if value < gap or value > rows.largest:
            return 0
        buffer[count] = value
        count += 1
    return count


class VarintRows(StreamRows):
    """Rows of bytes; see `gravel.kernels.layouts.varint`."""

    layout = "varint"
    word = numpy.uint8
    count_rows = _count
    read_rows = _read
    read_one = _read_one


CODEC = Codec(_sizes, _write, VarintRows)
