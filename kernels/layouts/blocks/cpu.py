"""Rows as blocks of gaps on the CPU; the format is described in `gravel.kernels.layouts.blocks`."""

from __future__ import annotations

import numpy

from gravel.kernels.jit import serial
from gravel.kernels.layouts.bits import (
    CLASS_BITS,
    code_width,
    floor_log2,
    get_bits,
    get_class,
    get_offset,
    next_one,
    put_bits,
    put_class,
    put_offset,
)
from gravel.kernels.layouts.readers import StreamRows
from gravel.kernels.layouts.streams import BROKEN, DESCENDS, FITS, OUT_OF_RANGE, Codec, low_width_bits

BLOCK_ARCS = 256
OFFSET_BITS = 32

_LONGEST = (1 << OFFSET_BITS) - 1


@serial
def _zigzag(value, base, vertex_bits):  # type: ignore[no-untyped-def]
    """Fold value - base, as a signed number of `vertex_bits`, into a natural one; small both ways."""
    shift = numpy.uint64(64 - vertex_bits)
    difference = numpy.int64((value - base) << shift) >> numpy.int64(64 - vertex_bits)
    folded = (numpy.uint64(difference) << numpy.uint64(1)) ^ numpy.uint64(difference >> numpy.int64(63))
    return (folded << shift) >> shift


@serial
def _unzigzag(number, base, vertex_bits):  # type: ignore[no-untyped-def]
    difference = (number >> numpy.uint64(1)) ^ (numpy.uint64(0) - (number & numpy.uint64(1)))
    shift = numpy.uint64(64 - vertex_bits)
    return ((base + difference) << shift) >> shift


@serial
def _measure(columns, begin, end, vertex_bits, width_bits):  # type: ignore[no-untyped-def]
    """Bits of a block, its low width, or -1 for gaps by class; (-1, 0) where it descends."""
    gaps = end - begin - 1
    if gaps == 0:
        return 0, 0
    by_class = gaps
    before = numpy.uint64(columns[begin])
    repeats = False
    for arc in range(begin + 1, end):
        value = numpy.uint64(columns[arc])
        if value < before:
            return -1, 0
        gap = value - before
        before = value
        if gap == numpy.uint64(0):
            repeats = True
        elif gap > numpy.uint64(1):
            by_class += code_width(gap - numpy.uint64(2), vertex_bits)
    span = before - numpy.uint64(columns[begin])
    low = floor_log2(span // numpy.uint64(gaps))
    split = width_bits + gaps * (low + 1) + numpy.int64(span >> numpy.uint64(low))
    if repeats or split <= by_class:
        return 1 + split, low
    return 1 + by_class, -1


@serial
def _header_bits(row, columns, begin, end, vertex_bits):  # type: ignore[no-untyped-def]
    first = _zigzag(numpy.uint64(columns[begin]), numpy.uint64(row), vertex_bits)
    further = (end - begin - 1) // BLOCK_ARCS
    return (
        code_width(numpy.uint64(end - begin - 1), vertex_bits)
        + code_width(first, vertex_bits)
        + further * (OFFSET_BITS + vertex_bits)
    )


@serial
def _sizes(first, last, first_row, row_offsets, columns, sizes, vertex_bits, bound):  # type: ignore[no-untyped-def]
    """Store each row's bytes; return the first row that does not ascend or is too long, and what it is."""
    width_bits = low_width_bits(vertex_bits)
    for v in range(first, last):
        begin, row_end = row_offsets[v], row_offsets[v + 1]
        size = 0
        for block in range(begin, row_end, BLOCK_ARCS):
            end = min(block + BLOCK_ARCS, row_end)
            if block > begin and columns[block] < columns[block - 1]:
                return v, DESCENDS
            bits, _ = _measure(columns, block, end, vertex_bits, width_bits)
            if bits < 0:
                return v, DESCENDS
            if block == begin:
                bits += _header_bits(first_row + v, columns, begin, row_end, vertex_bits)
            size += (bits + 7) >> 3
        if size > _LONGEST:
            return v, BROKEN
        sizes[v] = size
    return -1, FITS


@serial
def _put_kind(stream, place, low, width_bits):  # type: ignore[no-untyped-def]
    if low < 0:
        return put_bits(stream, place, numpy.uint64(1), 1)
    return put_bits(stream, put_bits(stream, place, numpy.uint64(0), 1), numpy.uint64(low), width_bits)


@serial
def _put_split(stream, place, columns, begin, gaps, low):  # type: ignore[no-untyped-def]
    base = numpy.uint64(columns[begin])
    lows, highs = place, place + gaps * low
    rest = numpy.uint64(0)
    for k in range(gaps):
        rest = numpy.uint64(columns[begin + 1 + k]) - base
        lows = put_bits(stream, lows, rest, low)
        put_bits(stream, highs + numpy.int64(rest >> numpy.uint64(low)) + k, numpy.uint64(1), 1)
    return highs + numpy.int64(rest >> numpy.uint64(low)) + gaps


@serial
def _put_classes(stream, place, columns, begin, gaps, vertex_bits):  # type: ignore[no-untyped-def]
    classes = place + gaps
    marked = 0
    for k in range(gaps):
        if columns[begin + 1 + k] - columns[begin + k] > 1:
            put_bits(stream, place + k, numpy.uint64(1), 1)
            marked += 1
    offsets = classes + CLASS_BITS * marked
    for k in range(gaps):
        gap = numpy.uint64(columns[begin + 1 + k]) - numpy.uint64(columns[begin + k])
        if gap > numpy.uint64(1):
            classes = put_class(stream, classes, gap - numpy.uint64(2))
            offsets = put_offset(stream, offsets, gap - numpy.uint64(2), vertex_bits)
    return offsets


@serial
def _write(first, last, first_row, row_offsets, columns, byte_offsets, stream, vertex_bits, bound):  # type: ignore[no-untyped-def]
    width_bits = low_width_bits(vertex_bits)
    for v in range(first, last):
        begin, row_end = row_offsets[v], row_offsets[v + 1]
        if begin == row_end:
            continue
        row_start = byte_offsets[v] << 3
        degree = numpy.uint64(row_end - begin - 1)
        base = _zigzag(numpy.uint64(columns[begin]), numpy.uint64(first_row + v), vertex_bits)
        place = put_class(stream, put_class(stream, row_start, degree), base)
        entry = place
        for block in range(begin, row_end, BLOCK_ARCS):
            gaps = min(block + BLOCK_ARCS, row_end) - block - 1
            low = 0
            if block > begin:
                place = (place + 7) >> 3 << 3
                entry = put_bits(stream, entry, numpy.uint64((place - row_start) >> 3), OFFSET_BITS)
                entry = put_bits(stream, entry, numpy.uint64(columns[block]), vertex_bits)
            if gaps:
                _, low = _measure(columns, block, block + gaps + 1, vertex_bits, width_bits)
                place = _put_kind(stream, place, low, width_bits)
            if block == begin:
                entry = put_offset(stream, place, degree, vertex_bits)
                entry = put_offset(stream, entry, base, vertex_bits)
                place = entry + (row_end - begin - 1) // BLOCK_ARCS * (OFFSET_BITS + vertex_bits)
            if gaps and low >= 0:
                place = _put_split(stream, place, columns, block, gaps, low)
            elif gaps:
                place = _put_classes(stream, place, columns, block, gaps, vertex_bits)


@serial
def _get_kind(words, place, end, width_bits):  # type: ignore[no-untyped-def]
    """Width of low parts, -1 for gaps by class, and the position behind, or -1 where it goes past `end`."""
    if place >= end:
        return 0, -1
    if get_bits(words, place, 1):
        return -1, place + 1
    if place + 1 + width_bits > end:
        return 0, -1
    return numpy.int64(get_bits(words, place + 1, width_bits)), place + 1 + width_bits


@serial
def _get_header(words, row_start, end, row, vertex_bits):  # type: ignore[no-untyped-def]
    """Neighbours - 1, the first, its block's kind and the position behind, -1 where that goes past `end`."""
    place = row_start + 2 * CLASS_BITS
    if place > end:
        return numpy.uint64(0), numpy.uint64(0), 0, -1
    of_degree = get_class(words, row_start)
    of_base = get_class(words, row_start + CLASS_BITS)
    low = 0
    if of_degree:
        low, place = _get_kind(words, place, end, low_width_bits(vertex_bits))
    degree, place = get_offset(words, place, end, of_degree, vertex_bits)
    base, place = get_offset(words, place, end, of_base, vertex_bits)
    return degree, _unzigzag(base, row, vertex_bits), low, place


@serial
def _count(first, last, byte_offsets, words, degrees, vertex_bits):  # type: ignore[no-untyped-def]
    """Store each row's neighbours; return the first row that ends within its header, or -1."""
    for v in range(first, last):
        begin, end = byte_offsets[v] << 3, byte_offsets[v + 1] << 3
        degrees[v] = 0
        if begin < end:
            number, _, _, place = _get_header(words, begin, end, numpy.uint64(0), vertex_bits)
            # Every neighbour but the first takes a bit or more.
            if place < 0 or number > numpy.uint64(end - place):
                return v
            degrees[v] = numpy.int64(number) + 1
    return -1


@serial
def _get_split(words, place, end, columns, at, gaps, base, low, vertex_bits):  # type: ignore[no-untyped-def]
    """Decode a block of high and low parts; the position behind it, or -1 where it goes past `end`."""
    highs = place + gaps * low
    one = highs
    for k in range(gaps):
        one = next_one(words, one, end)
        if one < 0:
            return -1
        high = numpy.uint64(one - highs - k)
        if low and high >> numpy.uint64(vertex_bits - low):
            return -1
        rest = (high << numpy.uint64(low)) | get_bits(words, place + k * low, low)
        value = base + rest
        if value < base or (vertex_bits == 32 and value >> numpy.uint64(32)):
            return -1
        columns[at + k] = value
        one += 1
    return one


@serial
def _get_classes(words, place, end, columns, at, gaps, base, vertex_bits):  # type: ignore[no-untyped-def]
    """Decode a block of gaps by class; the position behind it, or -1 where it goes past `end`."""
    flags, classes = place, place + gaps
    if classes > end:
        return -1
    marked = 0
    for k in range(0, gaps, 32):
        word = get_bits(words, flags + k, min(32, gaps - k))
        while word:
            word &= word - numpy.uint64(1)
            marked += 1
    offsets = classes + CLASS_BITS * marked
    if offsets > end:
        return -1
    value = base
    for k in range(gaps):
        gap = numpy.uint64(1)
        if get_bits(words, flags + k, 1):
            number, offsets = get_offset(words, offsets, end, get_class(words, classes), vertex_bits)
            if offsets < 0:
                return -1
            classes += CLASS_BITS
            gap = numpy.uint64(2) + number
            if gap < number:
                return -1
        before = value
        value += gap
        if value <= before or (vertex_bits == 32 and value >> numpy.uint64(32)):
            return -1
        columns[at + k] = value
    return offsets


@serial
def _read(first, last, first_row, byte_offsets, words, row_offsets, columns, vertex_bits, largest):  # type: ignore[no-untyped-def]
    """Decode rows; return (first bad row, reason), or (-1, FITS). `_count` has read the degrees."""
    width_bits = low_width_bits(vertex_bits)
    for v in range(first, last):
        row_start, end = byte_offsets[v] << 3, byte_offsets[v + 1] << 3
        begin, row_end = row_offsets[v], row_offsets[v + 1]
        if begin == row_end:
            continue
        _, base, low, place = _get_header(words, row_start, end, numpy.uint64(first_row + v), vertex_bits)
        entry = place
        place += (row_end - begin - 1) // BLOCK_ARCS * (OFFSET_BITS + vertex_bits)
        if entry < 0 or place > end:
            return v, BROKEN
        for block in range(begin, row_end, BLOCK_ARCS):
            if block > begin:
                place = (place + 7) >> 3 << 3
                if numpy.int64(get_bits(words, entry, OFFSET_BITS)) << 3 != place - row_start:
                    return v, BROKEN
                base = get_bits(words, entry + OFFSET_BITS, vertex_bits)
                entry += OFFSET_BITS + vertex_bits
            gaps = min(block + BLOCK_ARCS, row_end) - block - 1
            columns[block] = base
            if gaps:
                if block > begin:
                    low, place = _get_kind(words, place, end, width_bits)
                if place >= 0 and low < 0:
                    place = _get_classes(words, place, end, columns, block + 1, gaps, base, vertex_bits)
                elif place >= 0:
                    place = _get_split(words, place, end, columns, block + 1, gaps, base, low, vertex_bits)
                if place < 0:
                    return v, BROKEN
        if (place + 7) >> 3 << 3 != end:
            return v, BROKEN
        for arc in range(begin, row_end):
            if arc > begin and columns[arc] < columns[arc - 1]:
                return v, BROKEN
            if numpy.uint64(columns[arc]) > largest:
                return v, OUT_OF_RANGE
    return -1, FITS


class BlocksRows(StreamRows):
    """Rows as words of blocks; see `gravel.kernels.layouts.blocks`."""

    layout = "blocks"
    count_rows = _count
    read_rows = _read


CODEC = Codec(_sizes, _write, BlocksRows)
