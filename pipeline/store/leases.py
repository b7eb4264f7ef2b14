"""Who is alive: leases and locks, which the system frees when their holder dies.

A lease is a file that its holder keeps locked (flock) and that says who that is. Where the place cannot
lock, the process id, its start time and the machine's boot id tell a living holder from a dead one.

A recipe's lock, so that two runs do not compute the same at the same time, is a further name of the run's
lease, `locks/<digest>.lock`: taking it is one `link`, releasing it one `unlink`, neither waits for anybody,
and the locks of a run that died are free as soon as its lease is. They only avoid double work; no result
rests on them, so nobody waits for a run that is stopped (Ctrl-Z).
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
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from gravel.pipeline.store.descriptors import (
    Obstacle,
    create,
    make_folder,
    open_regular,
    set_aside,
    what_is,
)
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.sharing import mask_for

LOCKS = "locks"

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_NO_LINKS = (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


def _process(pid: Any) -> tuple[str, str] | None:
    """Return a process's state and when it started, in the kernel's ticks, or None if there is none."""
    try:
        fields = Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()
    except (OSError, TypeError, ValueError):
        return None
    return fields[0], fields[19]


def _is_stopped(who: Mapping[str, Any]) -> bool:
    """Say whether a holder on this machine is stopped (Ctrl-Z), so that it does nothing until it goes on."""
    if who.get("host") != platform.node() or who.get("boot") != _boot():
        return False
    return _process(who.get("pid")) in (("T", who.get("started")), ("t", who.get("started")))


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Lease:
    """A held lease; `end`, or the end of its block, gives it back.

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
        found = _process(os.getpid())
        who = {
            "purpose": purpose,
            **({} if under is None else {"under": under}),
            "host": platform.node(),
            "pid": os.getpid(),
            "started": found and found[1],
            "boot": _boot(),
            "since": time.time(),
        }
        try:
            os.pwrite(self._handle, json.dumps(who).encode(), 0)
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

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

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
    found = _process(who.get("pid"))
    alive = who.get("boot") == _boot() and found is not None and found[1] == who.get("started")
    return who if alive else None


def take_lease(root: Path, run: str) -> Lease:
    """Take a run's lease; that of a process that died is free."""
    path = root / "leases" / f"{run}.lock"
    with storage_errors(root):
        if os.path.lexists(path) and holder(path) is None:
            _clear(path)
        return Lease(path, f"run {run}")


def _clear(path: Path) -> None:
    """Remove the lease of a dead holder; what is no file is moved aside."""
    if what_is(path) is None:
        path.unlink(missing_ok=True)
    else:
        set_aside(path.parents[1], f"{path.parent.name}/{path.name}")


def retire(root: Path, folder: Path) -> AbstractContextManager[object]:
    """Lock a folder of data while its record goes, so that a sweep finds what a dead process left."""
    try:
        with storage_errors(root):
            return Lease(folder.with_suffix(".lock"), "removal")
    except FileExistsError:
        return nullcontext()  # someone else removes the same folder, or died doing so; a sweep ends it


@contextmanager
def lock(root: Path, name: str) -> Iterator[None]:
    """Hold a lock by a name, waiting for it; that of a process that died is free.

    Where the place cannot lock, nothing is held.
    """
    import filelock

    path = root / LOCKS / f"{name}.lock"
    with storage_errors(root):
        make_folder(root, LOCKS)
        if what_is(path) is not None:
            set_aside(root, f"{LOCKS}/{path.name}")
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


class RecipeLocks:
    """The locks of one run, which holds its lease meanwhile."""

    def __init__(self, root: Path, run: str) -> None:
        self._root = root
        self._lease = root / "leases" / f"{run}.lock"
        self._locked: set[str] = set()

    def take(self, digest: str) -> bool:
        """Take a recipe's lock, or say that a living run has it, which may be this one.

        Where the place knows no links nothing is held, and the recipe counts as taken; so it does where the
        run that has it is stopped.
        """
        if digest in self._locked:
            return False
        path = self._path(digest)
        with storage_errors(self._root):
            while not self._link(path):
                if (who := holder(path)) is not None:
                    return _is_stopped(who)
                _clear(path)
        self._locked.add(digest)
        return True

    def _link(self, path: Path) -> bool:
        try:
            os.link(self._lease, path)
        except FileExistsError:
            return False
        except (FileNotFoundError, NotADirectoryError):
            if self._lease.exists():
                make_folder(self._root, LOCKS)
                return self._link(path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        return True

    def is_free(self, digest: str) -> bool:
        """Say whether nobody has a recipe's lock now."""
        return digest not in self._locked and self.holder(digest) is None

    def holder(self, digest: str) -> dict[str, Any] | None:
        """Return who has a recipe's lock and goes on, as its lease says it, or None."""
        who = holder(self._path(digest))
        return None if who is None or _is_stopped(who) else who

    def is_own(self, digest: str) -> bool:
        """Say whether this run has the lock."""
        return digest in self._locked

    def release(self, digest: str) -> None:
        """Free a recipe, if this run has its lock."""
        if digest in self._locked:
            self._locked.discard(digest)
            self._path(digest).unlink(missing_ok=True)

    def release_all(self) -> None:
        """Free every recipe."""
        for digest in list(self._locked):
            self.release(digest)

    def _path(self, digest: str) -> Path:
        return self._root / LOCKS / f"{digest}.lock"


def remove_dead_locks(root: Path) -> None:
    """Remove the locks on recipes of runs that died."""
    try:
        names = os.listdir(root / LOCKS)  # noqa: PTH208 (a path for each takes time)
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            if re.fullmatch(r"[0-9a-f]{64}\.lock", name) and holder(root / LOCKS / name) is None:
                (root / LOCKS / name).unlink()
