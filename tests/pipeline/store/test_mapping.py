"""Whole pieces that are sound and lie in another's place: pieces, files, digests, arrays, folders."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.layout import LEAF_BYTES
from gravel.pipeline.store.reader import find_fault
from gravel.pipeline.store.records import ArtifactRecord, seal, unseal
from gravel.stages.artifacts import EdgeList, Traversal

VALUES = numpy.random.default_rng(0).integers(0, 2**32, 600_000, numpy.uint32)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", lambda message: None)


def publish(cache: Cache, values: numpy.ndarray, name: str) -> ArtifactRecord:
    with cache.writer() as writer:
        return writer.publish(Traversal(algorithm=name, component=values, vertex_count=len(values)))


def read(cache: Cache, record: ArtifactRecord) -> numpy.ndarray:
    return numpy.asarray(cache.open(record.id).component)  # type: ignore[attr-defined]


def data_of(record: ArtifactRecord) -> Path:
    return record.path / "component" / "c" / "0"


def pieces(text: bytes) -> list[bytes]:
    """The pieces of an array's file that have as many bytes as others."""
    return [text[start : start + LEAF_BYTES] for start in range(0, 2 * LEAF_BYTES, LEAF_BYTES)]


def assert_noticed(cache: Cache, record: ArtifactRecord, bad: dict[Path, bytes]) -> None:
    good = {path: path.read_bytes() for path in bad}
    for path, text in bad.items():
        path.write_bytes(text)
    assert cache.check(record.id) is None
    assert find_fault(record) is not None
    with pytest.raises(DamagedArtifact):
        read(cache, record)
    for path, text in good.items():
        path.write_bytes(text)
    read(cache, record)


def test_pieces_in_each_others_places_are_noticed(cache):
    record = publish(cache, VALUES, "one")
    text = data_of(record).read_bytes()
    first, second = pieces(text)
    for bad in (second + first, first + first, second + second):
        assert_noticed(cache, record, {data_of(record): bad + text[len(bad) :]})


def test_pieces_of_another_artifact_are_noticed(cache):
    one, two = publish(cache, VALUES, "one"), publish(cache, VALUES[::-1].copy(), "two")
    text, other = data_of(one).read_bytes(), data_of(two).read_bytes()
    for bad in (pieces(other)[0] + text[LEAF_BYTES:], other):
        assert_noticed(cache, one, {data_of(one): bad})


def test_digests_of_another_array_are_noticed(cache):
    one, two = publish(cache, VALUES, "one"), publish(cache, VALUES[::-1].copy(), "two")
    mine, other = (record.path / "component" / "leaves" for record in (one, two))
    assert_noticed(cache, one, {mine: other.read_bytes()})
    both = {mine: other.read_bytes(), data_of(one): data_of(two).read_bytes()}
    assert_noticed(cache, one, both)


def test_arrays_of_one_artifact_in_each_others_places_are_noticed(cache):
    source, target = VALUES, VALUES[::-1].copy()
    with cache.writer() as writer:
        record = writer.publish(EdgeList(source=source, target=target, vertex_count=2**32, undirected=True))
    (record.path / "source").rename(record.path / "aside")
    (record.path / "target").rename(record.path / "source")
    (record.path / "aside").rename(record.path / "target")
    assert cache.check(record.id) is None
    with pytest.raises(DamagedArtifact):
        numpy.asarray(cache.open(record.id).source)


@pytest.mark.parametrize("count", [300, 600_000])
def test_whole_folders_in_each_others_places_are_noticed(cache, count):
    # The same kind, attributes and sizes: only what the arrays hold differs.
    one, two = publish(cache, VALUES[:count], "same"), publish(cache, VALUES[:count][::-1].copy(), "same")
    one.path.rename(one.path.with_name("aside"))
    two.path.rename(one.path)
    one.path.with_name("aside").rename(two.path)
    for record in (one, two):
        assert cache.check(record.id) is None
        with pytest.raises(DamagedArtifact):
            read(cache, record)


def test_a_record_with_other_roots_is_damaged(cache):
    record, other = publish(cache, VALUES, "one"), publish(cache, VALUES[::-1].copy(), "two")
    path = cache.root / "artifacts" / f"{record.id}.json"
    body = unseal(path.read_bytes())
    for wrong in ({}, {"component": ""}, {"component": 7}, {"component": other.roots["component"]}):
        path.write_bytes(seal({**body, "roots": wrong}))
        with pytest.raises(DamagedArtifact):
            read(cache, record)


def test_a_file_that_is_exchanged_after_it_was_checked_is_checked_again(cache):
    record, other = publish(cache, VALUES, "one"), publish(cache, VALUES[::-1].copy(), "two")
    assert numpy.array_equal(read(cache, record), VALUES)
    data_of(other).rename(data_of(record))
    with pytest.raises(DamagedArtifact):
        read(cache, record)


def test_a_file_that_is_exchanged_while_it_is_read_is_noticed(cache):
    record, other = publish(cache, VALUES, "one"), publish(cache, VALUES, "two")
    array = cache.open(record.id).component
    array._mapped()
    data_of(other).rename(data_of(record))
    with pytest.raises(DamagedArtifact, match="exchanged while it was read"):
        array._each([0], array._check_piece)
