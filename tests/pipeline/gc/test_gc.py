from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from gravel.pipeline.gc.collection import Policy, collect
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.records import ArtifactRecord
from tests.pipeline.samples import graph, publish, recipe
from tests.pipeline.store.test_leases import end, start_holder

DAY = 86400.0


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path, pytest.fail)


def run(cache: Cache, name: str, *, recipes: tuple[str, ...] = (), artifacts: tuple[str, ...] = ()) -> Path:
    folder = cache.root / "runs" / name
    folder.mkdir(parents=True)
    path = folder / "run.json"
    path.write_text(json.dumps({"run": name, "stages": [], "recipes": recipes, "artifacts": artifacts}))
    return path


def age(cache: Cache, record: ArtifactRecord, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(cache.root / "artifacts" / f"{record.id}.json", (then, then))


def stored(cache: Cache) -> set[str]:
    return {entry.record.id for entry in cache.list()}


def test_what_no_run_reaches_goes_and_only_when_told(cache):
    kept, named, lost = (publish(cache, graph(seed=seed), str(seed)) for seed in range(3))
    run(cache, "one", recipes=(recipe("0").digest,))
    run(cache, "two", artifacts=(named.id,))
    dry = collect(cache)
    assert dry.removed.keys() == {lost.id}
    assert not dry.deleted
    assert dry.bytes == lost.bytes_on_disk
    assert dry.recipes == [recipe("2").digest]
    assert (dry.kept, dry.kept_bytes) == (2, kept.bytes_on_disk + named.bytes_on_disk)
    assert stored(cache) == {kept.id, named.id, lost.id}
    done = collect(cache, delete=True)
    assert done.removed == dry.removed
    assert stored(cache) == {kept.id, named.id}
    assert cache.look_up(recipe("2").digest) is None
    assert cache.look_up(recipe("1").digest) is not None
    assert {path.name for path in (cache.root / "data").iterdir()} == {kept.path.name, named.path.name}
    assert collect(cache, delete=True).removed == {}


def test_what_a_kept_result_was_made_from_stays(cache):
    first = publish(cache, graph(seed=1), "first")
    second = publish(cache, graph(seed=2), "second", inputs=(first.id,))
    third = publish(cache, graph(seed=3), "third", inputs=(second.id,))
    run(cache, "one", recipes=(recipe("second", (first.id,)).digest,))
    assert collect(cache, delete=True).removed.keys() == {third.id}
    assert stored(cache) == {first.id, second.id}


def test_without_runs_everything_goes(cache):
    publish(cache, graph())
    collect(cache, delete=True)
    assert stored(cache) == set()
    assert list((cache.root / "data").iterdir()) == []


def test_the_longest_unused_go_when_the_cache_is_too_large(cache):
    records = [publish(cache, graph(seed=seed), str(seed)) for seed in range(4)]
    run(cache, "one", artifacts=tuple(record.id for record in records))
    for position, days in enumerate((3, 1, 4, 2)):
        age(cache, records[position], days * DAY)
    two = records[1].bytes_on_disk + records[3].bytes_on_disk
    assert collect(cache, Policy(max_size=10**9)).removed == {}
    assert collect(cache, Policy(max_size=two), delete=True).removed.keys() == {records[0].id, records[2].id}
    assert cache.check(records[3].id) is None
    # Checking is using: now the other one is the longest unused.
    collect(cache, Policy(max_size=records[3].bytes_on_disk), delete=True)
    assert stored(cache) == {records[3].id}
    assert {entry.recipe.digest for entry in cache.list()} == {recipe("3").digest}


def test_old_runs_keep_nothing_and_recent_use_spares(cache):
    old, recent, used = (publish(cache, graph(seed=seed), str(seed)) for seed in range(3))
    path = run(cache, "old", artifacts=(old.id, used.id))
    run(cache, "recent", artifacts=(recent.id,))
    then = time.time() - 40 * DAY
    os.utime(path, (then, then))
    for record in (old, recent):
        age(cache, record, 40 * DAY)
    assert collect(cache).removed == {}
    assert collect(cache, Policy(older_than=30 * DAY), delete=True).removed.keys() == {old.id}
    assert stored(cache) == {recent.id, used.id}


def test_a_live_run_is_spared_and_a_dead_one_is_not(cache):
    unused = publish(cache, graph(seed=1), "unused")
    age(cache, unused, DAY)
    process = start_holder(cache.root, "lease")
    try:
        made = publish(cache, graph(seed=2), "made")
        checked = publish(cache, graph(seed=3), "checked")
        age(cache, checked, DAY)
        assert cache.check(checked.id) is None
        outcome = collect(cache, delete=True)
        assert outcome.removed.keys() == {unused.id}
        assert outcome.spared == 2
        assert collect(cache, Policy(max_size=0), delete=True).removed == {}
        assert stored(cache) == {made.id, checked.id}
        assert cache.look_up(recipe("made").digest) is not None
    finally:
        end(process)
    assert collect(cache, delete=True).removed.keys() == {made.id, checked.id}
    assert list((cache.root / "leases").iterdir()) == []


def test_what_a_living_writer_has_not_published_is_spared(cache):
    with cache.writer() as writer:
        sink = writer.sink("int64")
        sink.append(graph().row_offsets)
        cache.sweep()
        collect(cache, delete=True)
        assert sink.close()[:].tolist() == graph().row_offsets.tolist()


def test_a_dead_writers_leavings_are_swept(cache):
    kept = publish(cache, graph())
    dead = cache.root / "data" / "dead"
    dead.mkdir()
    (dead / "part").write_bytes(b"x" * 1000)
    (cache.root / "data" / "dead.lock").write_text("{}")
    # It died between its record and the end of its lock.
    (cache.root / "data" / f"{kept.path.name}.lock").write_text("{}")
    alive = cache.root / "data" / "alive"
    lease = Lease(alive.with_suffix(".lock"), "work")
    alive.mkdir()
    assert collect(cache).leavings == 1000
    assert dead.exists()
    assert cache.sweep() == 1000
    assert {path.name for path in (cache.root / "data").iterdir()} == {kept.path.name, "alive", "alive.lock"}
    assert cache.check(kept.id) is None
    lease.end()
    assert cache.sweep() == 0


def test_data_without_a_record_and_quarantine_are_collected(tmp_path):
    cache = Cache(tmp_path, lambda message: None)
    lost, bad = publish(cache, graph(seed=1), "lost"), publish(cache, graph(seed=2), "bad")
    (tmp_path / "artifacts" / f"{lost.id}.json").write_text("{")
    assert cache.check(lost.id) is not None
    cache.quarantine(bad.id, "for a test")
    assert lost.path.exists()
    assert lost.bytes_on_disk <= collect(cache, delete=True).leavings < lost.bytes_on_disk + bad.bytes_on_disk
    assert list((tmp_path / "data").iterdir()) == []
    # What was set aside stays for a while, so that somebody may look at it.
    assert len(list((tmp_path / "quarantine").iterdir())) == 2
    assert collect(cache, Policy(quarantine=0.0), delete=True).leavings > bad.bytes_on_disk
    assert list((tmp_path / "quarantine").iterdir()) == []


def test_old_temporary_files_are_swept_and_young_ones_are_not(cache):
    publish(cache, graph())
    old, young = (cache.root / "artifacts" / name for name in (".old.json.1", ".young.json.2"))
    for path in (old, young):
        path.touch()
    os.utime(old, (1, 1))
    cache.sweep()
    assert (old.exists(), young.exists()) == (False, True)


def test_a_killed_gc_leaves_no_recipe_that_leads_nowhere(cache, monkeypatch):
    lost = publish(cache, graph())
    removed: list[str] = []
    remove = cache.files.remove

    def killed(name: str) -> None:
        removed.append(name)
        if name.startswith("data/"):
            raise KeyboardInterrupt
        remove(name)

    monkeypatch.setattr(cache.files, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        collect(cache, delete=True)
    there = [name for name in removed if not name.startswith("untrusted/")]
    assert there[:2] == [f"recipes/{recipe().digest}.json", f"artifacts/{lost.id}.json"]
    monkeypatch.undo()
    collect(cache, delete=True)
    assert not lost.path.exists()


def test_a_run_record_that_cannot_be_read_keeps_everything(cache):
    unused = publish(cache, graph())
    run(cache, "broken").write_text("[1")
    run(cache, "list").write_text("[]")
    outcome = collect(cache, delete=True)
    assert outcome.unreadable.keys() == {"broken", "list"}
    assert outcome.removed == {}
    assert outcome.recipes == []
    assert collect(cache, Policy(unreadable=True)).removed.keys() == {unused.id}


def test_an_empty_cache(tmp_path):
    cache = Cache(tmp_path / "none")
    assert cache.sweep() == 0
    assert collect(cache, Policy(max_size=0), delete=True).removed == {}
    assert cache.verify().artifacts == 0
    assert cache.list() == []
