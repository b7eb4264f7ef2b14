"""Where results come from or go to besides this cache: another cache's folder, or an object store.

Both hold the same names: `recipes/<digest>.json`, `artifacts/<id>.json`, `data/<uuid>/...` and
`runs/<run>/...`. Whoever writes there writes a name after everything that it leads to, so that a network
that fails at any moment leaves only whole results. Importing this costs no object-store library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.store.files import LocalFiles

SCHEMES = ("s3",)
READ_BYTES = 8 << 20


class RemoteError(GravelError):
    """A remote store that cannot be reached or does not do what was asked of it."""


class Source(Protocol):
    """What results can be copied from. Every method raises `RemoteError` for a store that fails."""

    where: str  # as a person names it

    def get(self, name: str) -> bytes | None:
        """Return a small object whole, or None if there is none."""

    def read(self, name: str) -> Iterator[bytes] | None:
        """Return the pieces of an object, or None if there is none."""

    def names(self, folder: str) -> list[str]:
        """List the entries directly below a folder, in order."""

    def below(self, folder: str) -> dict[str, int]:
        """Return the bytes of each object below a folder, by its path from there."""


class Target(Source, Protocol):
    """An object store that can be written."""

    def put(self, name: str, data: bytes) -> None:
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
        self._files = LocalFiles(root)

    def get(self, name: str) -> bytes | None:
        """Return a file whole, or None if there is none."""
        try:
            found = self._files.read(name)
        except OSError as error:
            raise _unreadable(self.root, error) from error
        return None if found is None else found[0]

    def read(self, name: str) -> Iterator[bytes] | None:
        """Return the pieces of a file, or None if there is none."""
        try:
            file = (self.root / name).open("rb", buffering=0)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(self.root, error) from error

        def pieces() -> Iterator[bytes]:
            with file:
                while True:
                    try:
                        piece = file.read(READ_BYTES)
                    except OSError as error:
                        raise _unreadable(self.root, error) from error
                    if not piece:
                        return
                    yield piece

        return pieces()

    def names(self, folder: str) -> list[str]:
        """List the entries of a folder, without temporary ones."""
        return self._files.names(folder)

    def below(self, folder: str) -> dict[str, int]:
        """Return the size of each file below a folder."""
        top = self.root / folder
        files = [path for path in sorted(top.rglob("*")) if path.is_file()]
        return {path.relative_to(top).as_posix(): path.stat().st_size for path in files}


def _unreadable(root: Path, error: OSError) -> RemoteError:
    return RemoteError(f"cannot read {error.filename or root}: {error.strerror}")


def is_url(text: str) -> bool:
    """Say whether a cache is named by a URL rather than a path."""
    return "://" in text


def check_url(url: str) -> str:
    """Return the URL of a remote cache in its one form; raises `RequestError` for one that is none."""
    scheme, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme.lower() not in SCHEMES:
        raise RequestError(
            f"{url} is no cache: {scheme}:// is not served, s3:// is",
            hint="write s3://bucket/prefix, or a folder's path",
        )
    if not bucket or "?" in rest or "#" in rest or ".." in prefix.split("/"):
        raise RequestError(f"{url} names no bucket and prefix", hint="write s3://bucket/prefix")
    prefix = "/".join(part for part in prefix.split("/") if part)
    return f"s3://{bucket}/{prefix}".rstrip("/")
