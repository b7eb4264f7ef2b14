"""Levels and ends of edges, counted on the device as on the CPU: on a GPU, and in emulation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from gravel.kernels import level_statistics, level_statistics_cuda, relabel, relabel_cuda
from gravel.kernels.layouts import LAYOUTS, EncodedRows, counting, encode

OnDevice = Callable[[Any], Any]


@pytest.fixture(
    params=[
        pytest.param(
            "emulated", marks=pytest.mark.skipif(shutil.which("g++") is None, reason="compiled with g++")
        ),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ]
)
def on_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> OnDevice:
    """Copy an array to the device, or to what stands for it."""
    if request.param == "cuda":
        import cupy

        return cupy.asarray
    from tests.emulation import strict_cupy

    strict_cupy.install(monkeypatch)
    return strict_cupy.on_device


def graph(*, duplicates: bool, dtype: Any = numpy.uint32) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Symmetric rows with self-loops, a hub of more than one unit, and empty rows."""
    random = numpy.random.default_rng(7)
    ends = random.integers(0, 900, (2, 4000))
    ends[0, :900] = 5
    ends[1, :900] = numpy.arange(900)
    ends = numpy.concatenate([ends, numpy.tile(numpy.arange(0, 900, 17), (2, 1))], axis=1)
    both = numpy.concatenate([ends, ends[::-1, ends[0] != ends[1]]], axis=1)
    both = both[:, numpy.lexsort((both[1], both[0]))]
    if not duplicates:
        both = numpy.unique(both, axis=1)
    offsets = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(both[0], minlength=911))))
    return offsets.astype(numpy.int64), both[1].astype(dtype)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("first_row", [0, 3])
def test_ends_of_columns(on_device: OnDevice, dtype: Any, first_row: int) -> None:
    offsets, columns = graph(duplicates=True, dtype=dtype)
    expected = level_statistics.edge_ends(offsets, columns, first_row)
    found = level_statistics_cuda.edge_ends(on_device(offsets), on_device(columns), first_row)
    assert expected.max() > 800
    numpy.testing.assert_array_equal(found.get(), expected)
    assert len(level_statistics_cuda.edge_ends(on_device(offsets[:1]), on_device(columns[:0]))) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ends_and_offsets_of_encoded_rows(on_device: OnDevice, layout: str) -> None:
    offsets, columns = graph(duplicates=False)
    made = encode(layout, offsets, columns)
    arrays = {name: on_device(array) for name, array in made.arrays.items()}
    rows = EncodedRows(layout, made.vertex_count, made.arc_count, made.dtype, arrays)
    found = counting.row_offsets(rows)
    numpy.testing.assert_array_equal(found.get(), offsets)
    expected = level_statistics.edge_ends(offsets, columns)
    assert (expected > numpy.diff(offsets)).sum() > 50  # self-loops
    numpy.testing.assert_array_equal(counting.edge_ends(rows, found).get(), expected)


@pytest.mark.parametrize("depth", [0, 1, 6, 1023, 1024, 3000])
@pytest.mark.parametrize("loops", [False, True])
def test_sums_of_levels(on_device: OnDevice, depth: int, loops: bool) -> None:
    random = numpy.random.default_rng(depth)
    count = 5001
    distance = random.integers(-1, depth + 1, count).astype(numpy.int32)
    distance[17] = depth
    degrees = random.integers(0, 1 << 32, count, numpy.uint32)
    offsets = numpy.concatenate(([0], numpy.cumsum(degrees, dtype=numpy.int64)))
    extra = random.integers(-(1 << 31), 1 << 31, count).astype(numpy.int32)
    vertices, arcs = numpy.zeros(depth + 1, numpy.int64), numpy.zeros(depth + 1, numpy.int64)
    given = extra if loops else numpy.empty(0, numpy.int32)
    summed = level_statistics.level_sums(distance, offsets, given, vertices, arcs)
    found = level_statistics_cuda.level_sums(
        on_device(distance), on_device(degrees), on_device(extra) if loops else None
    )
    numpy.testing.assert_array_equal(found[0], vertices)
    numpy.testing.assert_array_equal(found[1], arcs)
    assert found[2] == summed
    # Distances that are halves of keys lie two apart.
    pairs = on_device(numpy.stack([distance + 7, distance], axis=1))
    found = level_statistics_cuda.level_sums(pairs[:, 1], None)
    numpy.testing.assert_array_equal(found[0], vertices)
    assert not found[1].any()


def test_nothing_reached_has_no_levels(on_device: OnDevice) -> None:
    distance = numpy.full(40, -1, numpy.int32)
    vertices, arcs, summed = level_statistics_cuda.level_sums(
        on_device(distance), on_device(numpy.ones(40, numpy.uint32)), None
    )
    assert (len(vertices), len(arcs), summed) == (0, 0, 0)


def test_offsets_of_the_numbering_before(on_device: OnDevice) -> None:
    offsets, _ = graph(duplicates=False)
    permutation = numpy.random.default_rng(1).permutation(911).astype(numpy.uint32)
    found = relabel_cuda.row_offsets_back(on_device(permutation), on_device(offsets))
    numpy.testing.assert_array_equal(found.get(), relabel.row_offsets_back(permutation, offsets))
