"""Searches of rows in pinned host memory on a GPU, and of streamed rows on either backend."""

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.bfs.asked import Asked
from gravel.kernels.bfs.cuda.kept_lines import shortest_kept
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.placement.pinned import PinnedRefused, buffer, pin
from tests.kernels.conformance import (
    GRAPHS,
    OUTPUTS,
    STRATEGIES,
    check,
    csr_of,
    fetch,
    hubs,
    large_graph,
    sources_of,
)

LINE = 128  # bytes

TUNINGS = {
    "pinned": {},
    "small_blocks": {"block": 32, "blocks_per_processor": 1},
    "kept": {"keep": 1 << 14},
    "all_kept": {"keep": 1 << 40},
    "pull": {"heads": 4, "alpha": 1e18},
    "pull_far": {"heads": 8, "alpha": 1e18, "keep": 1 << 13},
    "split": {"heads": 4, "keep": 1 << 15},
}


def pinned(columns):
    held = buffer(len(columns), columns.dtype)
    held[:] = columns
    return pin(held).view()


def placed(offsets, columns):
    import cupy

    return cupy.asarray(offsets), pinned(columns)


def test_the_longest_rows_are_kept_that_fit():
    lengths = [1, 2, 3, 7, 12, 12, 40, 40, 41, 1920, 5000]

    def kept(most):
        least = shortest_kept(lambda length: sum(each for each in lengths if each >= length) <= most)
        return [length for length in lengths if length >= least]

    assert kept(10_000) == lengths
    assert kept(sum(lengths)) == lengths
    assert kept(4999) == []
    assert kept(5000) == [5000]
    assert kept(6920) == [1920, 5000]
    assert kept(0) == []
    for most in range(0, 7100, 50):
        assert sum(kept(most)) <= most
    # Lengths differ by an eighth at most from those that are told apart.
    assert kept(7050) in ([40, 40, 41, 1920, 5000], [1920, 5000])


@pytest.mark.gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("name", GRAPHS)
def test_pinned_rows_of_the_zoo(name, tuning, symmetric):
    csr = csr_of(name, symmetric)
    for output in OUTPUTS:
        search = prepare(
            *placed(*csr), strategy="host_rows", symmetric=symmetric, output=output, **TUNINGS[tuning]
        )
        for source in sources_of(len(csr[0]) - 1):
            check(search.run(source), csr, source, output)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_pinned_rows_with_hubs(monkeypatch, tuning, index):
    csr = hubs().csr(symmetric=True, index=index)
    for narrow in (1 << 31, 1):
        monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
        search = prepare(*placed(*csr), strategy="host_rows", symmetric=True, **TUNINGS[tuning])
        for source in sources_of(len(csr[0]) - 1):
            check(search.run(source), csr, source, "both")


@pytest.mark.gpu
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depth_is_limited(depth):
    csr = large_graph(3)
    for tuning in TUNINGS.values():
        search = prepare(*placed(*csr), strategy="host_rows", symmetric=True, max_depth=depth, **tuning)
        check(search.run(7), csr, 7, "both", max_depth=depth)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_lines_over_the_link_are_counted(index):
    offsets, columns = large_graph(5)
    columns = columns.astype(index)
    item, search = columns.itemsize, prepare(*placed(offsets, columns), strategy="host_rows", symmetric=True)
    result = search.run(7)
    distance = fetch(result.distance)
    lines = 0
    for level in range(int(distance.max()) + 1):
        touched = [
            numpy.arange(offsets[v] // 32, (offsets[v + 1] - 1) // 32 + 1)
            for v in numpy.flatnonzero(distance == level)
            if offsets[v + 1] > offsets[v]
        ]
        lines += len(distinct(numpy.concatenate(touched))) if touched else 0
    assert result.link_bytes == lines * 32 * item
    everything = prepare(*placed(offsets, columns), strategy="host_rows", symmetric=True, keep=1 << 40)
    assert everything.run(7).link_bytes == 0
    part = prepare(*placed(offsets, columns), strategy="host_rows", symmetric=True, keep=columns.nbytes // 2)
    assert 0 < part.kept_bytes < columns.nbytes // 2 + 32 * item
    assert 0 < part.run(7).link_bytes < result.link_bytes
    bottom_up = prepare(*placed(offsets, columns), strategy="host_rows", symmetric=True, heads=4)
    assert bottom_up.run(7).link_bytes < result.link_bytes
    assert "pull" in bottom_up.run(7).directions


@pytest.mark.gpu
def test_rows_on_the_device_take_no_link():
    import cupy

    csr = large_graph(5)
    search = prepare(cupy.asarray(csr[0]), cupy.asarray(csr[1]), strategy="host_rows", symmetric=True)
    assert search.run(7).link_bytes is None


@pytest.mark.gpu
def test_wrong_constants_are_refused():
    csr = placed(*csr_of("path_33", True))
    for tuning, message in (
        ({"block": 33}, "multiple of 32"),
        ({"heads": 3}, "multiple of 4"),
        ({"block": 1024}, "from 32 to 512"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(*csr, strategy="host_rows", symmetric=True, **tuning)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "strategy",
    [name for name, each in STRATEGIES.items() if each.cuda and "pinned" in each.placements],
)
def test_pinned_rows_are_read_by_every_strategy_that_says_so(strategy):
    csr = large_graph(9)
    search = prepare(*placed(*csr), strategy=strategy, symmetric=True)
    check(search.run(7), csr, 7, "both")


class Sliced:
    def __init__(self, values):
        self.values, self.dtype, self.read = values, values.dtype, []

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        self.read.append((key.start, key.stop))
        return self.values[key]


BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def streamed(backend, offsets, columns, output="both", **options):
    if backend == "cpu":
        from gravel.kernels.bfs.cpu.streamed import StreamedSearch
    else:
        import cupy

        from gravel.kernels.bfs.cuda.streamed import StreamedSearch

        offsets = cupy.asarray(offsets)
    return StreamedSearch(columns_as_rows(offsets, columns), Asked(output=output, symmetric=True), **options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GRAPHS)
def test_streamed_rows_of_the_zoo(backend, name):
    csr = csr_of(name, True)
    for size in (4096, 1 << 20):
        search = streamed(backend, *csr, buffer_bytes=size, buffers=2)
        for source in sources_of(len(csr[0]) - 1):
            check(search.run(source), csr, source, "both")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_streamed_rows_are_read_in_few_parts(backend, output, index):
    offsets, columns = large_graph(4)
    columns = columns.astype(index)
    told = []
    read = Sliced(columns)
    search = streamed(backend, offsets, read, output=output, buffer_bytes=1 << 16, buffers=3)
    search.progress = lambda done, parts: told.append((done, parts))
    result = search.run(7)
    check(result, (offsets, columns), 7, output)
    length = (1 << 16) // columns.itemsize
    distance = fetch(search.run(7).distance) if output != "predecessor" else None
    read.read.clear()
    search.run(39_999)
    assert all(start % length == 0 and stop - start <= length for start, stop in read.read)
    if distance is not None:
        distance = fetch(search.run(7).distance)
        wanted = 0
        for level in range(int(distance.max()) + 1):
            rows = numpy.flatnonzero((distance == level) & (numpy.diff(offsets) > 0))
            parts = [numpy.arange(offsets[v] // length, (offsets[v + 1] - 1) // length + 1) for v in rows]
            wanted += len(distinct(numpy.concatenate(parts))) if parts else 0
        read.read.clear()
        search.run(7)
        assert len(read.read) == wanted
    assert told
    assert all(1 <= done <= parts for done, parts in told)


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_that_cannot_be_are_refused(backend):
    csr = csr_of("path_33", True)
    with pytest.raises(ValueError, match="buffers is 1; it must be 2 or more"):
        streamed(backend, *csr, buffers=1)
    with pytest.raises(ValueError, match="buffer_bytes is 3; a column takes 4"):
        streamed(backend, *csr, buffer_bytes=3)
    search = streamed(backend, *csr)
    for source in (-1, 33):
        with pytest.raises(ValueError, match=f"source {source} is not a vertex; there are 33"):
            search.run(source)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_stream_raises_ends_the_search(backend):
    offsets, columns = large_graph(4)

    class Broken(Sliced):
        def __getitem__(self, key):
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        streamed(backend, offsets, Broken(columns), buffer_bytes=1 << 12).run(7)


@pytest.mark.gpu
def test_a_stream_goes_on_without_pinned_buffers(monkeypatch):
    def refuse(array, host=None):
        raise PinnedRefused("not today")

    monkeypatch.setattr("gravel.kernels.placement.copied.pin", refuse)
    csr = large_graph(4)
    search = streamed("cuda", *csr, buffer_bytes=1 << 14)
    check(search.run(7), csr, 7, "both")
    assert search.notes == [
        "the system refuses pinned memory (not today), so parts are copied from ordinary memory"
    ]
