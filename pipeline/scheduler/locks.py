"""Recipe locks, taken without stopping the driver: a thread waits for each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache


@dataclass(frozen=True)
class Locked:
    """The lock of a run's recipe is held (or, with a problem, will not be)."""

    key: str
    attempt: int
    waited: bool
    problem: str | None = None


class RecipeLock:
    """One lock, kept by a thread from when it is free until `release`."""

    def __init__(
        self,
        cache: Cache,
        digest: str,
        key: str,
        attempt: int,
        events: SimpleQueue[object],
        waiting: Callable[[], None],
    ) -> None:
        self._cache = cache
        self._digest = digest
        self._event = (key, attempt)
        self._events = events
        self._waiting = waiting
        self._let_go = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True, name=f"gravel-lock-{digest[:8]}")
        self._thread.start()

    def _hold(self) -> None:
        waited = False

        def say() -> None:
            nonlocal waited
            waited = True
            self._waiting()

        try:
            with self._cache.lock(self._digest, say):
                self._events.put(Locked(*self._event, waited))
                self._let_go.wait()
        except Exception as error:
            problem = str(error) if isinstance(error, GravelError) else f"{type(error).__name__}: {error}"
            self._events.put(Locked(*self._event, waited, problem))

    def release(self) -> None:
        """Let go, whether or not it is held yet; returns once it is free if it was held."""
        self._let_go.set()
        self._thread.join(0.5)
