"""Who is alive: locks that the system frees when their holder dies.

A lease is a file that its holder keeps locked (flock) and that says who that is. Where the place cannot
lock, the process id, its start time and the machine's boot id tell a living holder from a dead one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gravel.pipeline.store.descriptors import Obstacle, create, open_regular
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.obstacles import make_folder, set_aside, what_is
from gravel.pipeline.store.sharing import mask_for

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def _started(pid: int) -> str | None:
    """Return when a process started, in the kernel's ticks, or None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


@cache
def _own_start(pid: int) -> str | None:
    """Return when this process, a fork of which has another number, started."""
    return _started(pid)


def is_stopped(who: Mapping[str, Any]) -> bool:
    """Say whether a holder on this machine is stopped (Ctrl-Z), so that it does nothing until it goes on."""
    if who.get("host") != platform.node() or who.get("boot") != _boot():
        return False
    try:
        text = Path(f"/proc/{int(who['pid'])}/stat").read_text()
    except (OSError, KeyError, TypeError, ValueError):
        return False
    fields = text.rpartition(")")[2].split()
    return fields[19] == who.get("started") and fields[0] in ("T", "t")


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _identity(purpose: str, under: str | None) -> dict[str, Any]:
    return {
        "purpose": purpose,
        **({} if under is None else {"under": under}),
        "host": platform.node(),
        "pid": os.getpid(),
        "started": _own_start(os.getpid()),
        "boot": _boot(),
        "since": time.time(),
    }


class Lease:
    """A held lease; `end` gives it back.

    `under` names a run's lease, relative to the cache: whoever holds that one holds this one, too, once its
    own holder has left it with `leave`.
    """

    def __init__(self, path: Path, purpose: str, under: str | None = None) -> None:
        """Take it; raises FileExistsError if the file is there, whether its holder lives or not."""
        self.path = path
        make_folder(path.parent.parent, path.parent.name)
        # Under its name the file appears locked and written, so that nobody takes it for a dead one's.
        aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        self._handle = create(path.parents[1], f"{path.parent.name}/{aside.name}")
        try:
            os.pwrite(self._handle, json.dumps(_identity(purpose, under)).encode(), 0)
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            os.link(aside, path)
        except BaseException:
            os.close(self._handle)
            raise
        finally:
            aside.unlink()

    @property
    def descriptor(self) -> int:
        """The open file by which it is held: a process that inherits it holds the lease, too."""
        return self._handle

    def end(self) -> None:
        """Remove the file, then free it, so that it is never seen free while its work is unfinished."""
        self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def leave(self) -> None:
        """Leave it to the holder of the lease that it is under, who has to remove the file."""
        os.close(self._handle)


def holder(path: Path) -> dict[str, Any] | None:
    """Return who holds a lease, or None if nobody does any more, or it is no file."""
    try:
        handle = open_regular(path.parents[1], f"{path.parent.name}/{path.name}")
    except (FileNotFoundError, Obstacle):
        return None
    except OSError:
        return {"purpose": "unknown", "since": 0.0}
    try:
        text = os.pread(handle, 1 << 16, 0)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return _living(text) or _holder_above(path, text)
            return _parse(text) or {"purpose": "unknown", "since": 0.0}
        return _holder_above(path, text)
    finally:
        os.close(handle)


def _holder_above(path: Path, text: bytes) -> dict[str, Any] | None:
    who = _parse(text) or {}
    under = who.get("under")
    if not isinstance(under, str) or re.fullmatch(r"leases/[^/]+\.lock", under) is None:
        return None
    return None if holder(path.parent.parent / under) is None else who


def _parse(text: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _living(text: bytes) -> dict[str, Any] | None:
    """Decide without locks. A holder on another machine cannot be asked and counts as alive for a week."""
    who = _parse(text)
    if who is None:
        return None
    if who.get("host") != platform.node():
        return who if time.time() - who.get("since", 0.0) < 7 * 86400 else None
    alive = who.get("boot") == _boot() and _started(who.get("pid", 0)) == who.get("started")
    return who if alive else None


@contextmanager
def hold(path: Path, purpose: str) -> Iterator[None]:
    """Hold a lease for as long as the block runs."""
    with storage_errors(path.parent.parent):
        if os.path.lexists(path) and holder(path) is None:
            if what_is(path) is None:
                path.unlink(missing_ok=True)
            else:
                set_aside(path.parent.parent, f"{path.parent.name}/{path.name}")
        lease = Lease(path, purpose)
    try:
        yield
    finally:
        lease.end()


@contextmanager
def lock(root: Path, name: str) -> Iterator[None]:
    """Hold a lock by a name; see `Cache.lock`."""
    import filelock

    path = root / "locks" / f"{name}.lock"
    with storage_errors(root):
        make_folder(root, "locks")
        if what_is(path) is not None:
            set_aside(root, f"locks/{path.name}")
        # The library sets a mode of its own, so it gets the one to use.
        lock_file = filelock.FileLock(path, mode=0o666 & ~mask_for(root))
        locked = True
        try:
            lock_file.acquire()
        except (NotImplementedError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
                raise
            locked = False
    try:
        yield
    finally:
        if locked:
            lock_file.release()
