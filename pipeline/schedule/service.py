"""The service: notes what is due, decides, and starts supervisors. It can be killed at any instant.

Any number of services, and passes from cron, may go on one cache, on several hosts; what they agree by is in
`gravel.pipeline.schedule.job_store`.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.files import given_mask
from gravel.pipeline.schedule.child_process import program
from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.policy import State, corrected, decide, next_start
from gravel.pipeline.schedule.supervisor import say_line

POLL = 1.0
"""Seconds between two looks at the jobs: how long a new job or a clock that jumped goes unnoticed."""

AGAIN_AFTER = 30.0
"""Seconds before a supervisor that failed without changing anything, as on a full disk, is started again."""


def start_supervisor(root: Path, name: str) -> subprocess.Popen[bytes]:
    """Start a supervisor in a session of its own: neither Ctrl-C nor the service's death reaches it."""
    return subprocess.Popen(
        [*program("gravel.pipeline.schedule.supervisor"), str(root), name],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        umask=given_mask(),
    )


class Service:
    """Serves the jobs of a cache.

    Parameters
    ----------
    root : the cache.
    clock : returns the seconds since 1970.
    say : called with a line on what happens.

    """

    def __init__(
        self, root: Path, *, clock: Callable[[], float] = time.time, say: Callable[[str], None] = say_line
    ) -> None:
        self.store = JobStore(root)
        self._clock = clock
        self._say = say
        self._supervisors: dict[str, subprocess.Popen[bytes]] = {}
        self._tried: dict[str, tuple[State, float]] = {}
        self._failed = False
        self._stops = 0
        self._wake = threading.Event()
        self._troubles: dict[str, str] = {}

    def serve(self) -> int:
        """Go on until told to stop by Ctrl-C or SIGTERM; runs are then interrupted. Returns 130."""
        with self._signals():
            self.store.sweep()
            names = self.store.names()
            self._say(
                f"serving {len(names)} schedules of {self.store.root}: {', '.join(names) or 'none yet'}"
            )
            while not self._stops:
                self._wake.wait(max(0.01, min(POLL, self._pass() - self._clock())))
            self._stop()
        return 130

    def tick(self) -> int:
        """Make one pass; stay while the runs that it began go, and start what falls due meanwhile.

        Returns 0, or 1 if one of its runs failed, or 130 if asked to stop.
        """
        with self._signals():
            self.store.sweep()
            self._pass()
            while self._supervisors and not self._stops:
                self._wake.wait(0.1)
                self._pass()
            if self._stops:
                self._stop()
                return 130
        return int(self._failed)

    def _pass(self) -> float:
        """Look at every job once; returns when the next one is due."""
        for name, supervisor in list(self._supervisors.items()):
            if supervisor.poll() is not None:
                del self._supervisors[name]
                self._failed |= supervisor.returncode != 0
        soonest = float("inf")
        for name in self.store.names():
            try:
                soonest = min(soonest, self._visit(name))
                self._troubles.pop(name, None)
            except (GravelError, OSError) as error:
                self._failed = True
                if self._troubles.get(name) != str(error):
                    self._troubles[name] = str(error)
                    self._say(f"{name}: {error}")
        return soonest

    def _visit(self, name: str) -> float:
        """Decide what of a job is due and start a supervisor if needed; returns when it is due next."""
        job = self.store.find(name)
        if job is None:
            return float("inf")
        now = self._clock()
        state = self.store.state(job)
        due = next_start(job, state, now)
        if corrected(state, now) or (due is not None and due <= now):
            self._decide(job, now)
            state = self.store.state(job)
            due = next_start(job, state, now)
        work = state.waiting or state.open is not None
        if work and name not in self._supervisors and not self.store.running(name):
            tried, since = self._tried.get(name, (None, 0.0))
            if tried != state or time.monotonic() - since > AGAIN_AFTER:
                self._tried[name] = state, time.monotonic()
                self._supervisors[name] = start_supervisor(self.store.root, name)
        return float("inf") if due is None else due

    def _decide(self, job: Job, now: float) -> None:
        with self.store.lock(job.name):
            known = self.store.find(job.name)
            if known is None or known.id != job.id:
                return
            before = self.store.state(job)
            state, events = decide(job, before, now, self.store.running(job.name))
            if state != before:
                self.store.write_state(job, state)
        for line in events:
            self._say(f"{job.name}: {line}")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(number: int, frame: object) -> None:
            self._stops += 1
            self._wake.set()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)

    def _stop(self) -> None:
        """Interrupt the runs that this service began, as often as it was asked to stop, and wait for them."""
        if self._supervisors:
            self._say(f"interrupting the runs of {', '.join(self._supervisors)}")
        passed_on = 0
        while any(supervisor.poll() is None for supervisor in self._supervisors.values()):
            while passed_on < self._stops:
                passed_on += 1
                for supervisor in self._supervisors.values():
                    supervisor.terminate()
            time.sleep(0.05)
