"""The few operations that the cache asks of its place, for a local folder.

Nothing else of the cache touches the place's names directly, so that an object store, which has no rename,
can offer the same: create-if-absent and replace are single atomic operations on whole objects.
"""

from __future__ import annotations

import errno
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pipeline.errors import GravelError, RequestError
from pipeline.store.sharing import OWN_FOLDERS, keep_own

OWN_PREFIXES = tuple(f"{name}/" for name in OWN_FOLDERS)


@contextmanager
def storage_errors(root: Path, needed: int | None = None) -> Iterator[None]:
    """Turn a full disk or a cache that cannot be written into an error that says so.

    Raises `GravelError` for a full disk or quota, with the path and the bytes wanted and free, and
    `RequestError` for a folder that is read-only or no folder at all.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise GravelError(
                _full(root, needed), hint="free space with `gravel cache gc`, or choose another with --cache"
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR):
            raise RequestError(
                f"cannot write to the cache {root}: {error.strerror} ({error.filename or root})",
                hint="make it writable, or choose another with --cache or GRAVEL_CACHE",
            ) from error
        raise


def _full(root: Path, needed: int | None) -> str:
    import shutil

    wanted = f"{needed:,} bytes were to be written" if needed else "more was to be written"
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    return (
        f"no space left for the cache {root}: {wanted}, {shutil.disk_usage(existing).free:,} bytes are free"
    )


class LocalFiles:
    """Files below a root, named by paths relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: str) -> tuple[bytes, float] | None:
        """Return a whole file and when it was last touched, or None if there is none.

        Raises RequestError for one that another user put there.
        """
        try:
            with open(self.root / name, "rb") as file:  # noqa: PTH123 (Path.open costs twice the time)
                found = os.fstat(file.fileno())
                if found.st_uid not in (os.geteuid(), 0):
                    self._check_owner(name, found)
                return file.read(), found.st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _check_owner(self, name: str, found: os.stat_result) -> None:
        """Refuse a file that is neither of whom the folder belongs to nor of the group that shares it."""
        from pipeline.store.ownership import user_name
        from pipeline.store.sharing import sharing_of
        from pipeline.store.trusted import VARIABLE, is_trusted

        folder = self.root.stat()
        if found.st_uid == folder.st_uid:
            return
        shared = sharing_of(self.root)
        if (shared is not None and found.st_gid == shared.group) or is_trusted(self.root):
            return
        raise RequestError(
            f"{self.root / name} belongs to {user_name(found.st_uid)}, and the cache to "
            f"{user_name(folder.st_uid)}: it is not used",
            hint=f"remove it; or, if you trust what is there: gravel cache trust {self.root} (or {VARIABLE})",
        )

    def create(self, name: str, text: bytes) -> bool:
        """Write a file whole, durably and only if it does not exist; says whether it did."""
        with storage_errors(self.root, len(text)):
            temporary = self._write_aside(name, text)
            try:
                os.link(temporary, self.root / name)
            except FileExistsError:
                return False
            finally:
                temporary.unlink()
            sync_folder((self.root / name).parent)
        return True

    def replace(self, name: str, text: bytes, *, durable: bool = True) -> None:
        """Write a file whole, in place of an older one if there is one."""
        with storage_errors(self.root, len(text)):
            temporary = self._write_aside(name, text, durable=durable)
            temporary.replace(self.root / name)
            if durable:
                sync_folder((self.root / name).parent)

    def _write_aside(self, name: str, text: bytes, *, durable: bool = True) -> Path:
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with temporary.open("wb") as file:
                if name.startswith(OWN_PREFIXES):
                    keep_own(self.root, temporary)
                file.write(text)
                if durable:
                    sync_file(file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def touch(self, name: str) -> None:
        """Mark a file as used now; a cache that cannot be written keeps its old mark."""
        try:
            os.utime(self.root / name)
        except OSError:
            return

    def remove(self, name: str) -> None:
        """Remove a file or a whole folder, if it is there."""
        target = self.root / name
        with storage_errors(self.root):
            if target.is_dir() and not target.is_symlink():
                import shutil

                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    def move(self, name: str, to: str) -> bool:
        """Move a file or folder to another name; says whether there was one."""
        target = self.root / to
        with storage_errors(self.root):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                (self.root / name).rename(target)
            except FileNotFoundError:
                return False
        return True

    def leavings(self, folder: str, age: float) -> list[str]:
        """List the temporary files of a folder that are older than `age` seconds."""
        try:
            with os.scandir(self.root / folder) as entries:
                old = [entry for entry in entries if entry.name.startswith(".") and entry.is_file()]
                limit = time.time() - age
                return [f"{folder}/{entry.name}" for entry in old if entry.stat().st_mtime < limit]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def names(self, folder: str, suffix: str = "") -> list[str]:
        """List the entries of a folder that end so, without temporary ones, in order; empty without it."""
        try:
            entries = os.listdir(self.root / folder)  # noqa: PTH208 (names are all that is wanted)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in entries if name.endswith(suffix) and not name.startswith("."))


def sync_file(file: BinaryIO) -> None:
    """Wait until a file's bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until a folder's entries are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
