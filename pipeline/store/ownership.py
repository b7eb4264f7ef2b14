"""Whether other users of the machine can write what a path leads to: who owns it and its folders, with which
modes.

A folder is safe if its owner is the effective user or root, and nobody else may write it. So must every
folder above it be, since whoever can write one of those can put another folder in its place; there, the
sticky bit (/tmp) is enough. That is what ssh asks of its files. The group that has a user's name and no other
member, which many systems give to all that the user makes, counts as the user.

Nothing is followed by name alone: links are checked as the folders that they stand in, and where they lead.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = 0


@dataclass(frozen=True)
class Unsafe:
    """What is wrong with a file or folder, in words, and the command that mends it, if there is one."""

    path: str
    problem: str
    command: str | None = None


def find_unsafe(
    root: Path, *, owners: Collection[int] = (), groups: Collection[int] = (), entries: bool = True
) -> Unsafe | None:
    """Return the first thing that lets another user change a folder, or None.

    `owners` and `groups` may write, too. With `entries`, what lies in the folder is looked at as well: what
    was put there while it was open to others. A folder that does not exist is as safe as those above it.
    """
    allowed = {ROOT, os.geteuid(), *owners}
    for folder in _above(root):
        if (found := _stat(folder)) and (unsafe := _unsafe(folder, found, allowed, groups, is_above=True)):
            return unsafe
    found = _stat(os.fspath(root))
    if found is None:
        return None
    unsafe = _unsafe(os.fspath(root), found, allowed, groups)
    if unsafe is not None or not entries or not stat.S_ISDIR(found.st_mode):
        return unsafe
    try:
        with os.scandir(root) as inside:
            for entry in inside:
                unsafe = _unsafe(entry.path, entry.stat(follow_symlinks=False), allowed, groups)
                if unsafe is None and entry.is_symlink():
                    unsafe = find_unsafe(Path(entry.path), owners=owners, groups=groups, entries=False)
                if unsafe is not None:
                    return unsafe
    except OSError:
        return None  # it cannot be read, which whoever reads it will see
    return None


def _unsafe(
    path: str,
    found: os.stat_result,
    allowed: Collection[int],
    groups: Collection[int],
    *,
    is_above: bool = False,
) -> Unsafe | None:
    """Return what is wrong with a file or folder, by its `stat`.

    What lies in the folder may belong to a group in `groups`; for a folder above it the sticky bit is enough.
    """
    is_allowed = found.st_uid in allowed or (
        _stands_for_root(found.st_uid) if is_above else found.st_gid in groups
    )
    if not is_allowed:
        return Unsafe(path, f"it belongs to {user_name(found.st_uid)}")
    kind = stat.S_IFMT(found.st_mode)
    is_harmless = found.st_mode & stat.S_ISVTX if is_above else kind in (stat.S_IFLNK, stat.S_IFSOCK)
    if is_harmless or not (writers := _writers(found, groups)):
        return None
    who = "o-w" if found.st_gid in groups else "go-w"
    return Unsafe(path, f"{writers} can write it", f"chmod {'' if is_above else '-R '}{who} {path}")


def _writers(found: os.stat_result, groups: Collection[int]) -> str:
    """Say who else may write, or return an empty text."""
    if found.st_mode & stat.S_IWOTH:
        return "every user"
    if found.st_mode & stat.S_IWGRP and found.st_gid not in groups and not is_own_group(found.st_gid):
        return f"the group {group_name(found.st_gid)}"
    return ""


def _above(root: Path) -> Iterator[str]:
    """Yield the folders above a path, as it is written and as links lead."""
    written = Path(os.path.abspath(root))  # noqa: PTH100 (links are kept)
    real = Path(os.path.realpath(root))
    yield from map(str, dict.fromkeys((*written.parents, *real.parents)))


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except OSError:
        return None


@lru_cache(maxsize=64)
def is_own_group(group: int) -> bool:
    """Say whether a group is that of the user alone: it has the user's name, and nobody else in it."""
    import grp
    import pwd

    try:
        found, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


@lru_cache(maxsize=64)
def _stands_for_root(user: int) -> bool:
    """Say whether a user is root by another number: in a container whose user namespace has no root.

    The system's own folders then belong to the number that stands for all users who have none there.
    """
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except (OSError, ValueError):
        return False
    return user == overflow and not any(int(first) == ROOT for first, *_ in ranges)


def user_name(user: int) -> str:
    """Return a user's name, or the number of one who has none here."""
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def group_name(group: int) -> str:
    """Return a group's name, or the number of one that has none here."""
    import grp

    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


def describe(path: str) -> str:
    """Say owner, group and mode of what is at a path."""
    found = _stat(path)
    if found is None:
        return "it is gone"
    mode = stat.S_IMODE(found.st_mode)
    return f"owner {user_name(found.st_uid)}, group {group_name(found.st_gid)}, mode {mode:04o}"
