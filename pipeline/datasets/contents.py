"""What stands for the content of a URL in a recipe: its digest, and nothing that a server says.

The server is asked first: a strong ETag, with the date and size that it had, says that the content is what
was fetched before. Else the URL is fetched in the background, so that stages go on meanwhile.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gravel.pipeline.core.errors import GravelError, NeedsContent, RequestError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.datasets.downloads import Downloads, digests_of
from gravel.stages.addresses import is_http
from gravel.stages.errors import StageError
from gravel.stages.remote.facts import FetchError
from gravel.stages.urls import shown

AT_ONCE = 4
"""Downloads side by side; more would mostly share the same line."""

NEWS = 5.0
"""Seconds between two messages of how far a download is."""

SILENT = frozenset({400, 401, 403, 405, 501})
"""Answers to HEAD that say nothing of GET: signed URLs are for one of them, and some servers know but one."""


class Contents:
    """Digests of what URLs lead to; within one run each URL has one content, and is fetched once.

    Without `fetch`, as for `plan`, nothing is fetched and `NeedsContent` is raised instead. Threads that
    fetch end with the process; `ended` counts what they brought or could not bring.
    """

    def __init__(self, cache_root: Path, *, fetch: bool) -> None:
        self._downloads = Downloads(cache_root)
        self._fetch = fetch
        self._found: dict[str, str | Exception | None] = {}
        self._free = threading.Semaphore(AT_ONCE)
        self._changed = threading.Condition()
        self._messages: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stopped = False
        self.ended = 0

    def digest(self, url: str) -> str:
        """Return the BLAKE3 of what a URL leads to; raises RequestError, StageError and NeedsContent."""
        if url not in self._found:
            self._found[url] = self._by_the_server(url)
            if self._found[url] is None and self._fetch:
                threading.Thread(target=self._work, args=(url,), daemon=True, name="gravel-fetch").start()
            elif self._found[url] is None:
                later = f"asks the server: what {shown(url)} holds is known when it is fetched"
                self._found[url] = NeedsContent(later)
        found = self._found[url]
        if found is None:
            raise NeedsContent(f"{shown(url)} is being fetched")
        if isinstance(found, Exception):
            raise found
        return found

    def wait(self, ended: int, seconds: float) -> bool:
        """Wait until more than `ended` downloads have ended, for so long at most; say if there is one."""
        with self._changed:
            if self.ended > ended:
                return True
            if all(found is not None for found in self._found.values()):
                return False
            self._changed.wait(seconds)
            return True

    def messages(self) -> Iterator[str]:
        """Yield what there is to tell by now."""
        with suppress(queue.Empty):
            while True:
                yield self._messages.get_nowait()

    def stop(self) -> None:
        """Give up what is under way; what came of it is kept."""
        self._stopped = True

    def _by_the_server(self, url: str) -> str | None:
        """Return the digest of what is known and unchanged, or None to try and fetch it."""
        try:
            record = self._downloads.unchanged(url, self._messages.put)
        except StageError as error:
            raise RequestError(error.message, hint=error.hint) from None
        except FetchError as error:
            where = self._downloads.by_hand(url)
            if where.is_file():
                return digests_of(where)[1]
            if error.status in SILENT and is_http(url):
                return None
            raise RequestError(
                f"{shown(url)} cannot be reached ({error})",
                hint=f"{error.hint or 'check the address and the network'}, or put the file at {where}; with "
                "`sha256:` beside it a cached result needs neither",
            ) from None
        return None if record is None else record.blake3

    def _work(self, url: str) -> None:
        made: str | Exception | None
        reported = time.monotonic()

        def progress(done: int, total: int | None) -> None:
            nonlocal reported
            if self._stopped:
                raise GravelError("the run ended")
            if time.monotonic() - reported > NEWS:
                reported = time.monotonic()
                whole = f" of {format_bytes(total)}" if total else ""
                self._messages.put(f"{shown(url)}: {format_bytes(done)}{whole}")

        try:
            with self._free:
                made = self._downloads.fetch(url, anew=True, progress=progress, log=self._messages.put).blake3
        except (StageError, GravelError) as error:
            made = error
        except Exception as error:
            made = GravelError(f"{shown(url)} cannot be downloaded: {type(error).__name__}: {error}")
        with self._changed:
            self._found[url] = made
            self.ended += 1
            self._changed.notify_all()
