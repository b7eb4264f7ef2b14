"""Where results come from or go to besides this cache: another cache's folder, or an object store.

Both hold the same names: `recipes/<digest>.json`, `artifacts/<id>.json`, `data/<uuid>/...` and
`runs/<run>/...`. Whoever writes there writes a name after everything that it leads to, so that a network
that fails at any moment leaves only whole results. Importing this costs no object-store library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.store.descriptors import ForeignLink, Obstacle
from gravel.pipeline.store.opening import names_in, open_file, read_file
from gravel.stages.addresses import OBJECT_STORES
from gravel.stages.urls import shown

T = TypeVar("T")

READ_BYTES = 1 << 20


class RemoteError(GravelError):
    """A remote store that cannot be reached or does not do what was asked of it."""


class FaultySource(GravelError):
    """Something that the place it is copied from does not hold whole, or not as a thing to be read."""


class Source(Protocol):
    """What results can be copied from.

    Every method raises `RemoteError` for a store that fails, and `FaultySource` for a thing that is not to
    be read: of another kind than a file, or larger than it may be.
    """

    where: str  # as a person names it

    def get(self, name: str) -> bytes | None:
        """Return an object of at most `MAX_RECORD_BYTES` whole, or None if there is none."""

    def read(self, name: str, most: int) -> Iterator[bytes] | None:
        """Return the pieces of an object of at most so many bytes, or None if there is none."""

    def names(self, folder: str) -> list[str]:
        """List the entries directly below a folder, in order."""


class Target(Source, Protocol):
    """An object store that can be written."""

    def below(self, folder: str) -> dict[str, int]:
        """Return the bytes of each object below a folder, by its path from there."""

    def put(self, name: str, data: bytes | bytearray) -> None:
        """Write an object whole, in place of an older one."""

    def create(self, name: str, data: bytes) -> bool:
        """Write an object only if there is none; says whether it did."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects."""


class Folder:
    """Another cache's folder, to be copied from."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.where = str(root)

    def get(self, name: str) -> bytes | None:
        """Return a small file whole, or None if there is none."""
        return self._ask(lambda: read_file(self.root, name))

    def read(self, name: str, most: int) -> Iterator[bytes] | None:
        """Return the pieces of a file of at most so many bytes, or None if there is none."""
        file = self._ask(lambda: open_file(self.root, name, most))
        return None if file is None else self._pieces(file)

    def _pieces(self, file: BinaryIO) -> Iterator[bytes]:
        with file:
            while piece := self._ask(lambda: file.read(READ_BYTES)):
                yield piece

    def names(self, folder: str) -> list[str]:
        """List the entries of a folder, without temporary ones."""
        found = self._ask(lambda: names_in(self.root, folder)) or []
        return [name for name in found if not name.startswith(".")]

    def _ask(self, action: Callable[[], T]) -> T | None:
        """Do something with a file; None if there is none."""
        try:
            return action()
        except FileNotFoundError:
            return None
        except ForeignLink as error:
            raise FaultySource(str(error)) from error
        except Obstacle as error:
            raise FaultySource(error.problem) from error
        except OSError as error:
            kind = FaultySource if isinstance(error, PermissionError) else RemoteError
            raise kind(f"cannot read {error.filename or self.root}: {error.strerror}") from error


def get_if_sound(target: Target, name: str) -> bytes | None:
    """Return a small object that may be replaced: one that is not to be read counts as none."""
    try:
        return target.get(name)
    except FaultySource:
        return None


def is_url(text: str) -> bool:
    """Say whether a cache is named by a URL rather than a path."""
    return "://" in text


def check_url(url: str) -> str:
    """Return the URL of a remote cache in its one form; raises `RequestError` for one that is none."""
    scheme, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme.lower() not in OBJECT_STORES:
        raise RequestError(
            f"{shown(url)} is no cache: {scheme}:// is not served, s3://, gs:// and az:// are",
            hint="write s3://bucket/prefix, or a folder's path",
        )
    if not bucket or any(sign in rest for sign in "?#@") or ".." in prefix.split("/"):
        raise RequestError(
            f"{shown(url)} names no bucket and prefix", hint=f"write {scheme.lower()}://bucket/prefix"
        )
    prefix = "/".join(part for part in prefix.split("/") if part)
    return f"{scheme.lower()}://{bucket}/{prefix}".rstrip("/")
