"""How streams and rows are cut into parts that fit a buffer."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.layouts import encode
from gravel.kernels.layouts.parts import (
    GROUP,
    LINE,
    LONG_BYTES,
    cut_rows,
    cut_stream,
    host_offsets,
    long_rows,
)
from tests.kernels.conformance import csr_of
from tests.kernels.counted import stored


def offsets_of(lengths):
    return numpy.concatenate([[0], numpy.cumsum(lengths, dtype=numpy.int64)]).astype(numpy.int64)


@settings(max_examples=60, deadline=None)
@given(
    draw.lists(draw.integers(0, 300) | draw.integers(1000, 2000), max_size=200),
    draw.sampled_from([2304, 5000]),
)
def test_parts_hold_whole_rows_and_fit_a_buffer(lengths, buffer_bytes):
    offsets = offsets_of(lengths)
    end = int(offsets[-1])
    parts = cut_stream(offsets, end, buffer_bytes=buffer_bytes, buffers=2)
    assert parts.room % LINE == 0
    assert parts.room <= buffer_bytes
    assert parts.rows.tolist() == sorted(set(parts.rows.tolist()))
    assert (parts.rows[0], parts.rows[-1]) == (0, len(lengths))
    for (first, last), low, high in zip(parts.ranges, parts.rows[:-1], parts.rows[1:], strict=True):
        assert first % LINE == 0
        assert first <= offsets[low]
        assert offsets[high] <= last <= end
        assert last - first <= parts.room
        # The next row would not have fitted.
        assert high == len(lengths) or offsets[high + 1] > first + parts.room


def test_what_no_buffer_holds_is_named():
    offsets = numpy.array([0, 100, 100, 5000, 5001])
    for buffers, size, message in (
        (
            2,
            4096,
            r"row 2 lies in 5,120 bytes of the stream, and a buffer holds 4,096: allow 2 buffers of at l",
        ),
        (1, 4096, "buffers is 1; it must be 2 or more"),
        (2, 100, "buffer_bytes is 100; a line takes 128"),
    ):
        with pytest.raises(ValueError, match=message):
            cut_stream(offsets, 5001, buffer_bytes=size, buffers=buffers)
    assert cut_stream(offsets, 5001, buffer_bytes=5120, buffers=2).rows.tolist() == [0, 4]


def test_offsets_that_leave_the_stream_are_refused():
    rows = stored(encode("varint", *csr_of("path_33", True)))
    offsets = rows.arrays["byte_offsets"]
    for wrong, message in (
        (offsets[::-1].copy(), "ascend"),
        (offsets[:-1], "one more"),
        (numpy.append(offsets[:-1], offsets[-1] + 1), "the rows end at"),
    ):
        rows.arrays["byte_offsets"] = wrong
        with pytest.raises(ValueError, match=message):
            host_offsets(rows)


@settings(max_examples=60, deadline=None)
@given(
    draw.lists(draw.integers(0, 300) | draw.integers(4000, 9000), max_size=200),
    draw.sampled_from([1, 100, 1024, 20_000, 1 << 20]),
)
def test_every_part_fits_its_room(lengths, room):
    offsets = offsets_of(lengths)
    rows = len(lengths)
    cuts, taken = cut_rows(offsets, room)
    assert cuts.dtype == numpy.uint64
    cuts = cuts.astype(numpy.int64)
    assert cuts[0] == 0
    assert cuts[-1] == rows
    assert (numpy.diff(cuts) > 0).all() or rows == 0
    assert all(cut % GROUP == 0 for cut in cuts[:-1])
    assert taken % LINE == 0
    first, last = offsets[cuts[:-1]] // LINE, -(-offsets[cuts[1:]] // LINE)
    sizes = (last - first) * LINE
    assert (sizes <= taken).all()
    # What is larger than the room is a single group, and no two neighbours would have fitted together.
    for size, begin, end in zip(sizes, cuts, cuts[1:], strict=False):
        assert size <= room or end - begin <= GROUP
    for part in range(len(cuts) - 2):
        next_edge = min(cuts[part + 1] + GROUP, rows)
        assert -(-offsets[next_edge] // LINE) - first[part] > room // LINE
    long, before = long_rows(offsets, cuts.astype(numpy.uint64), numpy.uint32)
    assert long.tolist() == [row for row, length in enumerate(lengths) if length > LONG_BYTES]
    assert before.tolist() == [sum(row < cut for row in long) for cut in cuts]
