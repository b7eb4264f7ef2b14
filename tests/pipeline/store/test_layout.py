"""The file of an array: mapped from its first byte on, and read by Zarr as what it is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.layout import ITEMSIZE, LEAF_BYTES, Layout
from gravel.stages.artifacts import Traversal

MIB = 1 << 20


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(sorted(ITEMSIZE)),
    st.lists(st.integers(0, 3000), min_size=1, max_size=3).map(tuple),
)
def test_chunks_are_whole_rows_of_about_a_mib(dtype, shape):
    layout = Layout(dtype, shape)
    row = ITEMSIZE[dtype] * math.prod(max(1, length) for length in shape[1:])
    assert ITEMSIZE[dtype] * math.prod(layout.chunk) <= max(LEAF_BYTES, row)
    assert layout.chunk[1:] == tuple(max(1, length) for length in shape[1:])
    assert layout.chunk_count * layout.chunk[0] >= shape[0] > (layout.chunk_count - 1) * layout.chunk[0] - 1
    assert len(layout.tail()) == layout.tail_bytes
    assert dict(layout.files()).get(layout.path, 0) == (layout.nbytes and layout.nbytes + layout.tail_bytes)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("uint32", (10,)),
        ("bool", (3 * MIB,)),
        ("uint64", (MIB // 8,)),
        ("float32", (300_001,)),
        ("int16", (700, 1_001)),
        ("int32", (3, 400_003)),
        ("uint8", (2, 3, 999_983)),
        ("float64", (0, 5)),
        ("int8", (4, 0)),
    ],
)
def test_the_file_is_the_array_and_zarr_reads_it(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    values = numpy.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(Traversal(algorithm="x", distance=values, vertex_count=1))
    found = zarr.open(record.path, mode="r")["distance"]
    assert found.dtype == values.dtype
    assert numpy.array_equal(found[...], values)
    assert numpy.array_equal(found[1:2], values[1:2])
    file = record.path / "distance" / Layout(dtype, shape).path
    assert file.exists() == (values.size > 0)
    if values.size:
        assert numpy.array_equal(numpy.memmap(file, dtype, "r", shape=shape), values)
