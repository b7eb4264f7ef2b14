"""Rows as Elias-Fano sequences on the CPU; the format is described in `gravel.kernels.layouts.elias_fano`."""

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
    low_width_bits,
    next_one,
    put_bits,
    put_class,
    put_offset,
)
from gravel.kernels.layouts.blocks.cpu import BLOCK_ARCS
from gravel.kernels.layouts.readers import StreamRows
from gravel.kernels.layouts.streams import BROKEN, DESCENDS, FITS, OUT_OF_RANGE, Codec

SAMPLE_BITS = 32

_MAX_BITS = 1 << SAMPLE_BITS


@serial
def _low_width(columns, begin, end, bound):  # type: ignore[no-untyped-def]
    largest = max(numpy.uint64(columns[end - 1]), bound - numpy.uint64(1) if bound else numpy.uint64(0))
    return floor_log2(largest // numpy.uint64(end - begin))


@serial
def _sizes(first, last, first_row, row_offsets, columns, sizes, vertex_bits, bound):  # type: ignore[no-untyped-def]
    """Store each row's bytes; return the first row that does not ascend or is too long, and what it is."""
    width_bits = low_width_bits(vertex_bits)
    for v in range(first, last):
        begin, end = row_offsets[v], row_offsets[v + 1]
        sizes[v] = 0
        if begin == end:
            continue
        for arc in range(begin + 1, end):
            if columns[arc] < columns[arc - 1]:
                return v, DESCENDS
        low = _low_width(columns, begin, end, bound)
        degree = end - begin
        highs = degree + numpy.int64(numpy.uint64(columns[end - 1]) >> numpy.uint64(low))
        bits = code_width(numpy.uint64(degree - 1), vertex_bits) + width_bits + degree * low + highs
        bits += (degree - 1) // BLOCK_ARCS * SAMPLE_BITS
        if bits > _MAX_BITS - 64:
            return v, BROKEN
        sizes[v] = (bits + 7) >> 3
    return -1, FITS


@serial
def _write(first, last, first_row, row_offsets, columns, byte_offsets, stream, vertex_bits, bound):  # type: ignore[no-untyped-def]
    width_bits = low_width_bits(vertex_bits)
    for v in range(first, last):
        begin, end = row_offsets[v], row_offsets[v + 1]
        if begin == end:
            continue
        low = _low_width(columns, begin, end, bound)
        degree = numpy.uint64(end - begin - 1)
        place = put_class(stream, byte_offsets[v] << 3, degree)
        place = put_bits(stream, place, numpy.uint64(low), width_bits)
        sample = put_offset(stream, place, degree, vertex_bits)
        lows = sample + (end - begin - 1) // BLOCK_ARCS * SAMPLE_BITS
        highs = lows + (end - begin) * low
        high = numpy.int64(0)
        for k in range(end - begin):
            value = numpy.uint64(columns[begin + k])
            if k and k % BLOCK_ARCS == 0:
                sample = put_bits(stream, sample, numpy.uint64(high + k), SAMPLE_BITS)
            high = numpy.int64(value >> numpy.uint64(low))
            lows = put_bits(stream, lows, value, low)
            put_bits(stream, highs + high + k, numpy.uint64(1), 1)


@serial
def _get_header(words, row_start, end, vertex_bits):  # type: ignore[no-untyped-def]
    """Neighbours - 1, the width of low parts and the position behind, -1 where that goes past `end`."""
    width_bits = low_width_bits(vertex_bits)
    place = row_start + CLASS_BITS + width_bits
    if place > end:
        return numpy.uint64(0), 0, -1
    low = numpy.int64(get_bits(words, row_start + CLASS_BITS, width_bits))
    degree, place = get_offset(words, place, end, get_class(words, row_start), vertex_bits)
    return degree, low, place


@serial
def _count(first, last, byte_offsets, words, degrees, vertex_bits):  # type: ignore[no-untyped-def]
    """Store each row's neighbours; return the first row that ends within its header, or -1."""
    for v in range(first, last):
        begin, end = byte_offsets[v] << 3, byte_offsets[v + 1] << 3
        degrees[v] = 0
        if begin < end:
            number, _, place = _get_header(words, begin, end, vertex_bits)
            # Every neighbour takes a bit or more.
            if place < 0 or number >= numpy.uint64(end - place):
                return v
            degrees[v] = numpy.int64(number) + 1
    return -1


@serial
def _read(first, last, first_row, byte_offsets, words, row_offsets, columns, vertex_bits, largest):  # type: ignore[no-untyped-def]
    """Decode rows; return (first bad row, reason), or (-1, FITS). `_count` has read the degrees."""
    for v in range(first, last):
        row_start, row_end = byte_offsets[v] << 3, byte_offsets[v + 1] << 3
        begin, end = row_offsets[v], row_offsets[v + 1]
        if begin == end:
            continue
        _, low, sample = _get_header(words, row_start, row_end, vertex_bits)
        lows = sample + (end - begin - 1) // BLOCK_ARCS * SAMPLE_BITS
        if lows > row_end or (end - begin) > (row_end - lows) // (low + 1):
            return v, BROKEN
        highs = lows + (end - begin) * low
        one = highs
        before = numpy.uint64(0)
        for k in range(end - begin):
            if k and k % BLOCK_ARCS == 0:
                if numpy.int64(get_bits(words, sample, SAMPLE_BITS)) != one - highs:
                    return v, BROKEN
                sample += SAMPLE_BITS
            one = next_one(words, one, row_end)
            if one < 0:
                return v, BROKEN
            high = numpy.uint64(one - highs - k)
            if low and high >> numpy.uint64(vertex_bits - low):
                return v, BROKEN
            value = (high << numpy.uint64(low)) | get_bits(words, lows + k * low, low)
            if value < before:
                return v, BROKEN
            if value > largest:
                return v, OUT_OF_RANGE
            before = value
            columns[begin + k] = value
            one += 1
        if (one + 7) >> 3 << 3 != row_end:
            return v, BROKEN
    return -1, FITS


class EliasFanoRows(StreamRows):
    """Rows as words of Elias-Fano sequences; see `gravel.kernels.layouts.elias_fano`."""

    layout = "elias_fano"
    count_rows = _count
    read_rows = _read


CODEC = Codec(_sizes, _write, EliasFanoRows)
