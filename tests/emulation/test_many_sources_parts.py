"""Searches from many sources over rows that are split, or read in parts; kernels are compiled for the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.buffers import total
from gravel.kernels.distances import bit_parallel_cuda, in_step, many
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.buffers import on_device as on_device_table
from gravel.kernels.distances.eccentricity import GOALS, eccentricities
from gravel.kernels.distances.interface import TooNarrow
from gravel.kernels.distances.many import aggregate_rows
from gravel.kernels.layouts.layout import body_name, columns_as_rows
from gravel.kernels.layouts.parts import LINE
from tests.emulation.strict_cupy import on_device
from tests.emulation.test_many_sources_encoded import encoded, star
from tests.kernels.counted import Counted
from tests.kernels.distances.test_many import check, encodable, random_rows
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("on_cpu")

LAYOUTS = ["csr", "varint", "blocks", "elias_fano"]

SHARES = [
    *((layout, share) for layout in ("csr", "blocks") for share in (0, 1 << 60)),
    ("varint", 16),
    ("elias_fano", 16),
]
"""Rows that are pushed along, pulled from, or, in batches of one size, both."""


def there(layout, rows):
    return columns_as_rows(*map(on_device, rows)) if layout == "csr" else encoded(layout, rows)


def in_parts(layout, rows):
    """Leave what grows with the arcs where a device does not read it."""
    made = there(layout, rows)
    name = body_name(made)
    return replace(made, arrays=made.arrays | {name: Counted(made.arrays[name].get())})


@pytest.mark.parametrize(("layout", "share"), SHARES)
def test_rows_in_parts_are_searched_as_whole_ones(layout, share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    for seed, (piece, batch) in enumerate([(7, 64), (40, 256), (512, 1024), (3, 64)]):
        if batch > 64 and share == 16:
            continue
        monkeypatch.setattr(bit_parallel_cuda, "PIECE_BYTES", piece)
        monkeypatch.setattr(bit_parallel_cuda, "PIECE", piece)
        rows = encodable(random_rows(seed, vertices=400), numpy.uint64 if seed == 1 else numpy.uint32)
        sources = numpy.random.default_rng(seed).integers(0, 400, batch - 7)
        asked = {"levels": seed % 3, "vertices": seed % 2 == 0, "max_depth": 3 if seed == 3 else None}
        made = in_parts(layout, rows)
        buffers = {"buffer_bytes": LINE * (1 + seed), "buffers": 2 + seed % 2}
        found = aggregate_rows(made, sources, symmetric=True, batch=batch, **buffers, **asked)
        check(found, rows, sources, **asked)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_a_level_does_not_need_is_not_read(layout):
    ends = numpy.arange(3200)
    columns = numpy.stack([ends - 1, ends + 1], axis=1).ravel()[1:-1].astype(numpy.uint32)
    rows = numpy.concatenate([[0], numpy.arange(1, 6398, 2), [6398]]).astype(numpy.int64), columns
    made = in_parts(layout, rows)
    searches = many.prepare_rows(made, symmetric=True, sources=2, max_depth=40, buffer_bytes=LINE)
    assert not searches.independent
    parts = len(searches._every)
    assert parts > 20
    body = made.arrays[body_name(made)]
    body.slices.clear()
    found = Aggregates.empty(2)
    searches.run(numpy.array([0, 3000]), found)
    check(found, rows, numpy.array([0, 3000]), max_depth=40)
    assert {direction for direction, _, _ in searches.levels} == {"push"}
    read = body.array.itemsize * sum(last - first for first, last in body.slices)
    assert searches.link_bytes == read
    assert 0 < read < 40 * 5 * (body.array.nbytes / parts + 2 * LINE)


@pytest.mark.parametrize(("layout", "share"), SHARES)
def test_split_rows(layout, share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    of_rooms = ((0, 64), (1, 256), (300, 1024), (4000, 64), (1 << 30, 256))
    for seed, (room, batch) in enumerate(of_rooms if share != 16 else [(room, 64) for room, _ in of_rooms]):
        kept = lambda rows, most, memory, room=room: (room, most)  # noqa: E731
        monkeypatch.setattr("gravel.kernels.distances.many_cuda._kept", kept)
        rows = encodable(random_rows(seed, vertices=400))
        sources = numpy.random.default_rng(seed).integers(0, 400, batch - 7)
        asked = {"levels": seed % 3, "vertices": seed % 2 == 0}
        found = aggregate_rows(
            there(layout, rows), sources, symmetric=True, batch=batch, split=True, independent=False, **asked
        )
        check(found, rows, sources, **asked)


@pytest.mark.parametrize("layout", ["csr", "varint"])
def test_a_split_keeps_what_fits_beside_a_batch(layout):
    rows = encodable(random_rows(5, vertices=400))
    made = there(layout, rows)
    asked = {"symmetric": True, "sources": 200, "split": True, "independent": False}
    item = 4 if layout == "csr" else 1
    stream = None if layout == "csr" else len(made.arrays["stream"])
    wide, narrow = (total(on_device_table(400, len(rows[1]), 4, width, stream=stream)) for width in (256, 64))
    kept = []
    for memory in (1 << 20, wide + 3_072, wide + 2_560, narrow + 1_024, narrow - 1):
        searches = many.prepare_rows(made, memory=memory, **asked)
        assert searches.bytes <= memory
        whole = many.prepare_rows(made, **asked | {"split": False, "batch": searches.batch})
        copied = searches.bytes - whole.bytes
        assert (copied > 0) == (memory > narrow)
        assert 0 <= copied <= made.arrays[body_name(made)].nbytes + LINE * item
        _, *ends = searches._parts.bounds
        kept.append((searches.batch, int(rows[0][ends[0]]) if len(ends) == 2 else len(ends)))
    everything = 1
    assert kept[0] == (256, everything)
    assert [batch for batch, _ in kept] == [256, 256, 256, 64, 64]
    assert kept[4] == (64, everything), "nothing is kept: all is read where it lies"
    assert item == 1 or 0 < kept[2][1] < kept[1][1] < len(rows[1])
    with pytest.raises(TooNarrow, match="64 searches at once take"):
        many.prepare_rows(made, memory=1000, **asked)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hubs_fill_parts_of_their_own(layout, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PIECE_BYTES", 100)
    rows = star(1500)
    for share in (0, 1 << 60):
        monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
        monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
        for batch in (64, 1024):
            sources = numpy.array([3, 5, 700, 1504, 0, 1508])
            made = in_parts(layout, rows)
            asked = {"batch": batch, "vertices": True, "buffer_bytes": LINE}
            check(aggregate_rows(made, sources, symmetric=True, **asked), rows, sources, vertices=True)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_every_small_graph(symmetric):
    for graph in zoo():
        if not 0 < graph.vertex_count < 500:
            continue
        rows = graph.csr(symmetric=symmetric)
        sources = numpy.random.default_rng(3).integers(0, graph.vertex_count, 70)
        found = aggregate_rows(in_parts("csr", rows), sources, symmetric=symmetric, buffer_bytes=LINE)
        check(found, rows, sources)


def test_sources_in_step(monkeypatch):
    monkeypatch.setattr(in_step, "FEWEST", 2)
    rows = encodable(random_rows(2, vertices=200))
    sources = numpy.random.default_rng(2).integers(0, 200, 100)
    for layout in ("csr", "blocks"):
        found = aggregate_rows(in_parts(layout, rows), sources, symmetric=True, batch=64, buffer_bytes=4096)
        check(found, rows, sources)


def test_what_reads_columns_where_they_lie_refuses_rows_in_parts():
    rows = encodable(random_rows(1, vertices=100))
    with pytest.raises(ValueError, match="where they lie, and these are read in parts; bring them into"):
        many.prepare_rows(in_parts("csr", rows), symmetric=True, sources=3, independent=True)


@pytest.mark.parametrize("goal", GOALS)
def test_eccentricities(goal):
    for seed in range(3):
        rows = encodable(random_rows(seed, vertices=300))
        expected = eccentricities(*rows, goal, in_parts=True)
        offsets, columns = map(on_device, rows)
        found = eccentricities(offsets, Counted(rows[1]), goal, in_parts=True)
        numpy.testing.assert_array_equal(found.get(), expected)
        found = eccentricities(offsets, columns, goal, in_parts=True, split=True, memory=100_000)
        numpy.testing.assert_array_equal(found.get(), expected)
