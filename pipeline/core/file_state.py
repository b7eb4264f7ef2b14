"""What shows that a file changed: device, inode, size, and the times of writing and of change.

A program may set the time of writing (mtime) as it likes, as `rsync -t`, `tar` and `touch -r` do; the time of
change (ctime) is set by the system alone, at every write. That holds on file systems of this machine; one of
another machine or in user space answers from its own memory, and there nothing but the content tells.
"""

from __future__ import annotations

import os
from pathlib import Path

from gravel.pipeline.core.file_systems import file_system

__all__ = ["TRUSTED_VARIABLE", "shows_every_change", "state_of"]

TRUSTED = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)
"""Kinds of file systems that set the time of change of each write, and tell it at once."""

TRUSTED_VARIABLE = "GRAVEL_TRUSTED_FILE_SYSTEMS"
"""Names further kinds, separated by commas, as /proc/self/mounts has them."""

RACY_WRITE = 2.0
"""A file written this shortly (seconds) before it was read may still be at work."""
RACY_CHANGE = 0.1
"""Times of change come from the clock's tick, 10 ms at most; two changes within one look the same."""


def state_of(found: os.stat_result) -> list[int]:
    """Return what stands for the content of a file while it stays the same, as git's index has it."""
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def shows_every_change(path: str, found: os.stat_result, now: float) -> bool:
    """Say whether the state of a file, asked for at `now`, changes with every change of its content."""
    changed, written = found.st_ctime_ns, found.st_mtime_ns
    # Whole seconds in both: a file system that keeps no finer time.
    coarse = changed % 1_000_000_000 == 0 and written % 1_000_000_000 == 0
    racy = RACY_WRITE if coarse else RACY_CHANGE
    if changed <= 0 or changed >= (now - racy) * 1e9 or written >= (now - RACY_WRITE) * 1e9:
        return False
    more = {name.strip() for name in os.environ.get(TRUSTED_VARIABLE, "").split(",")}
    return file_system(Path(path)) in TRUSTED | more
