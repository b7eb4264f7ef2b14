"""Locks on recipes, so that two runs do not compute the same at the same time.

A lock is a further name of the run's lease, `locks/<digest>.lock`: taking it is one `link`, releasing it one
`unlink`, neither waits for anybody, and the locks of a run that died are free as soon as its lease is. They
only avoid double work; no result rests on them, so nobody waits for a run that is stopped (Ctrl-Z).
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.leases import holder, is_stopped
from gravel.pipeline.store.obstacles import make_folder, set_aside, what_is

FOLDER = "locks"

DIGEST = re.compile(r"[0-9a-f]{64}\.lock")

_NO_LINKS = (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


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
                if what_is(path) is not None:
                    set_aside(self._root, f"{FOLDER}/{path.name}")
                elif (who := holder(path)) is not None:
                    return is_stopped(who)
                else:
                    path.unlink(missing_ok=True)
        self._locked.add(digest)
        return True

    def _link(self, path: Path) -> bool:
        try:
            os.link(self._lease, path)
        except FileExistsError:
            return False
        except FileNotFoundError:
            if not self._lease.exists():
                return True
            make_folder(self._root, FOLDER)
            return self._link(path)
        except NotADirectoryError:
            make_folder(self._root, FOLDER)
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
        return None if who is None or is_stopped(who) else who

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
        return self._root / FOLDER / f"{digest}.lock"


def sweep_locks(root: Path) -> None:
    """Remove the locks of runs that died."""
    try:
        entries = [entry for entry in os.scandir(root / FOLDER) if DIGEST.fullmatch(entry.name)]
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):
            if holder(Path(entry.path)) is None:
                os.unlink(entry.path)  # noqa: PTH108
