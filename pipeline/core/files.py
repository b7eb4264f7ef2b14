"""Files: where code and configuration are, modes, states that show a change, kinds of file systems."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
"""The folder `gravel`; in a checkout `pipeline`, `stages` and `kernels` in it are links."""

ROOT = PACKAGE.resolve().parent
"""The folder that holds it: the checkout, or where packages are installed."""


def config_folder() -> Path:
    """Return `$XDG_CONFIG_HOME/gravel`, else `~/.config/gravel`; it need not exist."""
    # As the XDG specification says, a relative path is ignored.
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".config"  # noqa: PTH117
    return root / "gravel"


def make_config_folder() -> Path:
    """Return the configuration folder, which is made for this user alone if there is none."""
    folder = config_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


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


def existing_folder(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(each for each in (folder, *folder.parents) if each.exists())


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
