"""Descriptors of files and folders below a root, got one component at a time and without following links.

What was looked at is what is opened, whatever others put under the names meanwhile. A link at the root itself
is followed. So is one to a folder directly below it, such as `data` on a larger disk, if the user or root
made it and nobody else may write where it lies. Every other link is an obstacle. So is a folder, a pipe, a
socket or a device in the place of a file: it is found without waiting, and moved aside.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.ownership import ROOT, is_own_group, user_name

_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_REFUSED = (errno.EACCES, errno.EPERM)

KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link, which is not followed",
}


class Obstacle(OSError):
    """What is not to be read lies where a file should be; `problem` and `strerror` say what, and where."""

    def __init__(self, path: str, found: str, needed: str = "a file") -> None:
        self.found, self.problem = found, f"{path} is {found}, and {needed} is needed"
        super().__init__(errno.EINVAL, self.problem, path)


class NoFolder(Obstacle):
    """Something else lies where a folder should be."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found, "a folder")


class ForeignLink(RequestError):
    """A link to a folder of the cache that somebody else made, or can exchange."""


def enter(root: str | Path, name: str) -> int:
    """Return a descriptor of a folder below a root, or of the root; whoever asks closes it.

    Raises `NoFolder`, `ForeignLink` for a link directly below the root, and OSError.
    """
    folder = os.open(root, _FOLDER)
    path = os.fspath(root)
    for depth, part in enumerate(part for part in name.split("/") if part not in ("", ".")):
        path = f"{path}/{part}"
        try:
            inner = _step(folder, part, path, first=depth == 0)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _step(folder: int, part: str, path: str, *, first: bool) -> int:
    if part == "..":
        raise NoFolder(path, "the way out")
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        error.filename = path
        found = kind_at(folder, part)
        if found in (None, "a folder") or error.errno in _REFUSED:
            raise
        if not first or found != KINDS[stat.S_IFLNK]:
            raise NoFolder(path, found or "") from None
    try:
        inner = os.open(part, _FOLDER, dir_fd=folder)
    except OSError:
        raise NoFolder(path, "a link that leads to no folder") from None
    problem = _why_not_followed(folder, part)
    if problem is None:
        return inner
    os.close(inner)
    raise ForeignLink(
        f"{path} is a link, and it is not followed: {problem}",
        hint="put a folder in its place, or name the cache itself by a link",
    )


def _why_not_followed(folder: int, part: str) -> str | None:
    link, place = os.stat(part, dir_fd=folder, follow_symlinks=False), os.fstat(folder)
    mine = (ROOT, os.geteuid())
    if link.st_uid not in mine:
        return f"{user_name(link.st_uid)} made it"
    if place.st_uid not in mine:
        return f"{user_name(place.st_uid)} can exchange it"
    by_group = place.st_mode & stat.S_IWGRP and not is_own_group(place.st_gid)
    return "others can exchange it" if by_group or place.st_mode & stat.S_IWOTH else None


def kind_of(found: os.stat_result) -> str:
    """Say what a `stat` is of."""
    return KINDS.get(stat.S_IFMT(found.st_mode), "a device")


def kind_at(folder: int | None, name: str | Path) -> str | None:
    """Say what lies under a name in a folder, or at a path; None for nothing."""
    try:
        return kind_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except OSError:
        return None


def what_is(path: str | Path) -> str | None:
    """Say what lies at a path if it is no file; None for a file and for nothing."""
    found = kind_at(None, path)
    return None if found == "a file" else found


def open_regular(root: str | Path, name: str) -> int:
    """Return a descriptor of a regular file below a root; raises `Obstacle` for what is none, and OSError."""
    before, _, last = name.rpartition("/")
    path = f"{root}/{name}"
    folder = enter(root, before)
    try:
        handle = os.open(last, _FILE, dir_fd=folder)
    except OSError as error:
        error.filename = path
        found = kind_at(folder, last)
        if found in (None, "a file") or error.errno in _REFUSED:
            raise
        raise Obstacle(path, found or "") from None
    finally:
        os.close(folder)
    found = kind_of(os.fstat(handle))
    if found == "a file":
        return handle
    os.close(handle)
    raise Obstacle(path, found)


def create(root: str | Path, name: str) -> int:
    """Return a descriptor of a new file below a root, to be written; raises OSError, also if it is there."""
    before, _, last = name.rpartition("/")
    folder = enter(root, before)
    try:
        return os.open(last, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        error.filename = f"{root}/{name}"
        raise
    finally:
        os.close(folder)


def make_folder(root: Path, name: str) -> list[tuple[str, str]]:
    """Make a folder below a root; returns what lay in its way and was moved aside, as (name, what it is).

    Raises `ForeignLink` for a link that is not to be followed, and OSError.
    """
    moved: list[tuple[str, str]] = []
    root.mkdir(parents=True, exist_ok=True)
    parts = Path(name).parts
    for length in range(1, len(parts) + 1):
        part = "/".join(parts[:length])
        try:
            os.close(enter(root, part))
            continue
        except FileNotFoundError:
            pass
        except NoFolder as obstacle:
            set_aside(root, part)
            moved.append((part, obstacle.found))
        above = enter(root, "/".join(parts[: length - 1]))
        try:
            with suppress(FileExistsError):  # another was faster, and what it made is looked at next
                os.mkdir(parts[length - 1], dir_fd=above)
        finally:
            os.close(above)
        os.close(enter(root, part))
    return moved


def set_aside(root: Path, name: str) -> None:
    """Move what lies under a name, if anything does, to `quarantine/`."""
    aside = f"{Path(name).stem}-{time.time_ns()}"
    place = root / "quarantine"
    try:
        os.close(enter(root, "quarantine"))
    except FileNotFoundError:
        place.mkdir()
    except NoFolder:
        # Even that folder's own name may be taken.
        place.rename(root / f".{aside}")
        place.mkdir()
        (root / f".{aside}").rename(place / aside)
        if name == "quarantine":
            return
    (place / aside).mkdir(parents=True)
    with suppress(FileNotFoundError):
        (root / name).rename(place / aside / Path(name).name)
