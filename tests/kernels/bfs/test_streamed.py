"""Encoded rows whose stream is read part by part: searched and joined as rows in memory are."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.components import components_of_rows as components
from gravel.kernels.components import prepare_rows as prepare_components
from gravel.kernels.layouts import LAYOUTS, EncodedRows, encode
from gravel.kernels.layouts.parts import LINE, cut_stream, host_offsets
from tests.kernels.components.test_components import csr_of as csr_of_pairs
from tests.kernels.conformance import GRAPHS, OUTPUTS, check, csr_of, fetch, large_graph, place, sources_of
from tests.zoo import scipy_components, zoo

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
STREAMS = [layout for layout in LAYOUTS if layout != "csr"]
LARGE = large_graph(9)


class Counted:
    """Bytes that can only be sliced, and know how often each was read."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype
        self.reads = numpy.zeros(len(array), int)
        self.longest = 0

    def __len__(self):
        return len(self.array)

    def __getitem__(self, wanted):
        self.reads[wanted] += 1
        found = self.array[wanted]
        self.longest = max(self.longest, len(found))
        return found


def stored(csr, layout, backend="cpu") -> EncodedRows:
    """Rows whose stream can only be sliced, and ends with the last row."""
    rows = encode(layout, *csr)
    offsets = rows.arrays["byte_offsets"]
    arrays = {
        "byte_offsets": place(backend, offsets)[0],
        "stream": Counted(rows.arrays["stream"][: int(offsets[-1])]),
    }
    return EncodedRows(layout, rows.vertex_count, rows.arc_count, rows.dtype, arrays)


@settings(max_examples=200, deadline=None)
@given(
    draw.lists(draw.integers(0, 300) | draw.integers(1000, 2000), max_size=200),
    draw.sampled_from([2304, 5000]),
)
def test_parts_hold_whole_rows_and_fit_a_buffer(lengths, buffer_bytes):
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths, dtype=numpy.int64)]).astype(numpy.int64)
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
    rows = stored(csr_of("path_33", True), "varint")
    offsets = rows.arrays["byte_offsets"]
    for wrong, message in (
        (offsets[::-1].copy(), "ascend"),
        (offsets[:-1], "one more"),
        (numpy.append(offsets[:-1], offsets[-1] + 1), "the rows end at"),
    ):
        with pytest.raises(ValueError, match=message):
            host_offsets(
                EncodedRows("varint", 33, rows.arc_count, rows.dtype, {**rows.arrays, "byte_offsets": wrong})
            )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", STREAMS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_searches_in_small_parts(layout, backend, output):
    for name in GRAPHS:
        for symmetric in (True, False):
            csr = csr_of(name, symmetric)
            made = prepare(
                stored(csr, layout, backend), strategy="streamed", symmetric=symmetric, output=output,
                buffer_bytes=4096, buffers=2,
            )  # fmt: skip
            for source in sources_of(len(csr[0]) - 1, 2):
                check(made.run(source), csr, source, output)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", STREAMS)
def test_a_search_reads_what_its_levels_need(layout, backend):
    rows = stored(LARGE, layout, backend)
    stream = rows.arrays["stream"]
    made = prepare(rows, strategy="streamed", symmetric=True, buffer_bytes=1 << 16, max_depth=1)
    told = []
    made.progress = lambda done, parts: told.append((done, parts))
    assert stream.reads.max() == 0
    made.run(int(numpy.flatnonzero(numpy.diff(LARGE[0]) == 1)[-1]))
    assert told == [(1, 1)]
    assert 0 < stream.reads.sum() <= 1 << 16
    whole = prepare(rows, strategy="streamed", symmetric=True, buffer_bytes=1 << 16)
    stream.longest = 0
    result = whole.run(7)
    check(result, LARGE, 7, "both")
    assert stream.longest <= 1 << 16
    # A level reads a part once, and no more levels than there are can need it; neighbours share lines.
    assert stream.reads.max() <= 2 * len(result.directions) + 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", STREAMS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_components_read_every_row_once(layout, backend, symmetric):
    csr = LARGE
    if not symmetric:
        tail = numpy.repeat(numpy.arange(len(csr[0]) - 1), numpy.diff(csr[0]))
        kept = numpy.random.default_rng(1).random(len(tail)) < 0.3
        csr = csr_of_pairs(numpy.stack([tail[kept], csr[1][kept].astype(int)], axis=1), len(csr[0]) - 1)
    rows = stored(csr, layout, backend)
    search = prepare_components(rows, symmetric=symmetric, strategy="streamed", buffer_bytes=1 << 16)
    for run in (1, 2):
        found = search.run()
        assert found.strategy == "streamed"
        numpy.testing.assert_array_equal(fetch(found.component), scipy_components(*csr))
        reads = rows.arrays["stream"].reads
        assert (reads >= run).all()
        # But for the lines that two parts share.
        assert (reads > run).sum() <= LINE * (len(reads) // (1 << 15) + 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_components_of_the_zoo(layout, backend):
    for graph in zoo():
        for symmetric in (True, False):
            for index in (numpy.uint32, numpy.uint64):
                csr = graph.csr(symmetric=symmetric, index=index)
                rows = encode(layout, *place(backend, *csr))
                found = components(rows, symmetric=symmetric, strategy="streamed", buffer_bytes=4096)
                assert found.component.dtype == index
                numpy.testing.assert_array_equal(
                    fetch(found.component), scipy_components(*csr), err_msg=graph.name
                )


@pytest.mark.parametrize("layout", STREAMS)
def test_damaged_rows_are_named_on_the_cpu(layout):
    csr = csr_of("star_300", True)
    rows = encode(layout, *csr)
    offsets, stream = rows.arrays["byte_offsets"], rows.arrays["stream"]
    hub = int(numpy.argmax(numpy.diff(offsets)))
    stream[offsets[hub] : offsets[hub + 1]] = 0xFF
    search = prepare(rows, strategy="streamed", symmetric=True)
    with pytest.raises(ValueError, match=f"row {hub} of the compressed graph is damaged"):
        search.run(hub)
    with pytest.raises(ValueError, match=f"row {hub} of the compressed graph is damaged"):
        components(rows, symmetric=True, strategy="streamed")


def test_unknown_strategies_are_refused():
    with pytest.raises(ValueError, match="strategy 'tiles' does not read encoded rows; there are afforest"):
        components(encode("varint", *csr_of("one_edge", True)), symmetric=True, strategy="tiles")
