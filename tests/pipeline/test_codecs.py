"""Which codec an array is stored with: by its first chunk and by how fast the disk is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy
import pytest

from gravel.pipeline.store import codecs, disk, write_threads
from gravel.pipeline.store.codecs import choose_codec, decode, encode
from gravel.pipeline.store.layout import PLAIN, ZSTD

NOISE = os.urandom(1 << 20)
COUNTED = numpy.arange(1 << 17, dtype=numpy.int64).tobytes()
SLOW, FAST = 1e6, 1e12


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which compressing a chunk takes a millisecond."""
    now = iter(numpy.arange(0.0, 1.0, 0.001))
    monkeypatch.setattr(codecs.time, "thread_time", lambda: next(now))


@pytest.mark.parametrize("rate", [None, SLOW, FAST])
def test_what_does_not_shrink_is_not_compressed(rate: float | None) -> None:
    assert choose_codec("uint32", NOISE, rate, 2) == PLAIN


@pytest.mark.parametrize(("rate", "threads", "codec"), [(SLOW, 1, ZSTD), (FAST, 1, PLAIN), (FAST, 16, PLAIN)])
def test_what_shrinks_is_compressed_where_the_disk_is_slow(
    timed: None, rate: float, threads: int, codec: str
) -> None:
    assert choose_codec("int64", COUNTED, rate, threads) == codec


def test_on_many_threads_compressing_is_free_beside_a_disk(timed: None) -> None:
    assert choose_codec("int64", COUNTED, 1.8e9, 1) == PLAIN
    assert choose_codec("int64", COUNTED, 1.8e9, 16) == ZSTD


def test_of_a_small_array_the_size_decides() -> None:
    assert choose_codec("int64", COUNTED[:4096], None, 1) == ZSTD
    assert choose_codec("uint8", COUNTED[:4096], None, 1) == PLAIN
    assert choose_codec("int64", b"", None, 1) == PLAIN


@pytest.mark.parametrize("codec", [PLAIN, ZSTD])
def test_a_chunk_comes_back_and_a_flipped_bit_is_noticed(codec: str) -> None:
    stored = b"".join(encode(codec, memoryview(COUNTED)))
    assert bytes(decode(codec, stored, len(COUNTED))) == COUNTED
    for place in (0, len(stored) // 2, len(stored) - 1):
        flipped = bytearray(stored)
        flipped[place] ^= 1
        with pytest.raises(ValueError, match="checksum"):
            decode(codec, bytes(flipped), len(COUNTED))
    with pytest.raises(ValueError, match="another one belongs in its place"):
        decode(codec, stored, len(COUNTED), b"abcd")


def test_the_rate_of_a_disk_is_measured_once(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    disk.write_rate.cache_clear()
    rate = disk.write_rate(tmp_path)
    assert rate > 1e6
    known = json.loads((tmp_path / "disk.json").read_text())
    assert known["bytes_per_second"] == pytest.approx(rate, abs=1)
    assert list((tmp_path / "data").iterdir()) == []
    (tmp_path / "disk.json").write_text('{"bytes_per_second": 5000000}')
    disk.write_rate.cache_clear()
    assert disk.write_rate(tmp_path) == 5e6
    (tmp_path / "disk.json").write_text("garbage")
    disk.write_rate.cache_clear()
    assert disk.write_rate(tmp_path) > 1e6


def test_memory_takes_what_all_threads_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread alone would have 16 threads compress what memory takes faster."""
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(write_threads.os, "sched_getaffinity", lambda process: range(1024))
    monkeypatch.setattr(disk, "MEMORY_RATE", 1e12)
    rates = []
    for kind in ("ext4", "tmpfs"):
        monkeypatch.setattr(disk, "file_system", lambda path, kind=kind: kind)
        rates.append(disk._measure(tmp_path))
    assert rates[0] < 1e12
    assert rates[1] == 16e12
    assert list((tmp_path / "data").iterdir()) == []


def test_columns_are_not_compressed_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted columns shrink by half in 2 to 2.5 ns a byte; one thread alone writes 1.2 GB/s to memory."""
    now = iter(numpy.arange(0.0, 1.0, 0.0025))
    monkeypatch.setattr(codecs.time, "thread_time", lambda: next(now))
    assert choose_codec("int64", COUNTED, 1.2e9, 16) == ZSTD
    assert choose_codec("int64", COUNTED, 16 * disk.MEMORY_RATE, 16) == PLAIN


def test_a_disk_that_cannot_be_measured_counts_as_usual(tmp_path: Path) -> None:
    disk.write_rate.cache_clear()
    assert disk.write_rate(tmp_path / "no" / "folder") == disk.USUAL_RATE
