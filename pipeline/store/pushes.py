"""What a run makes goes to the store behind its cache folder, by a thread.

The record follows the data, and the recipe the records. Until a recipe is there a file in `pending/` says so:
a run that was cut off leaves it to the next.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import DamagedArtifact, GravelError, RequestError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.core.names import counted

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.remote import Remote

REPORT_SECONDS = 2.0
"""Of waiting for the store at the end of a run until that is reported."""

UNWRITTEN_SECONDS = 3600.0
"""From when a pending recipe that has no record belongs to no living run."""


class Pushes:
    """Recipes on their way to the store; safe to use from many threads."""

    def __init__(self, cache: CacheFolder, remote: Remote) -> None:
        self._cache, self._remote = cache, remote
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._pusher: threading.Thread | None = None
        self.sent = 0  # recipes
        self.sent_bytes = 0  # what workers with tiers of their own sent included

    def mark(self, digest: str) -> None:
        """Say on disk that a recipe is to be pushed; called before it is recorded."""
        self._cache.files.replace(f"pending/{digest}", b"", durable=False)

    def enqueue(self, digest: str) -> None:
        """Have a recorded recipe and its outputs pushed while the run goes on."""
        if self._pusher is None:
            self._pusher = threading.Thread(target=self._push_all, name="push", daemon=True)
            self._pusher.start()
        self._queue.put(digest)

    def _push_all(self) -> None:
        while (digest := self._queue.get()) is not None:
            self._push(digest)

    def _push(self, digest: str) -> GravelError | None:
        """Push one recipe; returns why it could not be, after saying so. Its mark stays then."""
        from gravel.pipeline.store.transfer import upload_recipe

        try:
            target = self._remote.reach()
            if target is None:
                return RequestError(f"{self._remote.url} failed a moment ago")
            self.sent_bytes += upload_recipe(self._cache, digest, target, self._remote.is_quarantined)
        except DamagedArtifact as error:
            self._cache.say(f"recipe {digest[:12]} is not pushed to {self._remote.url}: {error}")
        except (GravelError, OSError) as error:
            failure = error if isinstance(error, GravelError) else GravelError(str(error))
            self._remote.failed(failure)
            return failure
        else:
            self.sent += 1
        self._cache.files.remove(f"pending/{digest}")
        return None

    def pending(self) -> list[str]:
        """List the recipes that are recorded here and not yet in the store."""
        waiting = []
        for digest in self._cache.files.names("pending"):
            if self._cache.files.read(f"recipes/{digest}.json") is not None:
                waiting.append(digest)
                continue
            marked = self._cache.files.read(f"pending/{digest}")
            if marked is not None and marked[1] < time.time() - UNWRITTEN_SECONDS:
                self._cache.files.remove(f"pending/{digest}")
        return waiting

    def finish(self, run: str | None = None) -> None:
        """Wait until everything is in the store, what earlier runs left included; say what could not be.

        The record of `run` follows if anything was pushed.
        """
        if self._pusher is not None:
            self._queue.put(None)
            self._pusher.join(REPORT_SECONDS)
            if self._pusher.is_alive():
                count = counted(len(self.pending()), "result")
                self._cache.say(
                    f"{count} on the way to {self._remote.url}; what Ctrl-C leaves, the next run pushes"
                )
            self._pusher.join()
            self._pusher = None
        waiting = self.pending()
        self._remote.ask_again()
        problem = None
        for digest in waiting:
            problem = self._push(digest)
            if problem is not None:
                break
        if self.sent:
            went = (
                f"{counted(self.sent, 'result')} ({format_bytes(self.sent_bytes)}) went to {self._remote.url}"
            )
            self._cache.say(went)
        if problem is None and self.sent and run is not None:
            problem = self._push_run(run)
        if problem is not None:
            self.report(str(problem))

    def _push_run(self, run: str) -> GravelError | None:
        from gravel.pipeline.store.transfer import upload_run

        try:
            target = self._remote.reach()
            assert target is not None
            upload_run(self._cache, run, target)
        except GravelError as error:
            return error
        except OSError as error:
            return GravelError(f"the record of run {run} cannot be read: {error.strerror}")
        return None

    def report(self, reason: str) -> None:
        """Say how much is not in the store, if anything is."""
        waiting = self.pending()
        if waiting:
            count, url = counted(len(waiting), "result"), self._remote.url
            self._cache.say(
                f"not in {url} yet, but kept here: {count} ({reason}); "
                f"the next run or `gravel cache push --cache {url}` goes on"
            )
