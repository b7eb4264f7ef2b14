"""Whole pieces that are sound and lie in another's place: chunks, shards, indices, metadata, folders."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import zarr

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.codecs import checksum as crc32c
from gravel.pipeline.store.records import ArtifactRecord, seal, unseal
from gravel.pipeline.store.writer import ArtifactWriter
from gravel.stages.artifacts import EdgeList, Traversal

CHUNK, SHARD = 400, 1200
VALUES = {
    "plain": numpy.random.default_rng(0).integers(0, 2**32, 300, numpy.uint32),
    "zstd": numpy.random.default_rng(1).integers(0, 9, 900, numpy.uint32),
}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", lambda message: None)


def publish(cache: Cache, values: numpy.ndarray, name: str) -> ArtifactRecord:
    with ArtifactWriter(cache, chunk_bytes=CHUNK, shard_bytes=SHARD) as writer:
        return writer.publish(Traversal(algorithm=name, component=values, vertex_count=len(values)))


def read(cache: Cache, record: ArtifactRecord) -> numpy.ndarray:
    return numpy.asarray(cache.open(record.id).component)  # type: ignore[attr-defined]


def shard(record: ArtifactRecord, number: int = 0, array: str = "component") -> Path:
    return record.path / array / "c" / str(number)


def index_of(text: bytes, count: int = 3) -> list[tuple[int, int]]:
    return list(struct.iter_unpack("<QQ", text[-16 * count - 4 : -4]))


def with_chunk(text: bytes, place: int, chunk: bytes) -> bytes:
    """Return a shard with another chunk in a place, sound in itself; its length must be the same."""
    offset, length = index_of(text)[place]
    assert length == len(chunk)
    return text[:offset] + chunk + text[offset + length :]


def with_index(text: bytes, entries: list[tuple[int, int]]) -> bytes:
    packed = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    return text[: -len(packed) - 4] + packed + crc32c(packed)


def equal_chunks(text: bytes, other: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    for here, (start, length) in enumerate(index_of(text)):
        for there, (at, size) in enumerate(index_of(other)):
            one, two = text[start : start + length], other[at : at + size]
            if length == size and one != two:
                yield here, there, one, two


def assert_noticed(cache: Cache, record: ArtifactRecord, path: Path, bad: bytes) -> None:
    good = path.read_bytes()
    path.write_bytes(bad)
    try:
        assert cache.check(record.id) is None or len(bad) != len(good)
        with pytest.raises(DamagedArtifact):
            read(cache, record)
    finally:
        path.write_bytes(good)
    read(cache, record)


@pytest.mark.parametrize("codec", ["plain", "zstd"])
def test_chunks_in_each_others_places_are_noticed(cache, codec):
    record = publish(cache, VALUES[codec], codec)
    assert cache.open(record.id).component.layout.codec == codec
    texts = [shard(record, number).read_bytes() for number in range(3 if codec == "zstd" else 1)]
    tried = 0
    for number, text in enumerate(texts):
        for other in texts:
            for here, there, one, two in equal_chunks(text, other):
                bad = with_chunk(text, here, two)
                if other is text:
                    bad = with_chunk(bad, there, one)
                assert_noticed(cache, record, shard(record, number), bad)
                tried += 1
    assert tried >= 2


def test_a_chunk_of_another_artifact_is_noticed(cache):
    one, two = publish(cache, VALUES["plain"], "one"), publish(cache, VALUES["plain"][::-1].copy(), "two")
    text, other = shard(one).read_bytes(), shard(two).read_bytes()
    for here, _, _, theirs in equal_chunks(text, other):
        assert_noticed(cache, one, shard(one), with_chunk(text, here, theirs))


@pytest.mark.parametrize("codec", ["plain", "zstd"])
def test_entries_of_an_index_in_each_others_places_are_noticed(cache, codec):
    record = publish(cache, VALUES[codec], codec)
    text = shard(record).read_bytes()
    first, second, third = index_of(text)
    for entries in ([second, first, third], [first, first, third], [(2**63, 404), second, third]):
        assert_noticed(cache, record, shard(record), with_index(text, entries))


def test_whole_shards_in_each_others_places_are_noticed(cache):
    one, two = publish(cache, VALUES["plain"], "one"), publish(cache, VALUES["plain"][::-1].copy(), "two")
    assert_noticed(cache, one, shard(one), shard(two).read_bytes())


def test_arrays_of_one_artifact_in_each_others_places_are_noticed(cache):
    source, target = VALUES["plain"], VALUES["plain"][::-1].copy()
    with ArtifactWriter(cache, chunk_bytes=CHUNK, shard_bytes=SHARD) as writer:
        record = writer.publish(EdgeList(source=source, target=target, vertex_count=2**32, undirected=True))
    (record.path / "source").rename(record.path / "aside")
    (record.path / "target").rename(record.path / "source")
    (record.path / "aside").rename(record.path / "target")
    assert cache.check(record.id) is None
    with pytest.raises(DamagedArtifact):
        numpy.asarray(cache.open(record.id).source)


def test_whole_folders_in_each_others_places_are_noticed(cache):
    # The same kind, attributes and sizes: only what the chunks hold differs.
    one, two = publish(cache, VALUES["plain"], "same"), publish(cache, VALUES["plain"][::-1].copy(), "same")
    one.path.rename(one.path.with_name("aside"))
    two.path.rename(one.path)
    one.path.with_name("aside").rename(two.path)
    for record in (one, two):
        assert cache.check(record.id) is None
        with pytest.raises(DamagedArtifact):
            read(cache, record)


def test_a_record_without_its_checksums_is_damaged(cache):
    record = publish(cache, VALUES["plain"], "one")
    path = cache.root / "artifacts" / f"{record.id}.json"
    body = unseal(path.read_bytes())
    for wrong in (
        {},
        {"component": ""},
        {"component": "?"},
        {"component": body["checksums"]["component"] + "AAAA"},
    ):
        path.write_bytes(seal({**body, "checksums": wrong}))
        with pytest.raises(DamagedArtifact):
            read(cache, record)


@pytest.mark.parametrize("codec", ["plain", "zstd"])
def test_plain_zarr_reads_what_is_stored(cache, codec):
    record = publish(cache, VALUES[codec], codec)
    array = zarr.open_group(record.path, mode="r")["component"]
    assert numpy.array_equal(array[:], VALUES[codec])
    bad = bytearray(shard(record).read_bytes())
    bad[7] ^= 1
    shard(record).write_bytes(bad)
    with pytest.raises(Exception, match=r"(?i)checksum|crc32c"):
        array[:]
