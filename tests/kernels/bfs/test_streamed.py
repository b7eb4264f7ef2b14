"""Rows that are read part by part, columns and streams: searched as rows in memory are."""

import numpy
import pytest

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.layouts import LAYOUTS, columns_as_rows, encode
from gravel.kernels.placement.pinned import PinnedRefused
from tests.kernels.conformance import GRAPHS, OUTPUTS, check, csr_of, fetch, large_graph, sources_of
from tests.kernels.counted import Counted, stored

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
STREAMS = [layout for layout in LAYOUTS if layout != "csr"]
LARGE = large_graph(9)


def streamed(backend, rows, output="both", **options):
    return prepare(stored(rows, backend), strategy="streamed", symmetric=True, output=output, **options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_searches_in_small_parts(layout, backend, output):
    for name in GRAPHS:
        for symmetric in (True, False):
            csr = csr_of(name, symmetric)
            made = prepare(
                stored(encode(layout, *csr), backend), strategy="streamed", symmetric=symmetric,
                output=output, buffer_bytes=4096, buffers=2,
            )  # fmt: skip
            for source in sources_of(len(csr[0]) - 1, 2):
                check(made.run(source), csr, source, output)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", STREAMS)
def test_a_search_reads_what_its_levels_need(layout, backend):
    rows = stored(encode(layout, *LARGE), backend)
    stream = rows.arrays["stream"]
    made = prepare(rows, strategy="streamed", symmetric=True, buffer_bytes=1 << 16, max_depth=1)
    told = []
    made.progress = lambda done, parts: told.append((done, parts))
    assert stream.reads.max() == 0
    made.run(int(numpy.flatnonzero(numpy.diff(LARGE[0]) == 1)[-1]))
    assert told == [(1, 1)]
    assert 0 < stream.reads.sum() <= 1 << 16
    whole = prepare(rows, strategy="streamed", symmetric=True, buffer_bytes=1 << 16)
    stream.slices.clear()
    result = whole.run(7)
    check(result, LARGE, 7, "both")
    assert stream.longest <= 1 << 16
    # A level reads a part once, and no more levels than there are can need it; neighbours share lines.
    assert stream.reads.max() <= 2 * len(result.directions) + 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_columns_are_read_in_few_parts(backend, output, index):
    offsets, columns = large_graph(4)
    columns = columns.astype(index)
    rows = stored(columns_as_rows(offsets, columns), backend)
    read, told = rows.arrays["column_indices"], []
    search = prepare(
        rows, strategy="streamed", symmetric=True, output=output, buffer_bytes=1 << 16, buffers=3
    )
    search.progress = lambda done, parts: told.append((done, parts))
    length = (1 << 16) // columns.itemsize
    result = search.run(7)
    check(result, (offsets, columns), 7, output)
    assert all(start % length == 0 and stop - start <= length for start, stop in read.slices)
    assert told
    assert all(1 <= done <= parts for done, parts in told)
    if output != "predecessor":
        distance = fetch(result.distance)
        wanted = 0
        for level in range(int(distance.max()) + 1):
            level_rows = numpy.flatnonzero((distance == level) & (numpy.diff(offsets) > 0))
            ends = ((offsets[v] // length, (offsets[v + 1] - 1) // length) for v in level_rows)
            parts = [numpy.arange(first, last + 1) for first, last in ends]
            wanted += len(distinct(numpy.concatenate(parts))) if parts else 0
        read.slices.clear()
        search.run(7)
        assert len(read.slices) == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_that_cannot_be_are_refused(backend):
    rows = columns_as_rows(*csr_of("path_33", True))
    with pytest.raises(ValueError, match="buffers is 1; it must be 2 or more"):
        streamed(backend, rows, buffers=1)
    with pytest.raises(ValueError, match="buffer_bytes is 3; a column takes 4"):
        streamed(backend, rows, buffer_bytes=3)
    search = streamed(backend, rows)
    for source in (-1, 33):
        with pytest.raises(ValueError, match=f"source {source} is not a vertex; there are 33"):
            search.run(source)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_stream_raises_ends_the_search(backend, monkeypatch):
    def broken(self, wanted):
        raise OSError("gone")

    monkeypatch.setattr(Counted, "__getitem__", broken)
    with pytest.raises(OSError, match="gone"):
        streamed(backend, columns_as_rows(*large_graph(4)), buffer_bytes=1 << 12).run(7)


@pytest.mark.gpu
def test_a_stream_goes_on_without_pinned_buffers(monkeypatch):
    def refuse(array, host=None):
        raise PinnedRefused("not today")

    monkeypatch.setattr("gravel.kernels.placement.copied.pin", refuse)
    csr = large_graph(4)
    search = streamed("cuda", columns_as_rows(*csr), buffer_bytes=1 << 14)
    check(search.run(7), csr, 7, "both")
    assert search.notes == [
        "the system refuses pinned memory (not today), so parts are copied from ordinary memory"
    ]


@pytest.mark.parametrize("layout", STREAMS)
def test_damaged_rows_are_named_on_the_cpu(layout):
    rows = encode(layout, *csr_of("star_300", True))
    offsets, stream = rows.arrays["byte_offsets"], rows.arrays["stream"]
    hub = int(numpy.argmax(numpy.diff(offsets)))
    stream[offsets[hub] : offsets[hub + 1]] = 0xFF
    with pytest.raises(ValueError, match=f"row {hub} of the compressed graph is damaged"):
        prepare(rows, strategy="streamed", symmetric=True).run(hub)
