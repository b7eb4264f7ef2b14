"""Downloads of a run in the background, so that stages go on while the content of a URL is fetched."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.datasets.downloads import Download, Downloads
from gravel.stages.errors import StageError
from gravel.stages.urls import shown

__all__ = ["Fetches"]

AT_ONCE = 4
"""Downloads side by side; more would mostly share the same line."""

NEWS = 5.0
"""Seconds between two messages of how far a download is."""


class _Stopped(Exception):
    """The run ended."""


class Fetches:
    """Fetches URLs, each once, on threads that end with the process."""

    def __init__(self, cache_root: Path) -> None:
        self._downloads = Downloads(cache_root)
        self._found: dict[str, Download | StageError | GravelError | None] = {}
        self._free = threading.Semaphore(AT_ONCE)
        self._changed = threading.Condition()
        self._messages: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stopped = False
        self.ended = 0

    def ask(self, url: str) -> Download | None:
        """Return the file of a URL, or None while it is fetched; raises what went wrong."""
        with self._changed:
            found = self._found.get(url)
            if url not in self._found:
                self._found[url] = None
                threading.Thread(target=self._work, args=(url,), daemon=True, name="gravel-fetch").start()
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

    def say(self, message: str) -> None:
        """Tell the run something of a URL."""
        self._messages.put(message)

    def messages(self) -> Iterator[str]:
        """Yield what there is to tell by now."""
        while True:
            try:
                yield self._messages.get_nowait()
            except queue.Empty:
                return

    def stop(self) -> None:
        """Give up what is under way; what came of it is kept."""
        self._stopped = True

    def _work(self, url: str) -> None:
        made: Download | StageError | GravelError
        reported = time.monotonic()

        def progress(done: int, total: int | None) -> None:
            nonlocal reported
            if self._stopped:
                raise _Stopped
            if time.monotonic() - reported > NEWS:
                reported = time.monotonic()
                whole = f" of {format_bytes(total)}" if total else ""
                self._messages.put(f"{shown(url)}: {format_bytes(done)}{whole}")

        try:
            with self._free:
                made = self._downloads.fetch(url, progress=progress, log=self._messages.put)
        except (StageError, GravelError) as error:
            made = error
        except _Stopped:
            made = GravelError("the run ended")
        except Exception as error:
            made = GravelError(f"{shown(url)} cannot be downloaded: {type(error).__name__}: {error}")
        with self._changed:
            self._found[url] = made
            self.ended += 1
            self._changed.notify_all()
