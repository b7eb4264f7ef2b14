"""Texts that are encoded on an emulated device: the dictionary and the vertices that the host finds."""

from __future__ import annotations

import uuid
from typing import Any

import numpy
import pyarrow
import pytest

from gravel.conversion.columns import encode_on_device
from gravel.kernels.ids import text_cuda
from gravel.kernels.ids.text import _hash as hash_on_cpu
from gravel.kernels.ids.text_cuda import TextTable
from gravel.stages.texts import Texts
from gravel.stages.vertex_ids.dictionary import encode
from tests.emulation import strict_cupy

pytestmark = pytest.mark.usefixtures("on_cpu")

ROOM = 1 << 30
MULTIPLIER, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def check(*columns: pyarrow.ChunkedArray) -> None:
    dictionary, expected = encode(*columns)
    made = encode_on_device(list(columns), ROOM)
    assert made is not None
    assert made[0].values.equals(dictionary.values)
    for found, wanted in zip(made[1], expected, strict=True):
        assert isinstance(found, strict_cupy.Array)
        numpy.testing.assert_array_equal(found.get(), wanted)


def drawn(count: int, seed: int) -> list[str]:
    random = numpy.random.default_rng(seed)
    heads = ["", "a", "user-", "\u00fcber-\u4e16\u754c-", "x" * 40]
    return [heads[head] + str(number) for head, number in random.integers([0, 0], [5, 300], (count, 2))]


def test_texts_of_all_lengths_in_chunks() -> None:
    chunks = [pyarrow.array(drawn(size, size), pyarrow.large_string()) for size in (700, 1, 0, 300)]
    first = pyarrow.chunked_array([*chunks, pyarrow.array(["", "a\0", "a", "a\0\0"], pyarrow.large_string())])
    # A slice begins within its buffers.
    second = pyarrow.chunked_array([pyarrow.array(drawn(900, 7), pyarrow.large_string())]).slice(13, 800)
    check(first, second)
    check(second.slice(5, 1), first.slice(0, 0))


def test_ids_of_fixed_length() -> None:
    random = numpy.random.default_rng(2)
    values = [uuid.UUID(int=int(each)).bytes for each in random.integers(0, 50, 400)]
    stored = pyarrow.array(values, pyarrow.binary(16))
    ids = pyarrow.chunked_array([pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), stored)])
    check(ids, ids.slice(100, 77))
    check(pyarrow.chunked_array([pyarrow.array(values, pyarrow.large_binary())]))


def mixed(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


def colliding(seed: int, count: int) -> list[bytes]:
    """Make texts of 16 bytes that have one hash."""
    start = seed ^ (16 * MULTIPLIER & MASK)
    after = [mixed((start + MULTIPLIER & MASK) ^ word) for word in range(count)]
    wanted = (after[0] + MULTIPLIER) & MASK
    seconds = [(each + MULTIPLIER & MASK) ^ wanted for each in after]
    return [
        word.to_bytes(8, "big") + second.to_bytes(8, "big")
        for word, second in zip(range(count), seconds, strict=True)
    ]


def test_texts_of_one_hash_are_told_apart() -> None:
    texts = colliding(5, 40) * 3
    content = numpy.frombuffer(b"".join(texts), numpy.uint8)
    hashes = {hash_on_cpu(content, 16 * at, 16 * at + 16, numpy.uint64(5)) for at in range(40)}
    assert len(hashes) == 1
    table = TextTable([(content, numpy.arange(0, 16 * len(texts) + 1, 16))], seed=5)
    assert table.count == 40
    found = Texts(table.text, table.offsets)
    ranks = numpy.arange(40, dtype=numpy.uint32)
    named = [found.item(int(each)) for each in table.vertices(ranks, 0, len(texts)).get()]
    assert named == texts


def test_what_the_host_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    dates = pyarrow.chunked_array([pyarrow.array([1, 2], pyarrow.date32())])
    assert encode_on_device([dates, dates], ROOM) is None
    texts = pyarrow.chunked_array([pyarrow.array(["a", "b"], pyarrow.large_string())])
    assert encode_on_device([texts, texts], 1000) is None
    assert encode_on_device([texts.slice(0, 0), texts.slice(0, 0)], ROOM) is None

    def refuse(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("gravel.kernels.ids.text_cuda.TextTable", refuse)
    assert encode_on_device([texts, texts], ROOM) is None
    monkeypatch.setattr(text_cuda, "MAX_ROWS", 2)
    with pytest.raises(ValueError, match="3 texts; 2 fit"):
        TextTable([(numpy.zeros(3, numpy.uint8), numpy.arange(4))])
