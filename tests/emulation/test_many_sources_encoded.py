"""Searches from many sources that read encoded rows, with CUDA kernels compiled for the CPU."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.distances import bit_parallel_cuda, in_step, many
from gravel.kernels.distances.many import aggregate_rows
from gravel.kernels.layouts import encode
from tests.emulation.strict_cupy import encoded
from tests.kernels.distances.test_many import check, encodable, random_rows

pytestmark = pytest.mark.usefixtures("on_cpu")

LAYOUTS = ["varint", "blocks", "elias_fano"]


def star(leaves):
    """Draw a hub of many units, and vertices without arcs on both sides of it."""
    n = leaves + 9
    ends = numpy.arange(5, 5 + leaves)
    columns = numpy.concatenate([ends, numpy.full(leaves, 3)]).astype(numpy.uint32)
    degrees = numpy.zeros(n, numpy.int64)
    degrees[3], degrees[ends] = leaves, 1
    return numpy.concatenate([[0], numpy.cumsum(degrees)]), columns


@pytest.mark.parametrize(("layout", "share"), [("varint", 0), ("blocks", 16), ("elias_fano", 1 << 60)])
def test_the_same_as_of_columns(layout, share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    for seed, (piece, batch) in enumerate([(7, 64), (40, 256), (512, 1024), (7, 64)]):
        monkeypatch.setattr(bit_parallel_cuda, "PIECE_BYTES", piece)
        rows = encodable(random_rows(seed, vertices=300), numpy.uint64 if seed == 1 else numpy.uint32)
        sources = numpy.random.default_rng(seed).integers(0, 300, batch - 7)
        asked = {"levels": seed % 3, "vertices": seed % 2 == 0, "max_depth": 3 if seed == 3 else None}
        found = aggregate_rows(encoded(layout, rows), sources, symmetric=True, batch=batch, **asked)
        check(found, rows, sources, **asked)


@pytest.mark.parametrize("share", [0, 1 << 60], ids=["push", "pull"])
@pytest.mark.parametrize("piece", [100, 1 << 20])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_many_units(layout, piece, share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PIECE_BYTES", piece)
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    rows = star(1500)
    for batch in (64, 1024):
        sources = numpy.array([3, 5, 700, 1504, 0, 1508])
        found = aggregate_rows(encoded(layout, rows), sources, symmetric=True, batch=batch, vertices=True)
        check(found, rows, sources, vertices=True)
        sources = numpy.arange(5, 5 + batch)
        asked = {"symmetric": True, "batch": batch, "vertices": True}
        found = aggregate_rows(encoded(layout, rows), sources, **asked)
        numpy.testing.assert_array_equal(found.total, numpy.full(batch, 1 + 2 * 1499))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arcs_one_way_are_pushed_along(layout):
    rows = encodable(random_rows(4, symmetric=False, vertices=200))
    sources = numpy.arange(150)
    found = aggregate_rows(encoded(layout, rows), sources, symmetric=False, vertices=True)
    check(found, rows, sources, vertices=True)


def test_several_words_of_a_lane():
    rows = encodable(random_rows(99, vertices=150))
    sources = numpy.random.default_rng(1).integers(0, 150, 3996)
    found = aggregate_rows(encoded("varint", rows), sources, symmetric=True, batch=4096, vertices=True)
    check(found, rows, sources, vertices=True)


def test_sources_in_step(monkeypatch):
    monkeypatch.setattr(in_step, "FEWEST", 2)
    rows = encodable(random_rows(2, vertices=200))
    sources = numpy.random.default_rng(2).integers(0, 200, 100)
    found = aggregate_rows(encoded("blocks", rows), sources, symmetric=True, batch=64)
    check(found, rows, sources)


def test_a_cpu_refuses_encoded_rows():
    rows = encodable(random_rows(1, vertices=100))
    with pytest.raises(ValueError, match="on a CPU read columns, and these rows are blocks; decode them"):
        many.prepare_rows(encode("blocks", *rows), symmetric=True, sources=3)


def test_a_deep_graph_is_searched_from_each_source():
    ends = numpy.arange(400)
    columns = numpy.stack([ends - 1, ends + 1], axis=1).ravel()[1:-1].astype(numpy.uint32)
    rows = numpy.concatenate([[0], numpy.arange(1, 798, 2), [798]]).astype(numpy.int64), columns
    sources = numpy.array([0, 200, 399])
    for layout in LAYOUTS:
        assert many.prepare_rows(encoded(layout, rows), symmetric=True, sources=3).independent
        check(aggregate_rows(encoded(layout, rows), sources, symmetric=True), rows, sources)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_searches_of_their_own(layout, symmetric):
    middle = numpy.uint64 if layout == "blocks" else numpy.uint32
    for seed, dtype in enumerate([numpy.uint32, middle, numpy.uint32]):
        rows = encodable(random_rows(seed, symmetric=symmetric, vertices=300), dtype)
        asked = {"levels": 3, "vertices": True, "max_depth": 3 if seed == 2 else None}
        sources = numpy.random.default_rng(seed).integers(0, 300, 70)
        made = encoded(layout, rows)
        found = aggregate_rows(made, sources, symmetric=symmetric, independent=True, **asked)
        check(found, rows, sources, **asked)
    found = aggregate_rows(encoded(layout, star(1500)), [3, 5], symmetric=True, independent=True)
    check(found, star(1500), numpy.array([3, 5]))


def test_checkpoints_are_among_the_bytes(monkeypatch):
    rows = star(1500)
    made = [
        many.prepare_rows(encoded(layout, rows), symmetric=True, sources=64)
        for layout in ("varint", "blocks")
    ]
    pieces = [each._pieces.bytes for each in made]
    checkpoints = made[0]._parts.bytes
    assert checkpoints > 0
    assert made[0].bytes - made[1].bytes == pieces[0] - pieces[1] + checkpoints
