from __future__ import annotations

import datetime
import decimal
import random
import uuid

import numpy
import pyarrow
import pytest

from gravel.stages.texts import Texts, TextSet
from gravel.stages.vertex_ids.dictionary import Dictionary, UnknownId, UnsuitableIds, encode

KINDS = {
    "texts": ["bob", "alice", "bob", "é", "", "zed", "𝔘", "￿"],
    "numbers": [3, 1, 3, 2**40],
    "uuids": [uuid.UUID(int=i * 7919 << 90) for i in (5, 1, 9)],
    "dates": [datetime.date(2020, 1, 2), datetime.date(1969, 1, 1)],
    "moments": [datetime.datetime(2020, 1, 2, 3), datetime.datetime(2019, 1, 2)],
    "times": [datetime.time(1, 2), datetime.time(0, 2)],
    "binary": [b"b\0", b"b", b"\xff"],
    "decimals": [decimal.Decimal("1.5"), decimal.Decimal("-2.5")],
    "floats": [2.5, -1.0],
}


def array_of(values):
    return pyarrow.array(values, pyarrow.uuid() if isinstance(values[0], uuid.UUID) else None)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_every_kind_are_ranks_and_lead_back(kind):
    values = KINDS[kind]
    array = array_of(values)
    dictionary, (source, target) = encode(pyarrow.chunked_array([array, array.slice(1)]), array)
    assert dictionary.values.to_pylist() == sorted(set(values))
    assert source.dtype == target.dtype == numpy.uint32
    assert dictionary.take(source).to_pylist() == values + values[1:]
    assert dictionary.take(target).to_pylist() == values
    for asked in (values, array, pyarrow.chunked_array([array])):
        assert (dictionary.lookup(asked) == target).all()
    assert (dictionary.lookup(values * 50) == numpy.tile(target, 50)).all()
    assert dictionary.take(numpy.array([-1, 0])).to_pylist() == [None, min(values)]
    for unknown in ("alicia", None, 77, [1], object()):
        for asked in ([unknown], [*values, *[unknown] * 100]):
            with pytest.raises(UnknownId) as caught:
                dictionary.lookup(asked)
            assert caught.value.value == unknown


@pytest.mark.parametrize("seed", range(8))
def test_chunks_and_threads_change_nothing(seed):
    chance = random.Random(seed)
    alphabet = chance.choice(["ab", "a\0", "aé𝔘z"])
    start = chance.choice(["", "user:", "x" * 30])
    rows = [start + "".join(chance.choices(alphabet, k=chance.choice([0, 1, 3, 9, 20]))) for _ in range(3000)]
    cuts = sorted(chance.sample(range(3000), 3))
    chunks = [rows[begin:end] for begin, end in zip([0, *cuts], [*cuts, 3000], strict=True)]
    wanted = sorted(set(rows))
    for column in (pyarrow.chunked_array([rows]), pyarrow.chunked_array(chunks), pyarrow.array(rows)):
        for threads in (1, 3):
            dictionary, (found,) = encode(column, threads=threads)
            assert dictionary.values.to_pylist() == wanted
            assert [wanted[vertex] for vertex in found] == rows


def test_categories_views_and_empty_columns_are_ids():
    wanted = ["bob", "alice", "bob"]
    columns = [
        pyarrow.array(wanted).dictionary_encode(),
        pyarrow.array(wanted, pyarrow.string_view()),
        pyarrow.array([], pyarrow.string()),
    ]
    dictionary, encoded = encode(*columns)
    assert dictionary.values.to_pylist() == ["alice", "bob"]
    assert [part.tolist() for part in encoded] == [[1, 0, 1], [1, 0, 1], []]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([pyarrow.array(["a"]), pyarrow.array([1])], "one type; found int64, large_string"),
        ([pyarrow.array(["a"]), pyarrow.array(["a", None])], r"row 1 \(from 0\) of column 1 is null"),
        ([pyarrow.array([1.0, float("nan")])], r"row 1 \(from 0\) of column 0 is NaN"),
        ([pyarrow.array([[1]])], "column 0 holds list<item: int64>; ids are texts"),
    ],
)
def test_columns_that_hold_no_ids_are_refused(columns, message):
    with pytest.raises(UnsuitableIds, match=message):
        encode(*columns)


def test_an_unknown_id_is_named_with_the_nearest():
    dictionary = Dictionary(pyarrow.array(["alice", "bob", "bobby"]))
    assert dictionary.nearest("bobb") == ["bobby", "bob"]
    with pytest.raises(UnknownId, match=r"^'alcie' is not a vertex of the graph; the nearest is 'alice'$"):
        dictionary.lookup(["bob", "alcie"])
    assert Dictionary(pyarrow.array([1, 5, 9])).nearest(6) == [5]
    assert Dictionary(pyarrow.array([], pyarrow.string())).nearest("x") == []


def test_a_set_of_texts_grows_from_many_threads():
    rows = [f"user {i * 7919 % 100_003}".encode() for i in range(150_000)]
    text = numpy.frombuffer(b"".join(rows), numpy.uint8)
    offsets = numpy.concatenate([[0], numpy.cumsum([len(row) for row in rows])]).astype(numpy.int64)
    known = TextSet()
    codes = numpy.concatenate(
        [known.add(Texts(text, offsets[i : i + 1001])) for i in range(0, 150_000, 1000)]
    )
    assert known.count == 100_003
    texts, ranks = known.ranked()
    wanted = sorted(set(rows))
    assert [texts.item(i) for i in range(0, texts.size, 1000)] == wanted[::1000]
    assert [wanted[rank] for rank in ranks[codes][::997]] == rows[::997]
