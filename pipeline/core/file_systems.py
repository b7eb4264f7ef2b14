"""The kinds of file systems."""

from __future__ import annotations

from pathlib import Path

IN_MEMORY = ("tmpfs", "ramfs")


def file_system(path: Path) -> str | None:
    """Return the kind of file system that a path is on, as the kernel lists it; None if it is not known."""
    import psutil

    real = path.resolve()
    try:
        mounts = psutil.disk_partitions(all=True)
    except OSError:
        return None
    around = [each for each in mounts if real.is_relative_to(each.mountpoint)]
    # The last of several on one place hides the others.
    nearest = max(reversed(around), key=lambda each: len(each.mountpoint), default=None)
    return None if nearest is None else str(nearest.fstype)
