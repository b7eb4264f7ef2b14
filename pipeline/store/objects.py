"""Where results come from or go to besides this cache: another cache's folder, or an object store.

Both hold the same names: `recipes/<digest>.json`, `artifacts/<id>.json`, `data/<uuid>/...` and
`runs/<run>/...`. Whoever writes there writes a name after everything that it leads to, so that a network
that fails at any moment leaves only whole results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.store.descriptors import ForeignLink, Obstacle
from gravel.pipeline.store.opening import MAX_RECORD_BYTES, names_in, open_file, read_file
from gravel.stages.addresses import OBJECT_STORES
from gravel.stages.errors import StageError
from gravel.stages.remote.facts import FetchError
from gravel.stages.remote.object_store import Store, split_url
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from obstore import GetResult

T = TypeVar("T")

READ_BYTES = 1 << 20

NOT_FOUND = 404

SECONDS = 600
"""For one request, with an object of 64 MiB at most: a line of 1 Mbit/s does it."""


class RemoteError(GravelError):
    """A remote store that cannot be reached or does not do what was asked of it."""


class FaultySource(GravelError):
    """Something that the place it is copied from does not hold whole, or not as a thing to be read."""


class Folder:
    """Another cache's folder, to be copied from.

    Every method raises `RemoteError` for a disk that fails, and `FaultySource` for a thing that is not to be
    read: of another kind than a file, or larger than it may be.
    """

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


class Bucket:
    """The objects below `s3://bucket/prefix`, at S3, Google Cloud Storage or Azure, through obstore.

    Every object is one PUT, with a SHA-256 that S3 checks; a store shows it whole or not at all. Endpoints
    and credentials: see `gravel.stages.remote.object_store`. Methods raise as those of `Folder`. Safe to use
    from many threads at once.
    """

    def __init__(self, url: str) -> None:
        """Reach for nothing yet; raises `RequestError` without obstore or, for S3, any credentials."""
        self.where = url = check_url(url)
        try:
            self._store = Store(url, url, prefix=split_url(url)[2], seconds=SECONDS)
        except StageError as error:
            raise RequestError(error.message, hint=error.hint) from error
        self._objects = self._store.objects

    def get(self, name: str) -> bytes | None:
        """Return an object of at most `MAX_RECORD_BYTES` whole, or None if there is none."""
        found = self._sized(name, MAX_RECORD_BYTES)
        return None if found is None else self._ask(lambda: bytes(found.bytes()))

    def _sized(self, name: str, most: int) -> GetResult | None:
        """Ask for an object, of which nothing is read; raises `FaultySource` if it has more bytes."""
        import obstore

        try:
            found = self._store.ask(lambda: obstore.get(self._objects, name))
        except FetchError as error:
            if error.status == NOT_FOUND:
                return None
            raise _remote(error) from error
        if (size := found.meta["size"]) > most:
            raise FaultySource(f"{self.where}/{name} has {size:,} bytes, and at most {most:,} are read")
        return found

    def read(self, name: str, most: int) -> Iterator[bytes] | None:
        """Return the pieces of an object of at most so many bytes, or None if there is none."""
        found = self._sized(name, most)
        if found is None:
            return None
        stream = iter(found.stream(min_chunk_size=READ_BYTES))

        def pieces() -> Iterator[bytes]:
            while (piece := self._ask(lambda: next(stream, None))) is not None:
                yield bytes(piece)

        return pieces()

    def names(self, folder: str) -> list[str]:
        """List the entries directly below a folder."""
        import obstore

        found = self._ask(lambda: obstore.list_with_delimiter(self._objects, folder))
        paths = [item["path"] for item in found["objects"]] + list(found["common_prefixes"])
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def below(self, folder: str) -> dict[str, int]:
        """Return the size of each object below a folder."""
        import obstore

        found = self._ask(lambda: obstore.list(self._objects, folder).collect())
        return {item["path"].removeprefix(f"{folder}/"): item["size"] for item in found}

    def put(self, name: str, data: bytes | bytearray) -> None:
        """Write an object whole, in place of an older one."""
        import obstore

        self._ask(lambda: obstore.put(self._objects, name, data, use_multipart=False))

    def create(self, name: str, data: bytes) -> bool:
        """Write an object only if there is none; says whether it did.

        A store without conditional writes gets a plain one, whose result is right as well: at worst the
        data of an equal artifact stay behind unused.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError

        try:
            obstore.put(self._objects, name, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        except (BaseError, OSError) as error:
            if not isinstance(error, NotSupportedError) and "NotImplemented" not in str(error):
                raise _remote(self._store.failed(error)) from error
            self.put(name, data)
        return True

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects."""
        import obstore

        paths = list(names)
        if paths:
            self._ask(lambda: obstore.delete(self._objects, paths))

    def _ask(self, action: Callable[[], T]) -> T:
        try:
            return self._store.ask(action)
        except FetchError as error:
            raise _remote(error) from error


def _remote(error: FetchError) -> RemoteError:
    return RemoteError(str(error), hint=error.hint)


Source: TypeAlias = Folder | Bucket
"""What results can be copied from; `where` is how a person names it."""


def get_if_sound(target: Bucket, name: str) -> bytes | None:
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
