"""Sets of ids on emulated devices: the ranks that sorting finds."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.ids import cuda
from gravel.kernels.ids.names_cuda import named
from tests.emulation import strict_cupy
from tests.emulation.strict_cupy import on_device

pytestmark = pytest.mark.usefixtures("on_cpu")


def check(found: Any, parts: list[numpy.ndarray], dtype: Any) -> None:
    for part in parts:
        found.add(on_device(part))
    found.finish()
    expected = numpy.unique(numpy.concatenate(parts))
    assert found.count == len(expected)
    numpy.testing.assert_array_equal(found.ids(), expected.astype(numpy.int64))
    for part in parts:
        ranks = found.ranks(on_device(part), dtype)
        assert ranks.dtype == dtype
        numpy.testing.assert_array_equal(ranks, numpy.searchsorted(expected, part))


@pytest.mark.parametrize("vertex", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize(
    ("least", "span"), [(0, 1), (0, 300), (31, 257), (5_000, 40_000), ((1 << 32) - 900, 900)]
)
def test_ranks_by_bitmap(vertex: Any, dtype: Any, least: int, span: int) -> None:
    random = numpy.random.default_rng(span)
    parts = [random.integers(least, least + span, size).astype(dtype) for size in (700, 1, 0, 33)]
    together = numpy.concatenate(parts)
    check(cuda.Bitmap(int(together.min()), int(together.max())), parts, vertex)


def test_a_bitmap_may_begin_anywhere() -> None:
    parts = [numpy.array([(1 << 63) - 1, (1 << 63) - 700, (1 << 63) - 33], numpy.uint64)]
    check(cuda.Bitmap((1 << 63) - 700, (1 << 63) - 1), parts, numpy.uint32)


def test_ranks_by_table() -> None:
    random = numpy.random.default_rng(3)
    parts = [random.integers(0, 1 << 63, size).astype(numpy.uint64) for size in (700, 1, 900)]
    check(cuda.Table(), [*parts, parts[0][:99]], numpy.uint32)


def test_ids_without_gaps_are_shifted() -> None:
    ids = on_device(numpy.array([7, 9, 8, 7], numpy.uint64))
    found = cuda.shifted(ids, 7, numpy.uint32)
    assert found.dtype == numpy.uint32
    assert found.tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize("dtype", [numpy.int32, numpy.int64, numpy.uint32, numpy.uint64])
def test_vertices_are_named(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    strict_cupy.install(monkeypatch)
    vertices = numpy.array([2, 0, 1, 2], dtype)
    far = numpy.array([-7, 1 << 40, 1 << 62])
    assert named(on_device(vertices), 10, None, -1).tolist() == [12, 10, 11, 12]
    assert named(on_device(vertices), 0, on_device(far), -1).tolist() == far[[2, 0, 1, 2]].tolist()
    assert named(on_device(vertices[:0]), 0, None, -1).dtype == numpy.int64
    if numpy.dtype(dtype).kind == "i":
        vertices[1] = -1
        least = -(1 << 63)
        assert named(on_device(vertices), 10, None, least).tolist() == [12, least, 11, 12]
