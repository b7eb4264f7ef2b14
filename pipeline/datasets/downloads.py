"""Files from the web, kept under the cache by what they hold.

Below `downloads/` of the cache: `files/<sha256>/<name>`, `urls/<blake3 of the URL>.json` (which file a URL
led to, and what its server said of it), `parts/` (downloads under way) and `by-hand/`, where files are put
that were fetched otherwise. A file is complete before it has its name, and a URL leads to files only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from blake3 import blake3

from pipeline.datasets.fetching import PAUSE, Facts, FetchError, fetch, remote_facts
from pipeline.errors import GravelError
from pipeline.store.files import LocalFiles, storage_errors
from stages.errors import StageError

__all__ = ["Download", "Downloads", "is_fetched", "name_of", "sha256_of"]

READ_BYTES = 8 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_fetched(location: str) -> bool:
    """Say whether a location is of the kind that is downloaded before it is read."""
    return location.lower().startswith(("http://", "https://"))


@dataclass(frozen=True)
class Download:
    """A file that a URL led to; `facts` are those of its server when it was fetched."""

    url: str
    path: Path
    sha256: str
    facts: Facts
    fetched: float

    @property
    def by_hand(self) -> bool:
        """Whether it was put there by hand, so that no server said anything of it."""
        return self.facts.etag is None and self.facts.modified is None

    @property
    def key(self) -> str:
        """What stands for the content in a recipe, as `FileDigests` writes it for the server's answer."""
        if self.facts.etag:
            return f"etag:{self.facts.etag}"
        if self.facts.modified and self.facts.size is not None:
            return f"modified:{self.facts.modified}:{self.facts.size}"
        return f"sha256:{self.sha256}"


class Downloads:
    """The downloads of one cache; safe to use from many processes at once."""

    def __init__(self, cache_root: Path) -> None:
        self.root = Path(cache_root) / "downloads"
        self._files = LocalFiles(self.root)

    def find(self, url: str, sha256: str | None = None) -> Download | None:
        """Return what a URL led to last, or any file with the checksum; None if there is none."""
        known = self._recall(url)
        if sha256 is None:
            return known
        wanted = sha256.lower()
        if known is not None and known.sha256 == wanted:
            return known
        path = self._file(wanted)
        return None if path is None else Download(url, path, wanted, Facts(), path.stat().st_mtime)

    def by_hand(self, url: str) -> Path:
        """Return where a file may be put that is fetched otherwise."""
        return self.root / "by-hand" / f"{_key(url)[:8]}-{name_of(url)}"

    def fetch(
        self,
        url: str,
        sha256: str | None = None,
        *,
        progress: Callable[[int, int | None], None] = lambda done, total: None,
        log: Callable[[str], None] = lambda message: None,
        pause: float = PAUSE,
    ) -> Download:
        """Return the file of a URL, which is downloaded unless it is here and still the same.

        With a checksum the file that has it is the right one, and the network is not asked. Raises StageError
        for a URL that cannot be had, and for content that has another checksum.
        """
        found = self.find(url, sha256)
        if found is not None and (sha256 is not None or self._is_current(found, log)):
            return found
        with storage_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            (self.root / "parts").mkdir(exist_ok=True)
        from filelock import FileLock

        with FileLock(self.root / "parts" / f"{_key(url)}.lock"):
            found = self.find(url, sha256)  # another process may have been faster
            if found is not None and (sha256 is not None or self._is_current(found, log)):
                return found
            placed = self._take_by_hand(url, sha256, log)
            if placed is not None:
                return placed
            part = self.root / "parts" / _key(url)
            with storage_errors(self.root):
                return self._download(url, sha256, part, progress, log, pause)

    def _download(
        self,
        url: str,
        sha256: str | None,
        part: Path,
        progress: Callable[[int, int | None], None],
        log: Callable[[str], None],
        pause: float,
    ) -> Download:
        log(f"downloading {url}")
        try:
            facts = fetch(
                url,
                part,
                checked=sha256 is not None,
                progress=progress,
                room=self._room,
                log=log,
                pause=pause,
            )
        except FetchError as error:
            raise self._no_file(url, sha256, error) from None
        found = sha256_of(part)
        if sha256 is not None and found != sha256.lower():
            _remove_part(part)
            raise StageError(
                f"what {url} gives has the sha256 {found}, and {sha256.lower()} is expected",
                hint="the file changed there, or something between gave another one; correct the checksum if "
                f"this one is right, or put the right file at {self.by_hand(url)}",
            )
        log(f"{facts.size or 0:,} bytes, sha256 {found}")
        kept = self._keep(part, url, found, facts)
        _remove_part(part)
        return kept

    def _keep(self, part: Path, url: str, sha256: str, facts: Facts) -> Download:
        """Move a complete file to its place, then let its URL lead there."""
        path = self._file(sha256)
        if path is None:
            path = self.root / "files" / sha256 / name_of(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(path)
        made = Download(url, path, sha256, facts, time.time())
        record = {
            "url": url,
            "sha256": sha256,
            "size": facts.size,
            "etag": facts.etag,
            "modified": facts.modified,
            "fetched": made.fetched,
        }
        self._files.replace(f"urls/{_key(url)}.json", json.dumps(record).encode())
        return made

    def _recall(self, url: str) -> Download | None:
        found = self._files.read(f"urls/{_key(url)}.json")
        if found is None:
            return None
        try:
            record = json.loads(found[0])
            facts = Facts(record["size"], record["etag"], record["modified"])
            path = self._file(record["sha256"])
            if path is None or (facts.size is not None and path.stat().st_size != facts.size):
                return None
            return Download(url, path, record["sha256"], facts, float(record["fetched"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _file(self, sha256: str) -> Path | None:
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            return next((path for path in (self.root / "files" / sha256).iterdir() if path.is_file()), None)
        except OSError:
            return None

    def _is_current(self, found: Download, log: Callable[[str], None]) -> bool:
        """Say whether the server still has what was downloaded; without a network it counts as the same."""
        try:
            return found.facts.same_as(remote_facts(found.url))
        except FetchError as error:
            if error.offline:
                day = time.strftime("%Y-%m-%d", time.localtime(found.fetched))
                log(f"{found.url}: {error}; its copy of {day} is used")
            return error.offline or found.by_hand

    def _take_by_hand(self, url: str, sha256: str | None, log: Callable[[str], None]) -> Download | None:
        path = self.by_hand(url)
        if not path.is_file():
            return None
        found = sha256_of(path)
        if sha256 is not None and found != sha256.lower():
            raise StageError(
                f"{path} has the sha256 {found}, and {sha256.lower()} is expected of {url}",
                hint="put the right file there, or remove it",
            )
        log(f"{path} is taken for {url}")
        return self._keep(path, url, found, Facts(path.stat().st_size))

    def _no_file(self, url: str, sha256: str | None, error: FetchError) -> StageError:
        where = self.by_hand(url)
        checked = "; its sha256 is then checked" if sha256 is not None else ""
        if error.offline:
            hint = f"without a network, put the file at {where}{checked}, and run again"
        elif error.status is not None:
            hint = f"check the URL; or put the file at {where}{checked}, and run again"
        else:
            hint = "run again: what came so far is kept, and the rest is fetched"
        return StageError(f"{url} cannot be downloaded: {error}", hint=hint)

    def _room(self, wanted: int) -> None:
        free = shutil.disk_usage(self.root).free
        if wanted > free:
            raise GravelError(
                f"{wanted:,} bytes are to be downloaded to {self.root}, and {free:,} are free",
                hint="free space with `gravel cache gc`, or choose another cache with --cache",
            )

    def drop(self, url: str) -> int:
        """Forget what a URL led to; returns the bytes of files that nothing leads to any more."""
        found = self._recall(url)
        self._files.remove(f"urls/{_key(url)}.json")
        _remove_part(self.root / "parts" / _key(url))
        if found is None or found.sha256 in {each.sha256 for each in self.all()}:
            return 0
        size = found.path.stat().st_size
        self._files.remove(f"files/{found.sha256}")
        return size

    def all(self) -> list[Download]:
        """Return every download that a URL leads to."""
        found = []
        with suppress(OSError):
            for path in sorted((self.root / "urls").glob("*.json")):
                with suppress(OSError, ValueError, KeyError, TypeError):
                    each = self._recall(json.loads(path.read_text(encoding="utf-8"))["url"])
                    if each is not None:
                        found.append(each)
        return found


def name_of(url: str) -> str:
    """Return a URL's last part as the name of a file; formats are detected from it."""
    name = PurePosixPath(unquote(urlsplit(url).path)).name
    return re.sub(r"[^A-Za-z0-9._+=-]", "_", name)[-120:].lstrip(".") or "file"


def _key(url: str) -> str:
    return blake3(url.encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _remove_part(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.json").unlink(missing_ok=True)
