"""What URLs led to when they were fetched: digests of the content, and what the server answered.

One record a URL, below `downloads/addresses/` of the cache. A URL with secrets is named by a keyed hash of
the whole of it, with a key for each user of a cache: who reads the cache cannot try passwords against it.
The whole URL is in the hash, and not only what is shown, since `?id=1` and `?id=2` are two files.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from blake3 import blake3

from gravel.pipeline.core.files import written_aside
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.folder import DOWNLOADS
from gravel.pipeline.store.opening import read_file
from gravel.stages.addresses import address_of
from gravel.stages.remote.facts import Facts
from gravel.stages.urls import has_secrets, shown, variables

FORMAT = 2
FOLDER = f"{DOWNLOADS}/addresses"
KEY_BYTES = 32
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class UrlRecord:
    """What a URL led to.

    `url` is as it is shown; `sha256` and `blake3` are of the content; `size`, `etag` and `modified` are the
    server's words; `fetched` is in seconds since the epoch; `state` is that of the file here, as
    `gravel.pipeline.core.files` has it; `dropped` says that the file was removed by request,
    `by_hand` that it was put there by hand, so that no server answered for it.
    """

    url: str
    sha256: str
    blake3: str
    size: int | None
    etag: str | None
    modified: str | None
    fetched: float
    state: list[int]
    dropped: bool = False
    by_hand: bool = False

    @property
    def facts(self) -> Facts:
        """Return what the server answered."""
        return Facts(self.size, self.etag, self.modified)


class UrlRecords:
    """The records of one cache."""

    def __init__(self, cache_root: Path) -> None:
        self._root = cache_root / DOWNLOADS
        self._files = LocalFiles(cache_root)

    def name(self, url: str) -> str:
        """Name what belongs to a URL, in 64 hexadecimal digits; raises StageError for a URL that is none."""
        if not has_secrets(url) and not variables(url):
            return blake3(url.encode("utf-8", "surrogatepass")).hexdigest()
        identity = address_of(url).identity
        return blake3(identity.encode("utf-8", "surrogatepass"), key=self._key).hexdigest()

    @cached_property
    def _key(self) -> bytes:
        path = self._root / f"key.{os.getuid()}"
        if (found := self._read_key(path)) is not None:
            return found
        fresh = os.urandom(KEY_BYTES)
        # In a cache that cannot be written nothing is remembered.
        with suppress(OSError):
            self._root.mkdir(parents=True, exist_ok=True)
            with written_aside(path, fresh, 0o600) as aside:
                try:
                    path.hardlink_to(aside)
                except FileExistsError:
                    if self._read_key(path) is None:  # damaged, and not made by a faster process
                        aside.replace(path)
        return self._read_key(path) or fresh

    @staticmethod
    def _read_key(path: Path) -> bytes | None:
        with suppress(OSError):
            found = read_file(path.parents[1], f"{path.parent.name}/{path.name}", KEY_BYTES)
            return found if len(found) == KEY_BYTES else None
        return None

    def read(self, url: str) -> UrlRecord | None:
        """Return what is on record of a URL."""
        return self._read(f"{FOLDER}/{self.name(url)}.json")

    def _read(self, name: str) -> UrlRecord | None:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            found = self._files.read(name)
            record = json.loads(found[0]) if found is not None else {}
            if record.pop("format") == FORMAT:
                made = UrlRecord(**record)
                float(made.fetched)
                if made.facts and _DIGEST.fullmatch(made.sha256) and _DIGEST.fullmatch(made.blake3):
                    return made
        return None

    def write(self, url: str, record: UrlRecord) -> None:
        """Put a record in place of the one that there is."""
        text = json.dumps({"format": FORMAT, **asdict(replace(record, url=shown(url)))})
        self._files.replace(f"{FOLDER}/{self.name(url)}.json", text.encode())

    def all(self) -> list[UrlRecord]:
        """Return every record."""
        found = (self._read(f"{FOLDER}/{name}") for name in self._files.names(FOLDER, ".json"))
        return [record for record in found if record is not None]
