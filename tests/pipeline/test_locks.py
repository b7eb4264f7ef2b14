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
from pathlib import Path

import pytest

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import Lease, holder

ROOT = Path(__file__).resolve().parents[2]
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


def test_threads_and_recipes(tmp_path):
    cache = Cache(tmp_path)
    order: list[str] = []
    waited = threading.Event()

    def second() -> None:
        with cache.lock("abc", waiting=waited.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with cache.lock("abc"):
        thread.start()
        assert waited.wait(10)
        with cache.lock("another"):
            order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    cache = Cache(tmp_path)
    process = start_holder(tmp_path, "lock")
    killer = threading.Timer(0.2, end, [process])
    waiting: list[float] = []
    try:
        killer.start()
        with cache.lock("abc", waiting=lambda: waiting.append(time.monotonic())):
            assert len(waiting) == 1
    finally:
        killer.join()
    with cache.lock("abc", waiting=lambda: pytest.fail("nobody holds it")):
        pass


def test_an_exception_frees_the_lock(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(KeyboardInterrupt), cache.lock("abc"):
        raise KeyboardInterrupt
    with cache.lock("abc", waiting=lambda: pytest.fail("nobody holds it")):
        pass


def test_without_locks_work_goes_on(tmp_path, monkeypatch):
    def no_locks(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
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


def test_where_nothing_can_be_locked_the_process_tells(tmp_path, monkeypatch):
    def no_locks(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
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
