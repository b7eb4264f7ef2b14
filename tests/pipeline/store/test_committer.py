"""Results are published in groups: no record before its data are on the disk, and few waits for the disk."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.store import committer
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.committer import Committer, Disk, Result
from gravel.pipeline.store.files import Draft
from gravel.pipeline.store.folder import publish
from gravel.pipeline.store.leases import RecipeLocks
from gravel.pipeline.store.writer import ArtifactWriter
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run


class Watched:
    """What is on the disk, and in which order things get there."""

    def __init__(self) -> None:
        self.synced: set[Path] = set()
        self.syncs = 0
        self.early: list[str] = []

    def check(self, draft: Draft) -> None:
        if draft.temporary not in self.synced:
            self.early.append(draft.name)
        if draft.name.startswith("artifacts/"):
            body = json.loads(draft.temporary.read_text())
            data = draft.root / "data" / body["data"]
            self.early += [name for name, *_ in body["files"] if data / name not in self.synced]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    found = Watched()
    sync, create, replace = Disk.sync, Draft.create, Draft.replace

    def synced(self: Disk, files: Iterable[Path]) -> None:
        paths = list(files)
        sync(self, paths)
        found.synced |= set(paths)
        found.syncs += 1

    def created(self: Draft) -> bool:
        found.check(self)
        return create(self)

    def replaced(self: Draft) -> None:
        if self.name.startswith("recipes/"):
            found.check(self)
        replace(self)

    monkeypatch.setattr(Disk, "sync", synced)
    monkeypatch.setattr(Draft, "create", created)
    monkeypatch.setattr(Draft, "replace", replaced)
    return found


def run(plan: Plan, root: Path) -> RunOutcome:
    return execute(plan, RunOptions(cache_root=root, cluster="inline", backend="cpu"))


def many(count: int) -> Plan:
    return plan_of(
        *[stage_run(f"a{place}", MAKE, value=place) for place in range(count)],
        *[stage_run(f"b{place}", ADD, f"a{place}", value=place) for place in range(count)],
    )


def test_a_record_comes_after_its_data_are_on_the_disk(tmp_path: Path, watched: Watched) -> None:
    outcome = run(many(10), tmp_path)
    assert outcome.exit_code == 0
    assert watched.early == []
    records = {path.name for path in (tmp_path / "recipes").iterdir()}
    assert len(records) == 20
    assert {path.name for path in watched.synced} >= records
    assert run(many(10), tmp_path).record["cluster"] is None


@pytest.fixture
def each(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The files that are waited for one by one."""
    found: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (found.append(handle), fsync(handle)))
    return found


def test_many_runs_wait_for_the_disk_together(tmp_path, watched, each, monkeypatch) -> None:
    monkeypatch.setattr(committer, "INTERVAL", 60.0)
    run(many(20), tmp_path)
    assert watched.syncs <= 3  # one of the group, and what names its records at the end
    assert each == []


def test_a_flush_hurries_what_waits_and_nothing_after_it(tmp_path, monkeypatch) -> None:
    groups: list[list[str]] = []
    monkeypatch.setattr(committer, "INTERVAL", 30.0)
    monkeypatch.setattr(Committer, "_commit", lambda _, batch: groups.append([each.key for each in batch]))
    found: Any = Committer(Cache(tmp_path), RecipeLocks(tmp_path, "r"), lambda committed: None)
    for key in "ab":
        found.add(Result(key, None, ()))
        found.flush()
    found.add(Result("c", None, ()))
    time.sleep(0.3)
    found.add(Result("d", None, ()))
    assert groups == [["a"], ["b"]]
    found.close()
    assert groups == [["a"], ["b"], ["c", "d"]]


def test_nothing_is_left_of_a_published_run(tmp_path: Path) -> None:
    run(many(3), tmp_path)
    data = tmp_path / "data"
    assert [path.name for path in data.iterdir() if path.suffix == ".lock"] == []
    assert list((tmp_path / "locks").iterdir()) == []
    stated = {json.loads(path.read_text())["data"] for path in (tmp_path / "artifacts").glob("*.json")}
    assert {path.name for path in data.iterdir()} == stated
    hidden = [path for folder in ("artifacts", "recipes") for path in (tmp_path / folder).glob(".*")]
    assert hidden == []


def test_equal_results_of_one_run_are_stored_once(tmp_path: Path) -> None:
    same = plan_of(*[stage_run(f"a{place}", MAKE, value=1, sleep=place / 1e6) for place in range(5)])
    outcome = run(same, tmp_path)
    assert outcome.exit_code == 0
    assert len(outcome.record["artifacts"]) == 2
    assert len(list((tmp_path / "data").iterdir())) == 2
    assert len(list((tmp_path / "recipes").iterdir())) == 5


def test_an_equal_result_of_another_run_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = ArtifactWriter.prepare

    def slower(self: ArtifactWriter, artifact: object) -> object:
        mine = prepare(self, artifact)  # type: ignore[arg-type]
        if self._under is not None:
            with Cache(tmp_path).writer() as other:
                publish(Cache(tmp_path), prepare(other, artifact))  # type: ignore[arg-type]
        return mine

    monkeypatch.setattr(ArtifactWriter, "prepare", slower)
    outcome = run(plan_of(stage_run("a", MAKE), stage_run("b", ADD, "a")), tmp_path)
    assert outcome.exit_code == 0
    assert len(list((tmp_path / "data").iterdir())) == 3
    monkeypatch.undo()
    cache = Cache(tmp_path)
    assert all(cache.check(name) is None for name in outcome.record["artifacts"])


def fails(self: Disk, files: Iterable[Path]) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_disk_that_fails_fails_what_is_not_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Disk, "sync", fails)
    outcome = run(plan_of(stage_run("a", MAKE), stage_run("b", ADD, "a")), tmp_path)
    assert outcome.exit_code == 1
    first = outcome.record["stages"][0]
    assert first["state"] == "failed"
    assert "its result cannot be recorded: the disk of the cache" in first["error"]
    assert list((tmp_path / "recipes").iterdir()) == []
    assert list((tmp_path / "artifacts").iterdir()) == []
    monkeypatch.undo()
    again = run(plan_of(stage_run("a", MAKE), stage_run("b", ADD, "a")), tmp_path)
    assert again.exit_code == 0
    assert len(list((tmp_path / "data").iterdir())) == 3


def test_without_one_wait_for_all_each_file_is_waited_for(tmp_path, each, monkeypatch) -> None:
    monkeypatch.setattr(committer, "_syncfs", lambda: None)
    assert run(plan_of(stage_run("a", MAKE)), tmp_path).exit_code == 0
    assert len(each) > 5


def test_a_file_that_was_renamed_keeps_no_other_from_the_disk(tmp_path, monkeypatch) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(committer, "_syncfs", lambda: None)
    monkeypatch.setattr(os, "fsync", lambda handle: synced.add(os.fstat(handle).st_ino))
    (tmp_path / "after").write_bytes(b"content")
    disk = Disk(tmp_path)
    disk.sync([tmp_path / "renamed", tmp_path / "after"])
    disk.close()
    assert synced == {path.stat().st_ino for path in (tmp_path / "after", tmp_path)}


def test_a_disk_that_fails_at_the_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, said.append)
    tmp_path.joinpath("data").mkdir()
    publisher = committer.Committer(cache, RecipeLocks(tmp_path, "none"), lambda committed: None)
    publisher._disk = Disk(tmp_path)
    publisher._thread = threading.Thread(target=publisher._work, daemon=True)
    publisher._thread.start()

    monkeypatch.setattr(Disk, "sync", fails)
    publisher.close()
    assert len(said) == 1
    assert "the disk may lack the last records" in said[0]
