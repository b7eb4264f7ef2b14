"""Parquet: columns by name or by type, several row groups, and what cannot be an edge."""

import datetime
import decimal
import math
import random
import uuid

import numpy
import pyarrow
import pytest
from pyarrow import parquet

from gravel.stages.errors import StageError
from gravel.stages.filters import parse
from gravel.stages.readers.parquet import ParquetTable
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
        ({"a": [1], "b": ["x"]}, ["column b holds string; expected whole numbers"]),
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


def test_row_groups_that_a_filter_leaves_out_are_not_read(tmp_path):
    path = table(tmp_path / "g.parquet", u=[1, 2, 3, 4, 5, 6], v=[2, 3, 4, 5, 6, 7], t=[1, 1, 2, 2, 3, 3])
    opened = ParquetTable(path, str(path))
    for text, groups in (
        ("t >= 3", [2]),
        ("t in (1, 3)", [0, 2]),
        ("u > 4.5 or t < 2", [0, 2]),
        ("t > 9", []),
    ):
        assert opened.groups(parse(text).expression(opened.schema)) == groups
    # What is in the first group cannot be read any more, and is not missed.
    data = bytearray(path.read_bytes())
    stored = parquet.ParquetFile(path).metadata.row_group(0)
    begin = stored.column(0).data_page_offset
    data[4 : begin + 8] = b"\xff" * (begin + 4)
    path.write_bytes(data)
    assert read(path, filter="t >= 3").pairs == [(5, 6), (6, 7)]


def test_what_is_left_does_not_depend_on_row_groups(tmp_path):
    draw = random.Random(3)
    size = 60
    kinds = {
        "whole": (lambda: draw.randrange(-3, 4), ["-4", "0", "2", "2.5", "1e30"]),
        "real": (lambda: draw.choice([0.5, -1.5, 3.0, math.nan, math.inf]), ["0.5", "3", "-7"]),
        "text": (lambda: draw.choice(["", "a", "b", "é" * 80]), ["''", "'a'", "'z'"]),
        "day": (lambda: datetime.date(2026, 1, draw.randrange(1, 9)), ["'2026-01-04'", "'2025-12-31T12:00'"]),
        "when": (lambda: datetime.datetime(2026, 1, draw.randrange(1, 9), 12), ["'2026-01-04T12:00'"]),
        "price": (lambda: decimal.Decimal(draw.randrange(-300, 300)) / 100, ["0", "1.005", "-2.5"]),
        "ident": (lambda: uuid.UUID(int=draw.randrange(4)).bytes, [f"'{uuid.UUID(int=2)}'"]),
    }
    columns = {
        name: [None if draw.random() < 0.2 else make() for _ in range(size)]
        for name, (make, _) in kinds.items()
    }
    for values in columns.values():
        half = sorted(
            (each for each in values if each is not None and each == each), key=lambda each: (each,)
        )
        values[: len(half)] = half
    made = {name: pyarrow.array(values) for name, values in columns.items()}
    made["ident"] = pyarrow.array(columns["ident"], pyarrow.binary(16)).cast(pyarrow.uuid())
    made["kind"] = made["text"].dictionary_encode()
    made |= {"u": range(size), "v": range(1, size + 1)}
    path = tmp_path / "g.parquet"
    parquet.write_table(pyarrow.table(made), path, row_group_size=4)
    opened = ParquetTable(path, str(path))
    literals = {name: each for name, (_, each) in kinds.items()} | {"kind": kinds["text"][1]}
    skipped = 0
    for _ in range(200):
        conditions = []
        for name in draw.sample(sorted(literals), 2):
            operator = draw.choice(["==", "!=", "<", "<=", ">", ">=", "is null", "in"])
            literal = draw.choice(literals[name])
            right = {"is null": "", "in": f"({literal}, {literals[name][0]})"}.get(operator, literal)
            conditions.append(f"{draw.choice(['', 'not '])}{name} {operator} {right}")
        text = f" {draw.choice(['and', 'or'])} ".join(conditions)
        filtered = parse(text)
        whole = pyarrow.table(made)
        expected = whole.filter(filtered.kept(whole, typed=True))["u"].to_pylist()
        skipped += len(opened.groups(filtered.expression(opened.schema))) < size // 4
        if expected:
            assert [source for source, _ in read(path, filter=text, weights=False).pairs] == expected, text
        else:
            with pytest.raises(StageError, match="leaves no row"):
                read(path, filter=text)
    assert skipped > 50
