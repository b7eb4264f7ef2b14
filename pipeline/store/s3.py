"""An S3-compatible object store, through obstore.

Credentials, region and endpoint are those of every AWS tool: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
`AWS_ENDPOINT_URL`, `AWS_REGION` and so on, else a profile, role or instance that boto3 finds.
Every object is one PUT with a SHA-256 that the store checks; S3 shows it whole or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.objects import (
    MAX_OBJECT_BYTES,
    READ_BYTES,
    FaultySource,
    RemoteError,
    Target,
    check_url,
)
from gravel.pipeline.store.opening import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import S3Store

T = TypeVar("T")

CONNECT_SECONDS = 5
"""Until a store that does not answer counts as unreachable; a handshake across the world takes under one."""

RECORD_SECONDS = 20
"""For a record or a page of a listing, of some kilobytes."""

DATA_SECONDS = 600
"""For an object of 64 MiB: a line of 1 Mbit/s does it."""

RETRIES = 5
"""With waits of 0.1 s and double each time: a cut of three seconds goes by unseen."""


class Bucket:
    """The objects below `s3://bucket/prefix`. Safe to use from many threads at once."""

    def __init__(self, url: str) -> None:
        self.where = url
        try:
            from obstore.store import S3Store
        except ImportError as error:
            raise RequestError(
                f"{url} needs the package obstore, which is not installed",
                hint="pip install 'gravel[remote]', or -e '.[remote]' in a checkout",
            ) from error
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        settings = _settings(url)
        endpoint = settings.get("endpoint", "")

        def store(seconds: int) -> S3Store:
            return S3Store(
                bucket,
                prefix=prefix or None,
                client_options={
                    "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                    "timeout": timedelta(seconds=seconds),
                    "allow_http": endpoint.startswith("http://"),
                },
                retry_config={
                    "max_retries": RETRIES,
                    "retry_timeout": timedelta(seconds=60),
                    "backoff": {"max_backoff": timedelta(seconds=5)},
                },
                **settings,
            )

        self._records, self._data = store(RECORD_SECONDS), store(DATA_SECONDS)

    def get(self, name: str) -> bytes | None:
        """Return an object of at most `MAX_RECORD_BYTES` whole, or None if there is none."""
        found = self._sized(self._records, name, MAX_RECORD_BYTES)
        return None if found is None else self._ask(lambda: bytes(found.bytes()))

    def _sized(self, store: S3Store, name: str, most: int) -> GetResult | None:
        """Ask for an object, of which nothing is read; raises `FaultySource` if it has more bytes."""
        import obstore

        found = self._found(lambda: obstore.get(store, name))
        if found is not None and (size := found.meta["size"]) > most:
            raise FaultySource(f"{self.where}/{name} has {size:,} bytes, and at most {most:,} are read")
        return found

    def read(self, name: str, most: int = MAX_OBJECT_BYTES) -> Iterator[bytes] | None:
        """Return the pieces of an object of at most so many bytes, or None if there is none."""
        found = self._sized(self._data, name, most)
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

        found = self._ask(lambda: obstore.list_with_delimiter(self._records, folder))
        paths = [item["path"] for item in found["objects"]] + list(found["common_prefixes"])
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def below(self, folder: str) -> dict[str, int]:
        """Return the size of each object below a folder."""
        import obstore

        found = self._ask(lambda: obstore.list(self._records, folder).collect())
        return {item["path"].removeprefix(f"{folder}/"): item["size"] for item in found}

    def put(self, name: str, data: bytes) -> None:
        """Write an object whole, in place of an older one."""
        import obstore

        self._ask(lambda: obstore.put(self._data, name, data, use_multipart=False))

    def create(self, name: str, data: bytes) -> bool:
        """Write an object only if there is none; says whether it did.

        A store without conditional writes gets a plain one, whose result is right as well: at worst the
        data of an equal artifact stay behind unused.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError

        try:
            obstore.put(self._records, name, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        except NotSupportedError:
            self.put(name, data)
        except BaseError as error:
            if "NotImplemented" not in str(error):
                raise self._explain(error) from error
            self.put(name, data)
        except (FileNotFoundError, PermissionError, TimeoutError, OSError) as error:
            raise self._explain(error) from error
        return True

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects."""
        import obstore

        paths = list(names)
        if paths:
            self._ask(lambda: obstore.delete(self._records, paths))

    def _found(self, action: Callable[[], T]) -> T | None:
        """Do something with an object; None if there is none, `RemoteError` if there is not even a bucket."""
        try:
            return self._ask(action)
        except RemoteError as error:
            if isinstance(error.__cause__, FileNotFoundError) and "NoSuchBucket" not in str(error.__cause__):
                return None
            raise

    def _ask(self, action: Callable[[], T]) -> T:
        from obstore.exceptions import BaseError

        try:
            return action()
        except (BaseError, OSError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> RemoteError:
        """Say what is wrong with the store, in the words of somebody who has to mend it."""
        text = str(error)
        code = re.search(r"<Code>(\w+)</Code>", text)
        status = re.search(r"Server returned non-2xx status code: (\d+)", text)
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        at = f" at {endpoint}" if endpoint else ""
        name = code[1] if code else ""
        if name == "NoSuchBucket":
            bucket = self.where.removeprefix("s3://").partition("/")[0]
            return RemoteError(
                f"there is no bucket {bucket!r}{at}",
                hint="make it first, or fix the URL or AWS_ENDPOINT_URL",
            )
        if name or (status and status[1] in ("401", "403")):
            refused = status is not None and status[1] in ("401", "403")
            return RemoteError(
                f"{self.where}{at} refuses: {name or 'HTTP ' + (status[1] if status else '?')}",
                hint="look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE, the region, and what "
                "they may do there"
                if refused
                else None,
            )
        if status:
            return RemoteError(f"{self.where}{at} answers HTTP {status[1]}")
        first = text.partition("\n")[0]
        if "credential provider: " in first:
            return RemoteError(
                f"{self.where}{at}: no valid credentials: {first.rpartition('credential provider: ')[2]}",
                hint="look at AWS_PROFILE and ~/.aws",
            )
        reason = first.rpartition(" - ")[2].strip() or type(error).__name__
        return RemoteError(
            f"{self.where}{at} cannot be reached: {reason}", hint="look at the network and AWS_ENDPOINT_URL"
        )


def open_remote(url: str) -> Target:
    """Return the object store of a URL; reaches for nothing yet.

    Raises `RequestError` without the extra `s3` or without any credentials.
    """
    return Bucket(check_url(url))


def _settings(url: str) -> dict[str, Any]:
    """Choose credentials, region and endpoint; raises `RequestError` where there are no credentials."""
    settings: dict[str, Any] = {"checksum_algorithm": "SHA256"}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        settings["endpoint"] = endpoint
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    unsigned = os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true")
    if not unsigned and not (os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY")):
        import boto3
        from botocore.exceptions import BotoCoreError
        from obstore.auth.boto3 import Boto3CredentialProvider

        try:
            session = boto3.Session()
            known = session.get_credentials() is not None
        except BotoCoreError as error:
            raise RequestError(f"{url}: {error}", hint="look at AWS_PROFILE and ~/.aws") from error
        if not known:
            raise RequestError(
                f"no credentials are known for {url}",
                hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket "
                "AWS_SKIP_SIGNATURE=true",
            )
        settings["credential_provider"] = Boto3CredentialProvider(session)
        region = region or session.region_name
    settings["region"] = region or "us-east-1"
    return settings
