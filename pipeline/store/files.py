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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.descriptors import (
    NoFolder,
    Obstacle,
    create,
    enter,
    kind_at,
    make_folder,
    set_aside,
    what_is,
)
from gravel.pipeline.store.failures import ReadOnly, explain_read, storage_errors
from gravel.pipeline.store.opening import (
    MAX_RECORD_BYTES,
    Foreign,
    entered,
    names_in,
    open_file,
    read_whole,
    stated,
)
from gravel.pipeline.store.ownership import user_name
from gravel.pipeline.store.sharing import OWN_FOLDERS, keep_own

OWN_PREFIXES = tuple(f"{name}/" for name in OWN_FOLDERS)

TEMPORARY_AGE = 3600.0
"""Seconds after which a small file that is still temporary has no living writer."""

Obstructed = Callable[[str, str], None]


class LocalFiles:
    """Files below a root, named by paths relative to it.

    What is no folder where one is needed is moved to `quarantine/`, and `say` gets a sentence. What is no
    file where one is read is left to `obstructed`, given its name and a sentence; else it is moved, too.
    """

    def __init__(
        self,
        root: Path,
        say: Callable[[str], None] = lambda message: None,
        obstructed: Obstructed | None = None,
    ) -> None:
        self.root = root
        self._say = say
        self._obstructed = obstructed or self._clear

    def read(self, name: str) -> tuple[bytes, float] | None:
        """Return a whole file of a record's size and when it was last touched, or None if there is none.

        Raises `GravelError` for a file that is there and cannot be read, or that another user put there.
        """
        try:
            with open_file(self.root, name, MAX_RECORD_BYTES) as file:
                return read_whole(file), os.fstat(file.fileno()).st_mtime
        except Foreign as foreign:
            from gravel.pipeline.store.sharing import VARIABLE

            raise RequestError(
                f"{self.root / name} belongs to {foreign.owner}, and the cache to "
                f"{user_name(self.root.stat().st_uid)}: it is not used",
                hint="remove it; or, if you trust what is there: "
                f"gravel cache trust {self.root} (or {VARIABLE})",
            ) from None
        except (FileNotFoundError, NotADirectoryError, NoFolder):
            return None  # what lies in the place of a folder is moved when something is written
        except Obstacle as obstacle:
            self._obstructed(name, obstacle.problem)
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None  # the root is no folder
            raise explain_read(error, self.root / name) from error

    def _clear(self, name: str, problem: str) -> None:
        # What stands for nothing may stay where it cannot be moved.
        with suppress(ReadOnly), storage_errors(self.root):
            set_aside(self.root, name)

    def folder(self, name: str) -> None:
        """Make a folder if it is not there, moving what is in its way aside."""
        with storage_errors(self.root):
            moved = make_folder(self.root, name)
        for part, found in moved:
            self._say(f"{self.root / part} was {found}; it is moved to quarantine, and a folder made there")

    def create(self, name: str, text: bytes) -> bool:
        """Write a file whole, durably and only if it does not exist; says whether it did."""
        created = self.draft(name, text, durable=True).create()
        if created:
            self.sync_name(name)
        return created

    def replace(self, name: str, text: bytes, *, durable: bool = True) -> None:
        """Write a file whole, in place of an older one if there is one."""
        self.draft(name, text, durable=durable).replace()
        if durable:
            self.sync_name(name)

    def sync_name(self, name: str) -> None:
        """Wait until the name of a file is on the disk."""
        with storage_errors(self.root):
            sync_folder((self.root / name).parent)

    def draft(self, name: str, text: bytes, *, durable: bool = False) -> Draft:
        """Write a file whole beside its name, so that one step puts it there."""
        target = self.root / name
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        with storage_errors(self.root, len(text)):
            parent = Path(name).parent.as_posix()
            self.folder(parent)
            try:
                with os.fdopen(create(self.root, f"{parent}/{temporary.name}"), "wb") as file:
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
        with suppress(OSError):
            os.utime(self.root / name, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Remove a file or a whole folder, if it is there."""
        before, _, last = name.rpartition("/")
        if last in ("", ".", ".."):
            return
        gone = (FileNotFoundError, NoFolder)
        with storage_errors(self.root), suppress(*gone), entered(self.root, before) as folder:
            if kind_at(folder, last) == "a folder":
                import shutil

                shutil.rmtree(last, dir_fd=folder)
            else:
                os.unlink(last, dir_fd=folder)

    def size(self, name: str) -> int:
        """Return the bytes of all files below a folder; 0 if there is none."""
        total = 0
        for path in (self.root / name).rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    total += path.stat().st_size
        return total

    def move(self, name: str, to: str) -> bool:
        """Move a file or folder to another name; says whether there was one."""
        target = self.root / to
        with storage_errors(self.root):
            self.folder(Path(to).parent.as_posix())
            try:
                os.close(enter(self.root, name.rpartition("/")[0]))
                (self.root / name).rename(target)
            except (FileNotFoundError, NoFolder):
                return False
        return True

    def leavings(self, folder: str) -> list[str]:
        """List the temporary files of a folder that dead writers left."""
        limit = time.time() - TEMPORARY_AGE
        hidden = [f"{folder}/{name}" for name in self._entries(folder) if name.startswith(".")]
        return [name for name in hidden if (found := stated(self.root, name)) and found.st_mtime < limit]

    def names(self, folder: str, suffix: str = "") -> list[str]:
        """List the entries of a folder that end so, without temporary ones, in order; empty without it."""
        return [name for name in self._entries(folder) if name.endswith(suffix) and not name.startswith(".")]

    def _entries(self, folder: str) -> list[str]:
        try:
            return names_in(self.root, folder)
        except OSError as error:
            if isinstance(error, NoFolder) or error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
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
        target = self.root / self.name
        with storage_errors(self.root):
            try:
                while True:
                    with suppress(FileExistsError):
                        os.link(self.temporary, target)
                        return True
                    if (found := what_is(target)) is None:
                        return False
                    self.obstructed(self.name, f"{target} is {found}, and a file is needed")
                    if what_is(target) is not None:
                        set_aside(self.root, self.name)
            finally:
                self.drop()

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
