"""The passes over the jobs of a cache: what is due is decided and started, and held to its time limit.

They can be killed at any instant: a run is a process that needs none of them. Any number of them may go on
one cache, on several hosts; what they agree by is in `gravel.pipeline.schedule.job_store`.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.files import ROOT, given_mask
from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.policy import State, corrected, decide, next_start
from gravel.pipeline.schedule.times import iso
from gravel.pipeline.store.leases import holder

POLL = 1.0
"""Seconds between two passes: how long a new job or a clock that jumped goes unnoticed."""
RUN_POLL = 0.1
"""The same while a run goes."""
AGAIN_AFTER = 30.0
"""Seconds before a process that failed without changing anything, as on a full disk, is started again."""
STOP_GRACE = 30.0
"""Seconds that a run has to end after it was interrupted; the stage at work ends or is given up within."""


def say_line(message: str, to: TextIO | None = None) -> None:
    """Print a line with the time; that nobody listens any more changes nothing."""
    with suppress(OSError, ValueError):
        print(f"{iso(time.time())} {message}", flush=True, file=to)


def program(entry: str) -> list[str]:
    """Return the words that start a process with the function `main` of a module of this very gravel."""
    # After the standard library, which nothing may hide, and before any other gravel that is installed.
    place = "next((i for i, path in enumerate(sys.path) if path.endswith('-packages')), len(sys.path))"
    # Interrupted while it imports, it ends without a word.
    begin = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL)"
    code = f"{begin}; sys.path.insert({place}, {str(ROOT)!r}); from {entry} import main; main()"
    return [sys.executable, "-P", "-c", code]


def start_run(root: Path, name: str) -> subprocess.Popen[bytes]:
    """Start the process of a job's run in a session of its own: neither Ctrl-C nor our death reaches it."""
    return subprocess.Popen(
        [*program("gravel.pipeline.cli.scheduled_run"), str(root), name],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        umask=given_mask(),
    )


class Ticker:
    """Looks after the jobs of a cache.

    `clock` returns the seconds since 1970, `say` is called with a line on what happens, and `grace` are the
    seconds between the interrupt of a run and its being killed.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], float] = time.time,
        say: Callable[[str], None] = say_line,
        grace: float = STOP_GRACE,
    ) -> None:
        self.store = JobStore(root)
        self._clock = clock
        self._say = say
        self._grace = grace
        self._runs: dict[str, subprocess.Popen[bytes]] = {}
        self._tried: dict[str, tuple[State, float]] = {}
        self._troubles: dict[str, str] = {}
        self._failed, self._stops = False, 0

    def serve(self) -> int:
        """Go on until told to stop by Ctrl-C or SIGTERM; runs are then interrupted. Returns 130."""
        names = self.store.names()
        self._say(f"serving {len(names)} schedules of {self.store.root}: {', '.join(names) or 'none yet'}")
        return self._go_on(lambda: True)

    def tick(self) -> int:
        """Start what is due, and what falls due while runs go that this pass began.

        Returns 0, or 1 if one of its runs failed, or 130 if told to stop.
        """
        return self._go_on(lambda: bool(self._runs))

    def _go_on(self, longer: Callable[[], bool]) -> int:
        with self._signals():
            self.store.sweep()
            soonest = self._pass()
            while longer() and not self._stops:
                poll = RUN_POLL if self._runs else POLL
                time.sleep(max(0.01, min(poll, soonest - self._clock())))
                soonest = self._pass()
            if self._stops:
                self._stop()
                return 130
        return int(self._failed)

    def _pass(self) -> float:
        """Look at every job once; returns when the next one is due."""
        for name, run in list(self._runs.items()):
            if run.poll() is not None:
                del self._runs[name]
                self._failed |= run.returncode != 0
                if run.returncode < 0:  # which nobody else knows
                    self._note(name, run.pid, "exit_code", run.returncode)
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
        """Decide what of a job is due and start a run if needed; returns when it is due next."""
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
        running = self.store.running(name)
        if running and job.time_limit is not None and state.open is not None:
            self._hold_to_limit(name, state.open, job.time_limit)
        work = state.waiting is not None or state.open is not None
        if work and not running and name not in self._runs:
            tried, since = self._tried.get(name, (None, 0.0))
            if tried != state or time.monotonic() - since > AGAIN_AFTER:
                self._tried[name] = state, time.monotonic()
                self._runs[name] = start_run(self.store.root, name)
        return float("inf") if due is None else due

    def _decide(self, job: Job, now: float) -> None:
        with self.store.lock(job.name):
            if not self.store.knows(job):
                return
            before = self.store.state(job)
            state, events = decide(job, before, now, self.store.running(job.name))
            if state != before:
                self.store.write_state(job, state)
        for line in events:
            self._say(f"{job.name}: {line}")

    def _hold_to_limit(self, name: str, opened: str, limit: float) -> None:
        """Interrupt the run of an open claim, whoever began it, if its time is over; later kill it."""
        claim = self.store.find_claim(name, opened)
        who = holder(self.store.lease_path(name)) or {}
        if claim is None or claim.state != "running" or who.get("started") is None:
            return
        if (who.get("pid"), who.get("host")) != (claim.pid, platform.node()):
            return
        # In the kernel's ticks since the boot, since the clock may jump.
        ran = time.clock_gettime(time.CLOCK_BOOTTIME) - int(who["started"]) / os.sysconf("SC_CLK_TCK")
        if claim.stopped is None and ran > limit:
            self._interrupt(name, claim.pid, "time limit")
        elif claim.stopped == "time limit" and ran > limit + self._grace:
            os.killpg(claim.pid, signal.SIGKILL)

    def _interrupt(self, name: str, pid: int, why: str) -> None:
        """Note in the claim of a run why it is interrupted, and interrupt it as by Ctrl-C."""
        self._note(name, pid, "stopped", why)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)

    def _note(self, name: str, pid: int, field: str, value: str | int) -> None:
        """Fill in an empty field of the open claim of a run; a full disk keeps no run alive."""
        with suppress(GravelError, OSError), self.store.lock(name):
            job = self.store.find(name)
            claim = None if job is None else self.store.find_claim(name, self.store.state(job).open)
            if claim and (claim.pid, claim.state, getattr(claim, field)) == (pid, "running", None):
                setattr(claim, field, value)
                self.store.write_claim(claim)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(number: int, frame: object) -> None:
            self._stops += 1

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)

    def _stop(self) -> None:
        """Interrupt the runs that were begun here, as often as told to stop, and wait for them."""
        if self._runs:
            self._say(f"interrupting the runs of {', '.join(self._runs)}")
        passed_on, deadline = 0, time.monotonic() + self._grace
        while alive := {name: run for name, run in self._runs.items() if run.poll() is None}:
            for name, run in alive.items():
                if time.monotonic() > deadline:
                    os.killpg(run.pid, signal.SIGKILL)
                elif passed_on < self._stops:
                    self._interrupt(name, run.pid, "service")
            passed_on = min(passed_on + 1, self._stops)
            time.sleep(0.05)
