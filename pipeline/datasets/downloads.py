"""Files from the web, kept under the cache by what they hold.

Below `downloads/` of the cache: `files/<sha256>/<name>`, `addresses/` (what URLs led to, see
`gravel.pipeline.datasets.records`), `parts/` (downloads under way) and `by-hand/`, where files are put that
were fetched otherwise. A file is complete before it has its name, and a URL leads to files only.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.files import state_of
from gravel.pipeline.datasets.part import PAUSE, READ_BYTES, Digests, Part, Watch, fetch, remove_part
from gravel.pipeline.datasets.records import UrlRecord, UrlRecords
from gravel.pipeline.store.descriptors import Obstacle
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.folder import DOWNLOADS
from gravel.pipeline.store.opening import names_in, open_file, stated
from gravel.stages.addresses import address_of
from gravel.stages.errors import StageError
from gravel.stages.remote import facts_of
from gravel.stages.remote.facts import Facts, FetchError
from gravel.stages.urls import is_url, shown

_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_fetched(location: str) -> bool:
    """Say whether a location is of the kind that is downloaded before it is read: every URL but file://."""
    return is_url(location) and not location.lower().startswith("file:")


@dataclass(frozen=True)
class Download:
    """A file that a URL led to, under its digests; `fetched` is in seconds since the epoch."""

    path: Path
    sha256: str
    fetched: float
    blake3: str | None = None  # unknown of a file that was found by its sha256 alone


class Downloads:
    """The downloads of one cache; safe to use from many processes at once."""

    def __init__(self, cache_root: Path) -> None:
        self.root = Path(cache_root) / DOWNLOADS
        self.records = UrlRecords(self.root.parent)
        self._files = LocalFiles(self.root.parent)

    def find(self, url: str, sha256: str | None = None) -> Download | None:
        """Return what a URL led to last, or any file with the checksum; None if there is none."""
        known = self._present(self.records.read(url))
        if sha256 is None or (known is not None and known.sha256 == sha256.lower()):
            return known
        path = self._file(sha256.lower())
        return None if path is None else Download(path, sha256.lower(), path.stat().st_mtime)

    def by_hand(self, url: str) -> Path:
        """Return where a file may be put that is fetched otherwise."""
        return self.root / "by-hand" / f"{self.records.name(url)[:8]}-{name_of(url)}"

    def fetch(
        self,
        url: str,
        sha256: str | None = None,
        *,
        wanted: str | None = None,
        anew: bool = False,
        progress: Callable[[int, int | None], None] = lambda done, total: None,
        log: Callable[[str], None] = lambda message: None,
        pause: float = PAUSE,
    ) -> Download:
        """Return the file of a URL, which is downloaded unless it is here and nothing speaks against it.

        With a checksum, or the BLAKE3 that is `wanted`, the file that has it is the right one, and the
        network is not asked. With `anew` the server was asked before, and had another one. Raises StageError
        for a URL that cannot be had, and for another digest.
        """
        began = time.time()
        if sha256 or wanted or anew:
            found = self._good(url, sha256, wanted, began)
        else:
            found = self._current(url, log)
        if found is not None:
            if sha256 is not None:
                log(f"{shown(url)}: here by its sha256")
            return found
        name = self.records.name(url)
        with storage_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            (self.root / "parts").mkdir(exist_ok=True)
        from filelock import FileLock

        with FileLock(self.root / "parts" / f"{name}.lock"):
            found = self._good(url, sha256, wanted, began)
            if found is not None:  # fetched by another process meanwhile
                return found
            made = self._take_by_hand(url, sha256, log)
            if made is None:
                with storage_errors(self.root):
                    made = self._download(url, sha256, Watch(progress, self._room, log, pause))
        if wanted is not None and made.blake3 != wanted:
            raise StageError(
                f"{shown(url)} has changed since this run asked for it",
                hint="run again; what it holds now is then what counts",
            )
        return made

    def unchanged(self, url: str, log: Callable[[str], None]) -> UrlRecord | None:
        """Return what is on record of a URL if its server has the same still, and say what decided.

        Without a network it counts as the same, and so does a file that was put here by hand. Raises
        FetchError where a server gives no answer otherwise.
        """
        record = self.records.read(url)
        try:
            facts = facts_of(address_of(url))
        except FetchError as error:
            if record is None or not (error.offline or record.by_hand) or self.by_hand(url).is_file():
                raise
            day = time.strftime("%Y-%m-%d", time.localtime(record.fetched))
            copy = "the file put here" if record.by_hand else "its copy"
            log(f"{shown(url)}: {error}; {copy} of {day} is used")
            return record
        if record is None or not record.facts.same_as(facts):
            return None
        log(f"{shown(url)}: unchanged by ETag")
        return record

    def _good(self, url: str, sha256: str | None, wanted: str | None, since: float) -> Download | None:
        """Find the file with a digest, or without one what was fetched since a moment."""
        found = self.find(url, sha256)
        if found is None or sha256 is not None:
            return found
        good = found.fetched >= since if wanted is None else found.blake3 == wanted
        return found if good else None

    def _current(self, url: str, log: Callable[[str], None]) -> Download | None:
        """Return the file that is here of a URL if its server has the same still."""
        found = self.find(url)
        with suppress(FetchError):
            return found if found is not None and self.unchanged(url, log) is not None else None
        return None

    def _download(self, url: str, sha256: str | None, watch: Watch) -> Download:
        watch.log(f"{shown(url)}: fetching")
        part = Part(self.root / "parts" / self.records.name(url))
        try:
            facts = fetch(address_of(url), part, watch, checked=sha256 is not None)
        except FetchError as error:
            raise self._no_file(url, sha256, error) from None
        found, content = part.digests.values
        if sha256 is not None and found != sha256.lower():
            part.drop()
            raise StageError(
                f"what {shown(url)} gives has the sha256 {found}, and {sha256.lower()} is expected",
                hint="the file changed there, or something between gave another one; correct the checksum if "
                f"this one is right, or put the right file at {self.by_hand(url)}",
            )
        known = self.records.read(url)
        same = ", as before" if known is not None and known.sha256 == found else ""
        watch.log(f"{shown(url)}: fetched, {part.size:,} bytes, sha256 {found}{same}")
        kept = self._keep(part.path, url, (found, content), facts)
        part.drop()
        return kept

    def _keep(
        self, part: Path, url: str, digests: tuple[str, str], facts: Facts, *, by_hand: bool = False
    ) -> Download:
        """Move a complete file to its place, then let its URL lead there."""
        sha256, content = digests
        path = self._file(sha256)
        if path is not None and digests_of(path)[0] != sha256:
            path.unlink()  # damaged
            path = None
        if path is None:
            path = self.root / "files" / sha256 / name_of(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(path)
        now, state = time.time(), state_of(path.stat())
        words = (facts.size, facts.etag, facts.modified)
        self.records.write(url, UrlRecord(url, sha256, content, *words, now, state, by_hand=by_hand))
        return Download(path, sha256, now, content)

    def _present(self, record: UrlRecord | None) -> Download | None:
        """Return the file of a record if it is here and as it was."""
        path = self._file(record.sha256) if record is not None else None
        if record is None or path is None:
            return None
        with suppress(OSError):
            if state_of(path.stat()) == record.state or digests_of(path) == (record.sha256, record.blake3):
                return Download(path, record.sha256, record.fetched, record.blake3)
        return None

    def _file(self, sha256: str) -> Path | None:
        folder = f"{DOWNLOADS}/files/{sha256}"
        with suppress(OSError):
            names = names_in(self.root.parent, folder) if _SHA256.fullmatch(sha256) else ()
            files = (name for name in names if stated(self.root.parent, f"{folder}/{name}") is not None)
            return next((self.root / "files" / sha256 / name for name in files), None)
        return None

    def _take_by_hand(self, url: str, sha256: str | None, log: Callable[[str], None]) -> Download | None:
        path = self.by_hand(url)
        try:
            found, content = digests_of(path)
        except FileNotFoundError:
            return None
        except Obstacle as obstacle:
            raise StageError(obstacle.problem, hint="put the file itself there") from None
        if sha256 is not None and found != sha256.lower():
            raise StageError(
                f"{path} has the sha256 {found}, and {sha256.lower()} is expected of {shown(url)}",
                hint="put the right file there, or remove it",
            )
        log(f"{path} is taken for {shown(url)}")
        return self._keep(path, url, (found, content), Facts(path.stat().st_size), by_hand=True)

    def _no_file(self, url: str, sha256: str | None, error: FetchError) -> StageError:
        where = self.by_hand(url)
        checked = "; its sha256 is then checked" if sha256 is not None else ""
        if error.offline or error.status is not None:
            first = "without a network," if error.offline else "check the URL; or"
            hint = f"{first} put the file at {where}{checked}, and run again"
        else:
            hint = "run again: what came so far is kept, and the rest is fetched if the server has a strong "
            hint += "ETag or the `sha256` is stated"
        if error.hint is not None:
            hint = f"{error.hint}; {hint}"
        return StageError(f"{shown(url)} cannot be downloaded: {error}", hint=hint)

    def _room(self, wanted: int) -> None:
        free = shutil.disk_usage(self.root).free
        if wanted > free:
            raise GravelError(
                f"{wanted:,} bytes are to be downloaded to {self.root}, and {free:,} are free",
                hint="free space with `gravel cache gc`, or choose another cache with --cache",
            )

    def drop(self, url: str) -> int:
        """Remove the file that a URL led to; returns the bytes of files that nothing leads to any more.

        What its content was stays on record, so that results made from it are still found.
        """
        record = self.records.read(url)
        remove_part(self.root / "parts" / self.records.name(url))
        if record is None or record.dropped:
            return 0
        self.records.write(url, replace(record, dropped=True))
        path = self._file(record.sha256)
        led = (each.sha256 for each in self.records.all() if not each.dropped)
        if path is None or record.sha256 in led:
            return 0
        size = path.stat().st_size
        self._files.remove(f"{DOWNLOADS}/files/{record.sha256}")
        return size


def local_copy(cache_root: Path, url: str) -> str | None:
    """Return the path of what was downloaded of a URL, whatever its server has now; None if nothing was."""
    found = Downloads(cache_root).find(url)
    return None if found is None else str(found.path)


def fetched_copy(cache_root: Path, url: str) -> str:
    """Return the same; raises StageError where nothing was, so that sizes are not asked of the network."""
    found = local_copy(cache_root, url)
    if found is None:
        raise StageError(f"{shown(url)} is not fetched yet")
    return found


def name_of(url: str) -> str:
    """Return a URL's last part as the name of a file; formats are detected from it."""
    name = PurePosixPath(unquote(urlsplit(shown(url)).path)).name
    return re.sub(r"[^A-Za-z0-9._+=-]", "_", name)[-120:].lstrip(".") or "file"


def digests_of(path: Path) -> tuple[str, str]:
    """Return the sha256 and the BLAKE3 of a file."""
    digests = Digests()
    with open_file(path.parent, path.name) as file:
        while block := file.read(READ_BYTES):
            digests.add(block)
    return digests.values
