from __future__ import annotations

import json
import time
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.reader import find_fault
from gravel.pipeline.store.records import RECORD_FORMAT, ArtifactRecord, BrokenRecord, seal, unseal
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Traversal
from tests.pipeline.samples import equal, graph, publish, recipe, shards


def read_all(artifact: Artifact) -> None:
    for value in vars(artifact).values():
        if hasattr(value, "shape"):
            numpy.asarray(value)


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset % len(content)] ^= 0x10
    path.write_bytes(content)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path, told) -> Cache:
    return Cache(tmp_path, told.append)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory) -> tuple[Cache, ArtifactRecord]:
    """Several pieces, the last of which is shorter."""
    values = numpy.random.default_rng(0).integers(0, 2**32, 600_000, numpy.uint32)
    cache = Cache(tmp_path_factory.mktemp("cache"), lambda message: None)
    with cache.writer() as writer:
        return cache, writer.publish(Traversal(algorithm="x", component=values, vertex_count=900))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1), st.integers(0, 10**7), st.integers(0, 7))
def test_a_flipped_bit_anywhere_in_the_data_is_never_served(pieces, file, offset, bit):
    cache, record = pieces
    path = shards(record)[file]
    good = path.read_bytes()
    expected = numpy.asarray(cache.open(record.id).component).copy()
    bad = bytearray(good)
    bad[offset % len(bad)] ^= 1 << bit
    aside = path.with_name("aside")
    path.rename(aside)
    path.write_bytes(bad)
    found = failed = None
    try:
        found = numpy.asarray(cache.open(record.id).component)
    except DamagedArtifact as error:
        failed = error.artifact_id
    finally:
        fault = find_fault(record)
        aside.rename(path)
    assert fault is not None
    # What fills the file up, and the index, are not served.
    assert failed == record.id or numpy.array_equal(found, expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1), st.integers(0, 10**7))
def test_a_truncated_file_is_seen_by_its_size_and_by_reading(pieces, file, length):
    cache, record = pieces
    path = shards(record)[file]
    good = path.read_bytes()
    path.write_bytes(good[: length % len(good)])
    try:
        assert path.name in cache.check(record.id)
        with pytest.raises(DamagedArtifact):
            numpy.asarray(cache.open(record.id).component)
    finally:
        path.write_bytes(good)
    assert cache.check(record.id) is None


def test_a_deleted_file_is_seen(cache):
    record = publish(cache, graph())
    for file in record.files:
        path = record.path / file.path
        good = path.read_bytes()
        path.unlink()
        assert file.path in cache.check(record.id)
        if file.path.count("/") != 1:  # arrays are read without their `zarr.json`
            with pytest.raises(DamagedArtifact):
                read_all(cache.open(record.id))
        path.write_bytes(good)
    assert cache.check(record.id) is None


def test_a_flipped_byte_in_metadata_is_seen(cache):
    """In attributes when the artifact is opened; in what only Zarr reads when it is verified."""
    record = publish(cache, graph())
    for file in record.files:
        if file.path.endswith("zarr.json"):
            path = record.path / file.path
            good = path.read_bytes()
            for offset in range(0, len(good), 37):
                flip(path, offset)
                assert file.path in (find_fault(record) or "")
                if file.path == "zarr.json":
                    with pytest.raises(DamagedArtifact):
                        cache.open(record.id)
                path.write_bytes(good)


@pytest.mark.parametrize("harm", ["flip", "truncate", "delete"])
def test_verify_finds_sets_aside_and_forgets(cache, told, harm):
    good, bad = publish(cache, graph(seed=1), "good"), publish(cache, graph(seed=2), "bad")
    path = shards(bad)[-1]
    if harm == "flip":
        flip(path, 11)
        assert cache.check(bad.id) is None
    elif harm == "truncate":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.unlink()
    outcome = cache.verify()
    assert list(outcome.damaged) == [bad.id]
    assert outcome.artifacts == 2
    assert "no record" in cache.check(bad.id)
    assert cache.check(good.id) is None
    (place,) = (cache.root / "quarantine").iterdir()
    assert place.name.startswith(bad.id)
    assert unseal((place / "reason.json").read_bytes())["reason"] == outcome.damaged[bad.id]
    assert (place / "data" / "zarr.json").exists()
    assert bad.id[:12] in told[0]
    assert cache.verify().damaged == {}
    # Computed again it is whole again.
    assert publish(cache, graph(seed=2), "bad").id == bad.id
    assert equal(cache.open(bad.id), graph(seed=2))


def test_progress_ends_at_the_whole(cache):
    record = publish(cache, graph())
    steps: list[tuple[int, int]] = []
    cache.verify(lambda done, total: steps.append((done, total)))
    assert steps[-1] == (record.bytes_on_disk, record.bytes_on_disk)


@pytest.mark.parametrize("folder", ["recipes", "artifacts"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "empty", "binary", "other"])
def test_a_damaged_record_is_missing_and_said(cache, told, folder, harm):
    record = publish(cache, graph())
    name = recipe().digest if folder == "recipes" else record.id
    path = cache.root / folder / f"{name}.json"
    text = path.read_bytes()
    if harm == "other":
        path.write_bytes(seal(unseal(text) | {"recipe": "0" * 64, "id": "0" * 64}))
    else:
        changed = bytearray(text)
        changed[40] ^= 1
        path.write_bytes(
            {"flip": changed, "truncate": text[:-20], "empty": b"", "binary": b"\xff\x00" * 99}[harm]
        )
    if folder == "recipes":
        assert cache.look_up(name) is None
    else:
        assert "no record" in cache.check(name)
    assert len(told) == 1
    assert name[:12] in told[0]
    assert not path.exists()
    publish(cache, graph())
    assert cache.check(record.id) is None
    assert cache.look_up(recipe().digest) is not None


def test_verify_tells_of_damaged_records(cache):
    record = publish(cache, graph())
    flip(cache.root / "recipes" / f"{recipe().digest}.json", 50)
    flip(cache.root / "artifacts" / f"{record.id}.json", 50)
    assert cache.verify().damaged.keys() == {recipe().digest, record.id}


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=4), st.data())
def test_seals_hold(body, data):
    text = seal({**body, "format": RECORD_FORMAT})
    assert unseal(text) == {**body, "format": RECORD_FORMAT}
    assert json.loads(text)["seal"]
    changed = bytearray(text)
    offset = data.draw(st.integers(0, len(text) - 2))
    changed[offset] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BrokenRecord):
        unseal(bytes(changed))


@pytest.mark.parametrize("stated", [None, "3"])
def test_a_record_of_an_unknown_format_is_not_read(cache, told, stated):
    publish(cache, graph())
    path = cache.root / "recipes" / f"{recipe().digest}.json"
    path.write_bytes(seal(unseal(path.read_bytes()) | {"format": stated}))
    assert cache.look_up(recipe().digest) is None
    assert "format" in told[0]


def test_quarantine_of_what_is_gone_is_quiet(cache, told):
    cache.quarantine("0" * 64, "it never was")
    assert told == []


def test_checking_hundreds_of_artifacts_is_quick(cache):
    record = publish(cache, graph())
    started = time.process_time()
    for _ in range(500):
        assert cache.check(record.id) is None
    assert time.process_time() - started < 1
