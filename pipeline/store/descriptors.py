"""Descriptors of files and folders below a root, got one component at a time and without following links.

What was looked at is what is opened, whatever others put under the names meanwhile. A link at the root itself
is followed. So is one to a folder directly below it, such as `data` on a larger disk, if the user or root
made it and nobody else may write where it lies. Every other link is an obstacle.
"""

from __future__ import annotations

import errno
import os
import stat
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


def kind_at(folder: int, name: str) -> str | None:
    """Say what lies under a name in a folder, or return None for nothing."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return None
    return KINDS.get(stat.S_IFMT(mode), "a device")


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
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    raise Obstacle(path, KINDS.get(stat.S_IFMT(mode), "a device"))


def create(root: str | Path, name: str, mode: int = 0o666) -> int:
    """Return a descriptor of a new file below a root, to be written; raises OSError, also if it is there."""
    before, _, last = name.rpartition("/")
    folder = enter(root, before)
    try:
        return os.open(last, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError as error:
        error.filename = f"{root}/{name}"
        raise
    finally:
        os.close(folder)
