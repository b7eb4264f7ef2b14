"""What lies where a file or folder of the cache should be and is none: found without waiting, moved aside.

A link that leads nowhere, a link to itself, a folder, a pipe, a socket or a device under the name of a record
stands for nothing that a run could use. Opening some of these waits or reads for ever, so a file is looked at
before it is read.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

OBSTRUCTED = (errno.EEXIST, errno.ENOTDIR, errno.ELOOP, errno.EISDIR)
"""What the system says when something else lies where a file or folder should be."""


class Obstacle(OSError):
    """Something that is no file lies where one should be; `strerror` says what."""

    def __init__(self, path: str | Path, found: str) -> None:
        super().__init__(errno.EINVAL, f"it is {found}, and a file is needed", str(path))
        self.found = found


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading, unbuffered; raises `Obstacle` for what is none, and never waits for a pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        found = what_is(path)
        if found is None or error.errno in (errno.EACCES, errno.EPERM):
            raise
        raise Obstacle(path, found) from None
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb", buffering=0)
    os.close(handle)
    raise Obstacle(path, what_is(path) or "something else")


def what_is(path: str | Path) -> str | None:
    """Say what lies at a path if it is no file; None for a file and for nothing."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except OSError as error:
            return (
                "a link that leads to itself" if error.errno == errno.ELOOP else "a link that leads nowhere"
            )
    if stat.S_ISREG(mode):
        return None
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def make_folder(root: Path, name: str) -> list[tuple[str, str]]:
    """Make a folder below a root; returns what lay in its way and was moved aside, as (name, what it is)."""
    folder = root / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno not in OBSTRUCTED:
            raise
    else:
        return []
    moved = []
    parts = Path(name).parts
    for length in range(1, len(parts) + 1):
        part = Path(*parts[:length])
        found = what_is(root / part) or ("a file" if os.path.lexists(root / part) else None)
        if found not in (None, "a folder"):
            set_aside(root, part.as_posix())
            moved.append((part.as_posix(), found))
    folder.mkdir(parents=True, exist_ok=True)
    return moved


def set_aside(root: Path, name: str) -> bool:
    """Move what lies under a name to `quarantine/`; says whether there was anything."""
    aside = f"{Path(name).stem}-{time.time_ns()}"
    place = root / "quarantine"
    if not place.is_dir() and os.path.lexists(place):
        # Even that folder's own name may be taken.
        place.rename(root / f".{aside}")
        place.mkdir()
        (root / f".{aside}").rename(place / aside)
        if name == "quarantine":
            return True
    (place / aside).mkdir(parents=True)
    try:
        (root / name).rename(place / aside / Path(name).name)
    except FileNotFoundError:
        return False
    return True
