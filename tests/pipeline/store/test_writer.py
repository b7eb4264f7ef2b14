from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.files import LocalFiles
from gravel.stages.artifacts import Traversal
from tests.pipeline.samples import equal, graph, provenance, publish, recipe

ROOT = Path(__file__).resolve().parents[3]

PUBLISHER = """
import sys
from gravel.pipeline.store.cache import Cache
from tests.pipeline.samples import graph, provenance, recipe
cache = Cache(sys.argv[1])
first = int(sys.argv[2])
for number in range(first, 10_000):
    if number == first + 1:
        # What publishing imports is loaded now, so that it is killed amid publishing.
        print("ready", flush=True)
    with cache.writer() as writer:
        made = graph(60_000, number)
        sink = writer.sink("uint32")
        for start in range(0, made.arc_count, 50_000):
            sink.append(made.column_indices[start : start + 50_000])
        sink.close()
        record = writer.publish(made)
    cache.remember(recipe(str(number)), (record.id,), provenance())
"""


def whole(cache: Cache) -> int:
    """Check that all that the records promise is there, down to every digest; counts the artifacts."""
    entries = cache.list()
    for entry in entries:
        assert cache.check(entry.record.id) is None
    outcome = cache.verify()
    assert outcome.damaged == {}
    assert outcome.artifacts == len(entries)
    return len(entries)


def test_killed_at_any_moment_the_cache_holds_whole_artifacts_only(tmp_path):
    cache = Cache(tmp_path, say=pytest.fail)
    moments = random.Random(5)
    found = 0
    for turn in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, str(tmp_path), str(100 * turn)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(moments.uniform(0, 0.12))
            process.send_signal(signal.SIGKILL)
        found = whole(cache)
        recipes = [name.removesuffix(".json") for name in cache.files.names("recipes", ".json")]
        for digest in recipes:
            record = cache.look_up(digest)
            assert record is not None
            assert all(cache.check(output) is None for output in record.outputs)
        cache.sweep()
        assert whole(cache) == found
        # A lock whose making was cut short has a temporary name; it is swept when it is an hour old.
        data = {path.name for path in (tmp_path / "data").iterdir() if not path.name.startswith(".")}
        assert data == {entry.record.path.name for entry in cache.list()}
    assert found > 0


def _publish_same(root: str, wait: object, results: object) -> None:
    wait.wait()  # type: ignore[attr-defined]
    with Cache(Path(root)).writer() as writer:
        record = writer.publish(graph(20_000))
    Cache(Path(root)).remember(recipe(), (record.id,), provenance())
    results.put((record.id, str(record.path)))  # type: ignore[attr-defined]


def test_two_writers_of_the_same_recipe_make_one_artifact(tmp_path):
    methods = multiprocessing.get_context("spawn")
    wait, results = methods.Barrier(3), methods.Queue()
    writers = [methods.Process(target=_publish_same, args=(str(tmp_path), wait, results)) for _ in range(3)]
    for writer in writers:
        writer.start()
    answers = {results.get(timeout=60) for _ in writers}
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert len(answers) == 1
    cache = Cache(tmp_path)
    assert whole(cache) == 1
    assert len(list((tmp_path / "data").iterdir())) == 1
    assert cache.look_up(recipe().digest).outputs == (cache.list()[0].record.id,)


def test_the_record_comes_after_the_data_is_on_the_disk(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    synced: list[str] = []
    real, create = os.fsync, LocalFiles.create

    def fsync(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        real(handle)

    def check(self: LocalFiles, name: str, text: bytes) -> bool:
        (folder,) = [path for path in (tmp_path / "data").iterdir() if (path / "zarr.json").exists()]
        # Files were synced where they were written, folders where they came to lie.
        names = {Path(path).name for path in synced}
        for path in folder.rglob("*"):
            assert path.name in names if path.is_file() else str(path) in synced
        assert {str(folder), str(folder.parent)} <= set(synced)
        monkeypatch.setattr(LocalFiles, "create", create)
        return create(self, name, text)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(LocalFiles, "create", check)
    record = publish(cache, graph())
    assert str(tmp_path / "artifacts") in synced
    assert cache.check(record.id) is None


def test_a_damaged_artifact_gives_way_to_a_whole_one(tmp_path):
    told: list[str] = []
    cache = Cache(tmp_path, told.append)
    first = publish(cache, graph())
    (first.path / "column_indices" / "c" / "0").unlink()
    second = publish(cache, graph())
    assert second.id == first.id
    assert second.path != first.path
    assert cache.check(second.id) is None
    assert equal(cache.open(second.id), graph())
    assert any("damaged" in message for message in told)
    assert len(list((tmp_path / "quarantine").iterdir())) == 1


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_told_and_costs_nothing_that_was_published(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    kept = publish(cache, graph())
    big = Traversal(
        algorithm="x", component=numpy.random.default_rng(0).integers(0, 9**9, 10**6), vertex_count=1
    )
    for target in (
        "gravel.pipeline.store.sink.write_at",
        "os.fsync",
        "gravel.pipeline.store.sink.sync_file",
        "gravel.pipeline.store.writer.write_file",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, full_disk)
            with pytest.raises(GravelError, match=r"no space left.*bytes are free") as caught:
                publish(cache, big, "big")
        assert str(tmp_path) in str(caught.value)
        assert "gc" in caught.value.problems[0].hint
        assert cache.look_up(recipe("big").digest) is None
        assert whole(cache) == 1
        assert cache.check(kept.id) is None
        assert [path.name for path in (tmp_path / "data").iterdir()] == [kept.path.name]
    with monkeypatch.context() as patch:
        patch.setattr("gravel.pipeline.store.files.sync_file", full_disk)
        with pytest.raises(GravelError, match="no space left"):
            publish(cache, big, "big")
    assert not list((tmp_path / "artifacts").glob(".*"))
    assert publish(cache, big, "big").kind == "Traversal"


def test_a_cache_that_cannot_be_written_still_answers(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    kept = publish(cache, graph())

    def read_only(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "utime", read_only)
    monkeypatch.setattr(Path, "mkdir", read_only)
    assert cache.look_up(recipe().digest).outputs == (kept.id,)
    assert cache.check(kept.id) is None
    assert equal(cache.open(kept.id), graph())
    with pytest.raises(RequestError, match="cannot write to the cache"), cache.writer() as writer:
        writer.publish(graph(seed=1))
    with pytest.raises(RequestError, match="cannot write to the cache"):
        cache.remember(recipe("b"), ("x",), {})
    with pytest.raises(RequestError, match="cannot write to the cache"), cache.lock(recipe().digest):
        pass


def test_a_cache_below_a_file(tmp_path):
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file" / "cache")
    assert cache.look_up("0" * 64) is None
    assert cache.list() == []
    with pytest.raises(RequestError, match="cannot write to the cache"), cache.writer() as writer:
        writer.publish(graph())


def test_create_is_exclusive_and_replace_is_whole(tmp_path):
    files = LocalFiles(tmp_path)
    assert files.create("a/b.json", b"one")
    assert not files.create("a/b.json", b"two")
    assert files.read("a/b.json")[0] == b"one"
    files.replace("a/b.json", b"three")
    assert files.read("a/b.json")[0] == b"three"
    assert files.names("a") == ["b.json"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.json"]


def test_no_file_stays_open_where_the_result_is_there_already(tmp_path, monkeypatch) -> None:
    fsync = os.fsync

    def slowly(handle: int) -> None:
        time.sleep(0.02)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slowly)
    cache = Cache(tmp_path / "cache")
    for _ in range(2):
        with cache.writer() as writer:
            sink = writer.sink("uint32")
            sink.append(numpy.arange(1 << 18, dtype=numpy.uint32))
            writer.publish(Traversal(algorithm="x", component=sink.close(), vertex_count=1))
    names = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [name for name in names if name.is_relative_to(tmp_path)]


@pytest.mark.parametrize("refused", ["create", "sync_file"])
def test_a_draft_that_cannot_be_written_leaves_nothing_and_says_why(tmp_path, monkeypatch, refused) -> None:
    """The disk refuses the name of the file, or what is in it."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"gravel.pipeline.store.files.{refused}", full)
    with pytest.raises(GravelError, match="no space left"):
        LocalFiles(tmp_path).draft("recipes/a.json", b"text", durable=True)
    assert not list((tmp_path / "recipes").iterdir())
