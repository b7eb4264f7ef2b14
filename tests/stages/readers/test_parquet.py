"""Parquet: columns by name or by type, several row groups, and what cannot be an edge."""

import numpy
import pyarrow
import pytest
from pyarrow import parquet

from tests.stages.ingest_files import PACK, complains, read, refused


def table(path, **columns):
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


@pytest.mark.parametrize("kind", ["uint32", "int64", "uint64", "int8"])
def test_named_columns(tmp_path, kind):
    path = table(
        tmp_path / "g.parquet",
        label=["a", "b", "c"],
        target=numpy.array([2, 3, 3], kind),
        source=numpy.array([1, 1, 9], kind),
        weight=numpy.array([1.5, 2, 3], "float32"),
    )
    got = read(path)
    assert got.pairs == [(1, 2), (1, 3), (9, 3)]
    assert got.ids == [1, 2, 3, 9]
    assert got.weights == [1.5, 2.0, 3.0]
    assert read(path, weights=False).weights is None


def test_the_first_two_of_whole_numbers(tmp_path):
    path = table(tmp_path / "g.pq", x=[0.5], a=[4], b=[5], c=[6])
    assert read(path).pairs == [(4, 5)]


@pytest.mark.parametrize("suffix", list(PACK))
def test_packed(tmp_path, suffix):
    data = table(tmp_path / "g.parquet", source=[1, 2], target=[2, 3]).read_bytes()
    path = tmp_path / f"h.parquet{suffix}"
    path.write_bytes(PACK[suffix](data))
    assert read(path).pairs == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"source": [1, -2], "target": [1, 1]}, ["row 1", "-2"]),
        ({"source": numpy.array([1, 1 << 63], "uint64"), "target": [1, 1]}, ["row 1", "2^63-1"]),
        ({"source": [1, 1, 1, None], "target": [1, 1, 1, 1]}, ["row 3", "no 'source'"]),
        ({"source": [1.0], "target": [1]}, ["double", "whole numbers"]),
        ({"a": [1], "b": ["x"]}, ["a (int64)", "b (string)"]),
        ({"source": [1], "target": [1], "weight": ["x"]}, ["weight"]),
        ({"source": [1], "target": [1], "weight": [float("nan")]}, ["row 0", "nan"]),
        ({"source": numpy.empty(0, int), "target": numpy.empty(0, int)}, ["no rows"]),
    ],
)
def test_what_is_wrong_is_said(tmp_path, columns, words):
    data = table(tmp_path / "t", **columns).read_bytes()
    complains(refused(tmp_path, "g.parquet", data), None, *words)


def test_damage_is_told(tmp_path):
    data = table(tmp_path / "t", source=list(range(1000)), target=list(range(1000))).read_bytes()
    complains(refused(tmp_path, "g.parquet", data[:-20]), None, "cannot be read")
    complains(refused(tmp_path, "g.parquet", data[:50] + b"\xff" * 400 + data[450:]), None, "cannot be read")
