"""`gravel cache gc`: what runs left goes, by the policy that was asked for; what cannot be known stays."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.drills.gravel import command, make_old

WORKFLOW = """
workflow: leftovers
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, sources: [5]}
"""
DAY = 86400.0


def gc(folder: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(folder, "cache", "gc", "--json", *words, expect=0).stdout)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workflow that ran three times."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "edges.txt").write_text("".join(f"{a} {a + 1}\n" for a in range(100)))
    (folder / "w.yaml").write_text(WORKFLOW)
    make_old(folder / "edges.txt")
    for _ in range(3):
        command(folder, "run", "w.yaml", "--quiet", expect=0)
    return folder


@pytest.fixture
def work(made: Path) -> Iterator[Path]:
    """The folder itself, since memos of digests know the file; the cache is a copy, put back afterwards."""
    cache, aside, edges = made / "cache", made / "aside", made / "edges.txt"
    cache.rename(aside)
    subprocess.run(["cp", "-a", aside, cache], check=True)
    yield made
    shutil.rmtree(cache)
    aside.rename(cache)
    if not edges.exists():
        (made / "gone.txt").rename(edges)


def runs(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "runs").iterdir())


def age(run: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(run / "run.json", (then, then))


@contextmanager
def held(path: Path) -> Iterator[None]:
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_folders_of_old_runs_go_and_their_locks(work):
    cache = work / "cache"
    old, *rest = runs(work)
    age(old, 40)
    locks = [cache / "locks" / f"{number:064x}.lock" for number in range(2)]
    for lock in locks:
        lock.touch()
        os.utime(lock, (1e9, 1e9))
    with held(locks[0]):
        dry = gc(work, "--older-than", "30d")
        assert old.exists()
        assert locks[1].exists()
        assert dry["runs"] == [old.name]
        gc(work, "--older-than", "30d", "--yes")
        assert runs(work) == rest
        assert list((cache / "locks").iterdir()) == [locks[0]]
    assert gc(work)["removed"] == {}


def test_a_run_that_goes_on_keeps_its_folder(work):
    run = runs(work)[0]
    record = json.loads((run / "run.json").read_text())
    body = {**record, "state": "running", "pid": os.getpid(), "host": os.uname().nodename}
    (run / "run.json").write_text(json.dumps(body))
    age(run, 40)
    assert gc(work, "--older-than", "30d", "--yes")["runs"] == []
    assert run.exists()


def test_memos_of_what_is_gone_go(work):
    cache = work / "cache"
    names = [path.name for folder in ("digests", "resolved") for path in (cache / folder).iterdir()]
    assert len(names) >= 2
    kept = gc(work, "--yes")["files"]
    assert {name: why for name, why in kept.items() if not name.startswith("locks/")} == {}
    (work / "edges.txt").rename(work / "gone.txt")
    found = gc(work, "--yes")["files"]
    assert {name.split("/")[0] for name in found} >= {"digests"}
    assert list((cache / "digests").iterdir()) == []
    assert list((cache / "resolved").iterdir()) != []
    for run in runs(work):
        shutil.rmtree(run)
    gc(work, "--yes")
    assert list((cache / "artifacts").iterdir()) == []
    assert list((cache / "resolved").iterdir()) == []


def test_what_was_set_aside_goes_after_its_age(work):
    cache = work / "cache"
    command(work, "cache", "verify", expect=0)
    next(cache.glob("data/*/column_indices/c/0")).write_bytes(b"")
    command(work, "cache", "verify", expect=1)
    assert "quarantine" not in str(gc(work, "--yes")["files"])
    (place,) = (cache / "quarantine").iterdir()
    gc(work, "--quarantine-older-than", "1h", "--yes")
    assert place.exists()
    gc(work, "--quarantine-older-than", "0s", "--yes")
    assert not place.exists()


@pytest.mark.parametrize("harm", ["cut", "empty", "no record", "a folder"])
def test_a_run_that_cannot_be_read_keeps_what_it_may_have_used(work, harm):
    path = runs(work)[-1] / "run.json"
    for other in runs(work)[:-1]:
        shutil.rmtree(other)
    text = path.read_text()
    if harm == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_text({"cut": text[: len(text) // 2], "empty": "", "no record": "[1]"}[harm])
    said = command(work, "cache", "gc", "--yes", expect=0)
    assert f"the record of {path.parent.name} cannot be read" in said.stderr
    assert str(path) in said.stderr
    assert "--ignore-unreadable-runs" in said.stderr
    assert len(list((work / "cache" / "artifacts").iterdir())) > 3
    assert len(list((work / "cache" / "recipes").iterdir())) == 3
    # Told to, it takes it as a run that used nothing; told its age, as any other run.
    assert gc(work, "--ignore-unreadable-runs")["removed"] != {}
    os.utime(path, (1e9, 1e9))
    assert gc(work, "--older-than", "1d")["runs"] == [path.parent.name]
