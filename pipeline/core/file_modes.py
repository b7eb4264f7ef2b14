"""Who may read what gravel writes: the modes of new files, by the process's file mode creation mask.

A command begins with a mask by which only the user has what it makes (0600, 0700), whatever library writes
it, and passes it on to the processes that it starts. In a cache that a group shares, the group has it, too.
Files that the user names (exports, drawings) get the mask that the command was started with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE, GROUP, OTHERS_READ = 0o077, 0o007, 0o022

_given: int | None = None


@contextmanager
def private_files() -> Iterator[None]:
    """Keep what this process and its children write to the user; at the end, put the mask back."""
    global _given
    before, outer = os.umask(PRIVATE), _given
    _given = before
    try:
        yield
    finally:
        os.umask(before)
        _given = outer


def given_mask() -> int:
    """Return the mask that the command was started with; -1 for a process that has it still."""
    return -1 if _given is None else _given


def as_given(path: Path) -> None:
    """Give a file that the user asked for the mode that it would have had from any other program."""
    if _given is not None:
        path.chmod(0o666 & ~_given)


@contextmanager
def written_aside(path: Path, text: bytes, mode: int) -> Iterator[Path]:
    """Write a new file beside `path`, durably, to be renamed or linked to it within the block."""
    aside = path.with_name(f".{path.name}.{os.urandom(16).hex()}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield aside
    finally:
        aside.unlink(missing_ok=True)


def make_root(root: Path) -> None:
    """Make the folder of a cache if there is none, for the user alone."""
    if root.is_dir():
        return
    root.parent.mkdir(parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
