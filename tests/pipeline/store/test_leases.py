from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import Lease, RecipeLocks, holder

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys, time
from pathlib import Path
from gravel.pipeline.store.cache import Cache
cache = Cache(Path(sys.argv[1]))
with getattr(cache, sys.argv[2])("abc"):
    print("held", flush=True)
    time.sleep(60)
"""


def start_holder(root: Path, verb: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root), verb], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def locks(root: Path, run: str) -> Iterator[RecipeLocks]:
    with Cache(root).lease(run):
        held = RecipeLocks(root, run)
        yield held
        held.release_all()


def test_a_recipe_is_computed_by_one_run_at_a_time(tmp_path):
    with locks(tmp_path, "one") as one, locks(tmp_path, "two") as two:
        assert one.take("abc")
        assert not two.take("abc")
        assert not one.take("abc")
        assert one.is_own("abc")
        assert not two.is_own("abc")
        assert not two.is_free("abc")
        assert two.take("another")
        one.release("abc")
        assert two.is_free("abc")
        assert two.take("abc")
        one.release("abc")
        assert not one.take("abc")
    assert list((tmp_path / "locks").iterdir()) == []


def test_the_locks_of_a_killed_run_are_free(tmp_path):
    process = start_holder(tmp_path, "lease")
    os.link(tmp_path / "leases" / "abc.lock", made(tmp_path / "locks") / "recipe.lock")
    with locks(tmp_path, "mine") as mine:
        assert not mine.take("recipe")
        end(process)
        assert mine.is_free("recipe")
        assert mine.take("recipe")


def test_a_lock_of_an_older_gravel_is_respected(tmp_path):
    with Cache(tmp_path).lock("recipe"), locks(tmp_path, "mine") as mine:
        assert not mine.take("recipe")
    with locks(tmp_path, "mine") as mine:
        assert mine.take("recipe")


def test_what_is_no_file_holds_no_recipe(tmp_path):
    (tmp_path / "locks" / "recipe.lock").mkdir(parents=True)
    with locks(tmp_path, "mine") as mine:
        assert mine.take("recipe")


def test_where_files_cannot_be_linked_nothing_is_held(tmp_path, monkeypatch):
    with locks(tmp_path, "mine") as mine:

        def no_links(*paths: object, **options: object) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", no_links)
        assert mine.take("recipe")


def test_locks_of_dead_runs_are_swept(tmp_path):
    process = start_holder(tmp_path, "lease")
    folder = made(tmp_path / "locks")
    os.link(tmp_path / "leases" / "abc.lock", folder / f"{1:064x}.lock")
    (folder / f"{2:064x}.lock").touch()
    (folder / "schedule-night.lock").touch()
    cache = Cache(tmp_path)
    cache.sweep()
    assert {path.stem.lstrip("0") for path in folder.iterdir()} == {"1", "schedule-night"}
    end(process)
    cache.sweep()
    assert {path.stem.lstrip("0") for path in folder.iterdir()} == {"schedule-night"}


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    cache = Cache(tmp_path)
    process = start_holder(tmp_path, "lock")
    began = time.monotonic()
    killer = threading.Timer(0.2, end, [process])
    killer.start()
    try:
        with cache.lock("abc"):
            assert time.monotonic() - began >= 0.2
    finally:
        killer.join()


def test_an_exception_frees_the_lock(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(KeyboardInterrupt), cache.lock("abc"):
        raise KeyboardInterrupt
    with cache.lock("abc"):
        pass


@pytest.fixture
def no_locks(monkeypatch):
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("no_locks")
def test_without_locks_work_goes_on(tmp_path):
    with Cache(tmp_path).lock("abc"):
        pass


def test_a_lease_is_held_by_a_living_process_only(tmp_path):
    process = start_holder(tmp_path, "lease")
    path = tmp_path / "leases" / "abc.lock"
    try:
        who = holder(path)
        assert who is not None
        assert who["pid"] == process.pid
        assert who["purpose"] == "run abc"
        assert who["started"]
        assert who["boot"]
        with pytest.raises(FileExistsError):
            Lease(path, "another")
    finally:
        end(process)
    assert holder(path) is None
    with Cache(tmp_path).lease("abc"):
        assert holder(path)["pid"] == os.getpid()
    assert not path.exists()
    assert holder(path) is None
    assert list((tmp_path / "leases").iterdir()) == []


@pytest.mark.usefixtures("no_locks")
def test_where_nothing_can_be_locked_the_process_tells(tmp_path):
    path = tmp_path / "x.lock"
    lease = Lease(path, "work")
    me = holder(path)
    assert me is not None
    assert me["pid"] == os.getpid()
    for change in ({"pid": 2**22 + 1}, {"started": "1"}, {"boot": "another"}):
        path.write_text(json.dumps(me | change))
        assert holder(path) is None
    path.write_text(json.dumps(me | {"host": "elsewhere"}))
    assert holder(path) is not None
    path.write_text(json.dumps(me | {"host": "elsewhere", "since": time.time() - 30 * 86400}))
    assert holder(path) is None
    path.write_text("{")
    assert holder(path) is None
    lease.end()
