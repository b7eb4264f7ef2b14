"""Opening what lies below a root by its name: the one way to read what a disk names.

No link is followed (`gravel.pipeline.store.descriptors`). What is read is a regular file of the user, of
root, of whom the root belongs to, or, in a cache that a group shares, of that group; and it is no larger than
expected. All of that is asked of the opened file, before anything of it is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gravel.pipeline.store.descriptors import NoFolder, Obstacle, enter, kind_at, kind_of, open_regular
from gravel.pipeline.store.ownership import ROOT, user_name
from gravel.pipeline.store.sharing import sharing_of

MAX_RECORD_BYTES = 64 << 20
"""Of a record, and of all metadata of an artifact: enough for the checksums of some TiB."""

MAX_LOG_BYTES = 256 << 20
"""Of the log of a run, of a stage run, and of a page."""


class Foreign(Obstacle):
    """A file that somebody put there who has no part in the cache."""

    def __init__(self, path: str, owner: str) -> None:
        super().__init__(path, f"a file of {owner}", "one of the cache's owner")
        self.owner = owner


def open_file(root: str | Path, name: str, most: int | None = None) -> BinaryIO:
    """Open a file below a root for reading, unbuffered; `most` are the bytes that it may have.

    Raises `Obstacle` for what is not to be read, and OSError. Never waits for a pipe.
    """
    handle = open_regular(root, name)
    try:
        found = os.fstat(handle)
        if found.st_uid not in (os.geteuid(), ROOT) and not _belongs(Path(root), found):
            raise Foreign(f"{root}/{name}", user_name(found.st_uid))
        if most is not None and found.st_size > most:
            raise Obstacle(f"{root}/{name}", f"a file of {found.st_size:,} bytes", f"one of at most {most:,}")
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb", buffering=0)


def _belongs(root: Path, found: os.stat_result) -> bool:
    from gravel.pipeline.store.sharing import is_trusted  # seldom asked, and not loaded otherwise

    if found.st_uid == root.stat().st_uid:
        return True
    shared = sharing_of(root)
    return (shared is not None and found.st_gid == shared.group) or is_trusted(root)


def read_file(root: str | Path, name: str, most: int | None = MAX_RECORD_BYTES) -> bytes:
    """Return what a file below a root holds; raises as `open_file` does."""
    with open_file(root, name, most) as file:
        return read_whole(file)


def read_whole(file: BinaryIO) -> bytes:
    """Read a file that was just opened, as long as it was then."""
    size = os.fstat(file.fileno()).st_size
    text = file.read(size)
    while len(text) < size and (more := file.read(size - len(text))):
        text += more
    return text


def names_in(root: str | Path, name: str) -> list[str]:
    """List a folder below a root, in order; raises `NoFolder` and OSError."""
    with entered(root, name) as folder:
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return sorted(os.listdir(listed))  # noqa: PTH208 (a descriptor)
    finally:
        os.close(listed)


@contextmanager
def entered(root: str | Path, name: str) -> Iterator[int]:
    """Give a descriptor of a folder below a root for as long as the block runs."""
    folder = enter(root, name)
    try:
        yield folder
    finally:
        os.close(folder)


def stated(root: str | Path, name: str) -> os.stat_result | None:
    """Return the `stat` of a regular file below a root, unopened, or None if there is none to be read."""
    before, _, last = name.rpartition("/")
    try:
        with entered(root, before) as folder:
            found = os.stat(last, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def find_missing(root: str | Path, name: str, files: Iterable[tuple[str, int]]) -> str | None:
    """Say which of the files of a folder, given with their sizes, is not there as it should be."""
    folders = {""}
    path = name
    try:
        with entered(root, name) as folder:
            for path, size in files:
                before = path.rpartition("/")[0]
                if before not in folders:
                    _check_folders(folder, before, folders)
                found = os.stat(path, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(found.st_mode):
                    return f"{path} is {kind_of(found)}, and no file"
                if found.st_size != size:
                    return f"{path} has {found.st_size:,} bytes and should have {size:,}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    return None


def _check_folders(folder: int, name: str, known: set[str]) -> None:
    """Add a folder and those above it to the known ones; raises `NoFolder` for what is none."""
    parts = name.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        if part not in known:
            if not stat.S_ISDIR(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                raise NoFolder(part, kind_at(folder, part) or "gone")
            known.add(part)
