"""A leader and its helpers: threads that share the chunks of one phase of work after another.

A launch of threads for each level of a search costs more than a small level does. So the helpers are
launched once a run, and the leader opens phases: a kind of work and a number of chunks, which everybody
takes by decrementing one counter. Nobody waits for a helper that has taken no chunk, so a helper that comes
late or never only leaves more chunks to the others, and no number of threads can deadlock.

Kernels call the compiled functions; `state` is an int64 array that `new_state` makes, whose elements up to
`PRIVATE` belong to the protocol and whose others are the kernel's own.

A chunk that was taken belongs to the phase that is open: the leader opens the next phase only when every
chunk of this one is done, so the phase's other words may be read after the taking.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import atomic_load, atomic_store, fetch_add, pause, rest
from gravel.kernels.jit import serial

LINE = 16
"""Words between counters that different threads write: two cache lines, since processors fetch pairs."""

LEFT = 0  # chunks of the open phase that nobody has taken
DONE = 1 * LINE  # chunks of it that are done
CLOSED = 2 * LINE  # 1 once the run has ended
KIND = 3 * LINE  # what the open phase does
CHUNKS = 3 * LINE + 1  # how many chunks it has
PRIVATE = 4 * LINE

SPINS = 2000  # looks at the counter, about a microsecond, before giving the processor away
YIELDS = 200  # givings away, about 0.1 ms, before sleeping
NAP = 40  # microseconds; a phase that opens meanwhile starts with one thread less for so long
NAPS = 16  # before naps of LONG_NAP: then the leader is in a long stretch of small work, as on road networks
LONG_NAP = 200

REPORTS_EVERY = 0.25
"""Seconds between two reports of how far a run is."""


def new_state(words: int) -> NDArray[numpy.int64]:
    """Make the shared state of a team, with `words` words for the kernel."""
    return numpy.zeros(PRIVATE + words, numpy.int64)


@serial
def open_phase(state: NDArray[Any], kind: int, chunks: int) -> None:
    """Offer `chunks` chunks of work; only the leader calls it, when no phase is open."""
    state[KIND] = kind
    state[CHUNKS] = chunks
    atomic_store(state, DONE, 0)
    atomic_store(state, LEFT, chunks)


@serial
def take(state: NDArray[Any]) -> int:
    """Take a chunk of the open phase: its number, or -1 if none is left."""
    if atomic_load(state, LEFT) <= 0:
        return -1
    left = fetch_add(state, LEFT, -1)
    if left <= 0:
        return -1
    return int(state[CHUNKS] - left)


@serial
def finish(state: NDArray[Any]) -> None:
    """Say that a chunk that was taken is done."""
    fetch_add(state, DONE, 1)


@serial
def wait_for_all(state: NDArray[Any]) -> None:
    """Wait until every chunk of the open phase is done; only the leader calls it."""
    spins = 0
    while atomic_load(state, DONE) < state[CHUNKS]:
        spins += 1
        if spins > SPINS:
            pause()


@serial
def idle(state: NDArray[Any], spins: int) -> int:
    """Wait a little for the next phase, longer each time; `spins` is the last call's result, or 0."""
    if spins > SPINS + YIELDS:
        rest(NAP if spins < SPINS + YIELDS + NAPS else LONG_NAP)
    elif spins > SPINS:
        pause()
    return spins + 1


@serial
def close(state: NDArray[Any]) -> None:
    """Send the helpers home."""
    atomic_store(state, CLOSED, 1)


@serial
def closed(state: NDArray[Any]) -> bool:
    """Whether the run has ended."""
    return bool(atomic_load(state, CLOSED) != 0)


class Team:
    """Threads that call one compiled function `member(rank, state, *arguments)`; rank 0 leads."""

    def __init__(self, member: Callable[..., Any], threads: int, words: int) -> None:
        self.threads = max(1, threads)
        self.state = new_state(words)
        self._member = member
        self._pool = ThreadPoolExecutor(self.threads - 1, "gravel-team") if threads > 1 else None
        self._helpers: list[Future[Any]] = []
        if self._pool is not None:
            # An executor starts its threads at their first task; that belongs to nobody's measured time.
            together = threading.Barrier(self.threads)
            try:
                self._helpers = [self._pool.submit(together.wait) for _ in range(self.threads - 1)]
                together.wait()
            except BaseException:
                together.abort()  # nobody waits for who does not come
                raise

    def gather(self) -> None:
        """Wait for the helpers of the last run, and make ready for the next."""
        for helper in self._helpers:
            helper.result()
        self._helpers.clear()
        self.state[:PRIVATE] = 0

    def run(self, *arguments: Any, helpers: bool = True) -> None:
        """Run the member function on every thread and return when the leader is done.

        `gather` must have been called since the last run. Without `helpers` the leader works alone. Where
        Ctrl-C comes before it leads, the helpers go home, and the team cannot run again.
        """
        try:
            if self._pool is not None and helpers:
                for rank in range(1, self.threads):
                    self._helpers.append(self._pool.submit(self._member, rank, self.state, *arguments))
            self._member(0, self.state, *arguments)
        except BaseException:
            self.state[CLOSED] = 1
            raise

    def close(self) -> None:
        """End the threads; the team cannot run again."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    @contextmanager
    def reported(self, phase: int, phases: int, report: Callable[[int, int], None] | None) -> Iterator[None]:
        """Report now and then, from a thread of its own, how many chunks of all phases a run has done.

        The word `phase` of the state counts the phases that were opened, each of as many chunks.
        """
        if report is None:
            yield
            return
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(REPORTS_EVERY):
                opened, chunks, done = (int(self.state[word]) for word in (phase, CHUNKS, DONE))
                if opened:
                    report(min((opened - 1) * chunks + done, phases * chunks), phases * chunks)

        watching = threading.Thread(target=copy_context().run, args=(watch,), daemon=True)
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()
