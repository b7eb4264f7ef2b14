"""The folder of compiled kernels: one file an entry, and none that somebody else could have written.

Loading an entry runs its code. So the folder and its files must belong to this user, and only this user may
be able to write them. They are opened through one descriptor of the folder that was checked. Entries appear
whole, under the digest of what they were compiled from; two processes that make the same one agree. Nothing
here raises for a folder or file that cannot be used: kernels are compiled again then.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "GRAVEL_COMPILED"
MARK = b"gravel compiled 1\n"
UNUSED_SECONDS = 30 * 86400.0
"""Entries that nobody has used for so long are old."""

TEMPORARY_SECONDS = 3600.0
"""After so long a file that is still temporary has no living writer."""

MAKING_SECONDS = 60.0
"""No kernel takes so long to compile: whoever waits for another process then compiles it, too."""

_PAUSE = 0.01
_USED_SECONDS = 86400.0
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DIGEST = hashlib.sha256().digest_size


def folder_path() -> Path:
    """Where compiled kernels of this user are; raises RuntimeError without a home."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "gravel" / "compiled"


class UnsafeFolder(OSError):
    """A folder that others own or may write."""


@dataclass
class Collection:
    """What `Folder.collect` found."""

    entries: int = 0
    bytes: int = 0
    kept: int = 0
    kept_bytes: int = 0


class Folder:
    """An open folder of entries."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open it, made first where `create` asks for that; raises OSError where it cannot be used."""
        self.path = path
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if fault := _fault(os.fstat(self._folder)):
            os.close(self._folder)
            raise UnsafeFolder(f"{path} {fault}")

    def close(self) -> None:
        """Close it."""
        os.close(self._folder)

    def read(self, name: str) -> bytes | None:
        """Return an entry; None if there is none, or it is damaged, or others may have written it."""
        try:
            file = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._folder
            )
        except OSError:
            return None
        try:
            facts = os.fstat(file)
            if not stat.S_ISREG(facts.st_mode) or _fault(facts):
                return None
            text = _read_all(file)
            if time.time() - facts.st_mtime > _USED_SECONDS:
                with suppress(OSError):
                    os.utime(file)
        except OSError:
            return None
        finally:
            os.close(file)
        start = len(MARK) + _DIGEST
        content = text[start:]
        if text[:start] != MARK + hashlib.sha256(content).digest():
            return None
        return content

    def write(self, name: str, content: bytes) -> bool:
        """Let an entry appear; say whether it could be written."""
        temporary = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            file = os.open(temporary, flags, 0o600, dir_fd=self._folder)
        except OSError:
            return False
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(MARK + hashlib.sha256(content).digest() + content)
            os.replace(temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._folder)
            return False
        return True

    @contextmanager
    def announce(self, name: str) -> Iterator[None]:
        """Say, while this lasts, that the entry is being made here: others may `wait_for` it."""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(f".{name}.making", flags, 0o600, dir_fd=self._folder)
        except OSError:
            yield
            return
        try:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            with suppress(OSError):
                os.unlink(f".{name}.making", dir_fd=self._folder)
            os.close(file)

    def wait_for(self, name: str, seconds: float = MAKING_SECONDS) -> bool:
        """Wait until another process that makes the entry has made it, or died; False if none does."""
        try:
            file = os.open(f".{name}.making", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._folder)
        except OSError:
            return False
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    time.sleep(_PAUSE)
                else:
                    break
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    def collect(self, *, unused: float = UNUSED_SECONDS, delete: bool) -> Collection:
        """Find, and with `delete` remove, entries that were unused for so many seconds."""
        now, found = time.time(), Collection()
        for name in os.listdir(self._folder):  # noqa: PTH208 (of a descriptor)
            try:
                facts = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                limit = min(unused, TEMPORARY_SECONDS) if name.startswith(".") else unused
                # What `read` marks as used once a day may have been used since.
                old = now - facts.st_mtime > max(limit, _USED_SECONDS if not name.startswith(".") else 0.0)
                if not stat.S_ISREG(facts.st_mode):
                    continue
                if old and delete:
                    os.unlink(name, dir_fd=self._folder)
            except OSError:
                continue
            if old:
                found.entries, found.bytes = found.entries + 1, found.bytes + facts.st_size
            else:
                found.kept, found.kept_bytes = found.kept + 1, found.kept_bytes + facts.st_size
        return found


def _read_all(file: int) -> bytes:
    with os.fdopen(file, "rb", closefd=False) as opened:
        return opened.read()


def _fault(facts: os.stat_result) -> str | None:
    """Say why code from a file or folder is not run, if so."""
    if facts.st_uid != os.geteuid():
        return f"belongs to user {facts.st_uid}, and this is user {os.geteuid()}"
    if facts.st_mode & _OTHERS:
        return f"may be written by others (mode {stat.S_IMODE(facts.st_mode):o}); chmod go-w it"
    return None
