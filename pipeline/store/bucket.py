"""An object store as a place for results: S3, Google Cloud Storage or Azure, through obstore.

Every object is one PUT, with a SHA-256 that S3 checks; a store shows it whole or not at all. Endpoints and
credentials: see `gravel.stages.remote.object_store`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.objects import (
    READ_BYTES,
    FaultySource,
    RemoteError,
    Target,
    check_url,
)
from gravel.pipeline.store.opening import MAX_RECORD_BYTES
from gravel.stages.errors import StageError
from gravel.stages.remote.facts import FetchError
from gravel.stages.remote.object_store import Store, split_url

if TYPE_CHECKING:
    from obstore import GetResult

T = TypeVar("T")

NOT_FOUND = 404

SECONDS = 600
"""For one request, with an object of 64 MiB at most: a line of 1 Mbit/s does it."""


class Bucket:
    """The objects below `s3://bucket/prefix`. Safe to use from many threads at once."""

    def __init__(self, url: str) -> None:
        self.where = url
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


def open_bucket(url: str) -> Target:
    """Return the object store of a URL; reaches for nothing yet.

    Raises `RequestError` without obstore or, for S3, without any credentials.
    """
    return Bucket(check_url(url))
