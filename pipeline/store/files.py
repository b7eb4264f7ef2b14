"""The few operations that the cache asks of its place, for a local folder.

Nothing else of the cache touches the place's names directly, so that an object store, which has no rename,
can offer the same: create-if-absent and replace are single atomic operations on whole objects.
"""

from __future__ import annotations

import errno
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.failures import ReadOnly, explain_read, storage_errors
from gravel.pipeline.store.obstacles import Obstacle, make_folder, open_regular, set_aside, what_is
from gravel.pipeline.store.sharing import OWN_FOLDERS, keep_own

__all__ = ["LocalFiles", "storage_errors", "sync_file", "sync_folder"]

OWN_PREFIXES = tuple(f"{name}/" for name in OWN_FOLDERS)

Obstructed = Callable[[str, str], None]
Say = Callable[[str], None]


class LocalFiles:
    """Files below a root, named by paths relative to it.

    What is no folder where one is needed is moved to `quarantine/`, and `say` gets a sentence. What is no
    file where one is read is left to `obstructed`, given its name and a sentence; else it is moved, too.
    """

    def __init__(
        self, root: Path, say: Say = lambda message: None, obstructed: Obstructed | None = None
    ) -> None:
        self.root = root
        self._say = say
        self._obstructed = obstructed or self._clear

    def read(self, name: str) -> tuple[bytes, float] | None:
        """Return a whole file and when it was last touched, or None if there is none.

        Raises `GravelError` for a file that is there and cannot be read, or that another user put there.
        """
        path = f"{self.root}/{name}"
        try:
            with open_regular(path) as file:
                found = os.fstat(file.fileno())
                if found.st_uid not in (os.geteuid(), 0):
                    self._check_owner(name, found)
                return file.read(), found.st_mtime
        except Obstacle as obstacle:
            self._obstructed(name, f"{path} is {obstacle.found}, and a file is needed")
            return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None  # a folder on the way is no folder, and is moved when something is written
            raise explain_read(error, Path(path)) from error

    def _clear(self, name: str, problem: str) -> None:
        try:
            with storage_errors(self.root):
                set_aside(self.root, name)
        except ReadOnly:
            return  # what stands for nothing may stay

    def folder(self, name: str) -> Path:
        """Make a folder if it is not there, moving what is in its way aside, and return its path."""
        with storage_errors(self.root):
            self._make_folder(name)
        return self.root / name

    def _make_folder(self, name: str) -> None:
        for part, found in make_folder(self.root, name):
            self._say(f"{self.root / part} was {found}; it is moved to quarantine, and a folder made there")

    def _check_owner(self, name: str, found: os.stat_result) -> None:
        """Refuse a file that is neither of whom the folder belongs to nor of the group that shares it."""
        from gravel.pipeline.store.ownership import user_name
        from gravel.pipeline.store.sharing import sharing_of
        from gravel.pipeline.store.trusted import VARIABLE, is_trusted

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
        created = self.draft(name, text, durable=True).create()
        if created:
            with storage_errors(self.root):
                sync_folder((self.root / name).parent)
        return created

    def replace(self, name: str, text: bytes, *, durable: bool = True) -> None:
        """Write a file whole, in place of an older one if there is one."""
        self.draft(name, text, durable=durable).replace()
        if durable:
            with storage_errors(self.root):
                sync_folder((self.root / name).parent)

    def draft(self, name: str, text: bytes, *, durable: bool = False) -> Draft:
        """Write a file whole beside its name, so that one step puts it there."""
        target = self.root / name
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        with storage_errors(self.root, len(text)):
            self._make_folder(Path(name).parent.as_posix())
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
        return Draft(self.root, name, temporary, self._obstructed)

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
            self._make_folder(Path(to).parent.as_posix())
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
        except OSError as error:
            return self._listless(folder, error)

    def names(self, folder: str, suffix: str = "") -> list[str]:
        """List the entries of a folder that end so, without temporary ones, in order; empty without it."""
        try:
            entries = os.listdir(self.root / folder)  # noqa: PTH208 (names are all that is wanted)
        except OSError as error:
            return self._listless(folder, error)
        return sorted(name for name in entries if name.endswith(suffix) and not name.startswith("."))

    def _listless(self, folder: str, error: OSError) -> list[str]:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return []
        raise explain_read(error, self.root / folder) from error


@dataclass(frozen=True)
class Draft:
    """A file that is written and has not its name yet."""

    root: Path
    name: str
    temporary: Path
    obstructed: Obstructed

    def create(self) -> bool:
        """Give it its name if nothing has that; says whether it did. The draft is gone either way."""
        with storage_errors(self.root):
            try:
                while not self._link():
                    found = what_is(self.root / self.name)
                    if found is None:
                        return False
                    self.obstructed(self.name, f"{self.root / self.name} is {found}, and a file is needed")
                    if what_is(self.root / self.name) is not None:
                        set_aside(self.root, self.name)
            finally:
                self.drop()
        return True

    def _link(self) -> bool:
        try:
            os.link(self.temporary, self.root / self.name)
        except FileExistsError:
            return False
        return True

    def replace(self) -> None:
        """Give it its name, in place of whatever has that."""
        with storage_errors(self.root):
            try:
                self.temporary.replace(self.root / self.name)
            except IsADirectoryError:
                set_aside(self.root, self.name)
                self.temporary.replace(self.root / self.name)

    def drop(self) -> None:
        """Remove it."""
        self.temporary.unlink(missing_ok=True)


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
