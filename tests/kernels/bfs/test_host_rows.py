"""Searches of rows in pinned host memory on a GPU, columns and streams."""

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.bfs import prepare_rows as prepare_encoded
from gravel.kernels.bfs.cuda.kept_lines import shortest_kept
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.layouts import LAYOUTS, encode
from gravel.kernels.layouts.parts import LINE
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
from tests.kernels.cuda_case import pinned

OF_COLUMNS = {
    "pinned": {},
    "small_blocks": {"block": 32, "blocks_per_processor": 1},
    "kept": {"keep": 1 << 14},
    "all_kept": {"keep": 1 << 40},
    "pull": {"heads": 4, "alpha": 1e18},
    "pull_far": {"heads": 8, "alpha": 1e18, "keep": 1 << 13},
    "split": {"heads": 4, "keep": 1 << 15},
}
"""Columns are kept by whole vectors of four heads."""
OF_STREAMS = {
    "pinned": {},
    "small_parts": {"room": 256, "block": 64, "blocks_per_processor": 1},
    "pull": {"heads": 4, "alpha": 1e18},
    "split": {"heads": 3, "room": 4096, "keep": 1 << 13},
    "kept": {"keep": 1 << 40},
}
TUNINGS = [
    pytest.param(layout, tuning, id=f"{layout}-{name}")
    for layout in LAYOUTS
    for name, tuning in (OF_COLUMNS if layout == "csr" else OF_STREAMS).items()
]


def placed(layout, csr, **options):
    rows = pinned(encode(layout, *csr))
    return prepare_encoded(rows, strategy="host_rows", **{"symmetric": True, **options})


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
@pytest.mark.parametrize(("layout", "tuning"), TUNINGS)
@pytest.mark.parametrize("name", GRAPHS)
def test_pinned_rows_of_the_zoo(name, layout, tuning, symmetric):
    csr = csr_of(name, symmetric)
    for output in OUTPUTS:
        search = placed(layout, csr, symmetric=symmetric, output=output, **tuning)
        for source in sources_of(len(csr[0]) - 1):
            check(search.run(source), csr, source, output)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize(("layout", "tuning"), TUNINGS)
def test_pinned_rows_with_hubs(monkeypatch, layout, tuning, index):
    csr = hubs().csr(symmetric=True, index=index)
    for narrow in (1 << 31, 1):
        monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
        search = placed(layout, csr, **tuning)
        for source in sources_of(len(csr[0]) - 1):
            check(search.run(source), csr, source, "both")


@pytest.mark.gpu
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depth_is_limited(depth):
    csr = large_graph(3)
    for tuning in OF_COLUMNS.values():
        check(placed("csr", csr, max_depth=depth, **tuning).run(7), csr, 7, "both", max_depth=depth)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("layout", "index"), [*((layout, numpy.uint32) for layout in LAYOUTS), ("csr", numpy.uint64)]
)
def test_lines_over_the_link_are_counted(layout, index):
    offsets, columns = large_graph(5)
    csr = offsets, columns.astype(index)
    arrays = encode(layout, *csr).arrays
    begins = numpy.asarray(arrays["byte_offsets"]) if layout != "csr" else offsets * csr[1].itemsize
    line = LINE if layout != "csr" else 32 * csr[1].itemsize
    result = placed(layout, csr).run(7)
    distance = fetch(result.distance)
    lines = 0
    for level in range(int(distance.max()) + 1):
        touched = [
            numpy.arange(begins[v] // line, (begins[v + 1] - 1) // line + 1)
            for v in numpy.flatnonzero(distance == level)
            if begins[v + 1] > begins[v]
        ]
        lines += len(distinct(numpy.concatenate(touched))) if touched else 0
    assert result.link_bytes == lines * line
    whole = placed(layout, csr, keep=1 << 40).run(7).link_bytes
    assert whole == 0 if layout == "csr" else whole < result.link_bytes // 20
    half = int(begins[-1]) // 2
    part = placed(layout, csr, keep=half)
    assert 0 < part.kept_bytes < half + line
    assert 0 < part.run(7).link_bytes < result.link_bytes
    fewer = placed(layout, csr, heads=8 if layout != "csr" else 4).run(7)
    assert fewer.link_bytes < result.link_bytes
    assert "pull" in fewer.directions


@pytest.mark.gpu
def test_rows_on_the_device_take_no_link():
    import cupy

    csr = large_graph(5)
    search = prepare(cupy.asarray(csr[0]), cupy.asarray(csr[1]), strategy="host_rows", symmetric=True)
    assert search.run(7).link_bytes is None


@pytest.mark.gpu
def test_wrong_constants_are_refused():
    csr = csr_of("path_33", True)
    for tuning, message in (
        ({"block": 33}, "multiple of 32"),
        ({"heads": 3}, "multiple of 4"),
        ({"block": 1024}, "from 32 to 512"),
    ):
        with pytest.raises(ValueError, match=message):
            placed("csr", csr, **tuning)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "strategy",
    [name for name, each in STRATEGIES.items() if each.cuda and "pinned" in each.placements],
)
def test_pinned_columns_are_read_by_every_strategy_that_says_so(strategy):
    csr = large_graph(9)
    arrays = pinned(encode("csr", *csr)).arrays
    search = prepare(arrays["row_offsets"], arrays["column_indices"], strategy=strategy, symmetric=True)
    check(search.run(7), csr, 7, "both")
