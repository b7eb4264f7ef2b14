"""The supervisor of one run: it claims a due time, carries it out, records the result and calls the hooks.

A supervisor starts by finishing what a dead one left. Whatever instant it dies at, the next finds either a
due time that still waits, or an open claim whose lease is free.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import private_files
from gravel.pipeline.schedule.child_process import STOP_GRACE, carry_out
from gravel.pipeline.schedule.hooks import call, load_hooks, missing_hook
from gravel.pipeline.schedule.job import Job, shown_hook
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.outcome import read_record, record_lost_run, record_outcome
from gravel.pipeline.schedule.policy import again
from gravel.pipeline.schedule.times import iso
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.sharing import write_as_in

FAILURES = ("failed", "timed out", "lost")
"""The outcomes that call the failure hook."""


def say_line(message: str) -> None:
    """Print a line with the time; that nobody listens any more changes nothing."""
    with suppress(OSError, ValueError):
        print(f"{iso(time.time())} {message}", flush=True)


@dataclass
class Supervisor:
    """Keeps one run of a job of a job store; `stops` counts how often it was asked to stop."""

    store: JobStore
    job: Job
    say: Callable[[str], None] = say_line
    clock: Callable[[], float] = time.time
    grace: float = STOP_GRACE
    stops: int = 0

    def keep(self) -> int:
        """Settle, claim, run; returns 0 if the run was done or there was none, else 1.

        Of several supervisors that start at once, one finds the lease free and the others nothing to do.
        """
        with self.store.lock(self.job.name):
            if not self._on_record() or (lease := self.store.take_lease(self.job.name)) is None:
                return 0
        try:
            self._close_open_claims()
            claim = None if self.stops else self._claim()
            return 0 if claim is None else self._run(claim, lease)
        finally:
            lease.end()

    def _on_record(self) -> bool:
        job = self.store.find(self.job.name)
        return job is not None and job.id == self.job.id

    def _close_open_claims(self) -> None:
        """Close the claim that a dead supervisor left open: its run is lost, or its hooks are still owed."""
        state = self.store.state(self.job)
        if state.open is None:
            return
        claim = self.store.find_claim(self.job.name, state.open)
        if claim is None:  # It was damaged, which is reported nowhere else.
            self.say(f"{self.job.name}: the record of run {state.open} cannot be read")
            with self.store.lock(self.job.name):
                self.store.write_state(self.job, replace(self.store.state(self.job), open=None))
            return
        if claim.state == "running":
            record_lost_run(claim, self.store.root)
            self.say(f"{self.job.name}: the run due at {iso(claim.due)} is {claim.state}: {claim.problem}")
        if state.last != claim.name:
            self._end(claim, made_up=claim.state in ("lost", "interrupted"))
        self._call_hooks(claim)

    def _claim(self) -> Claim | None:
        """Claim the first due time that waits and was not run before."""
        name = self.job.name
        with self.store.lock(name):
            state = self.store.state(self.job)
            while state.waiting:
                first, *rest = state.waiting
                state = replace(state, waiting=tuple(rest))
                before = self.store.claims(name, first.due)
                if before and before[-1].state == "running":
                    # Its supervisor died between the claim and the state; nobody lives who could hold it.
                    state = replace(state, open=before[-1].name)
                    break
                if before and first.attempt == 1:
                    self.say(f"{name}: {iso(first.due)} was run before the clock went back")
                    continue
                claim = Claim(name, first.due, first.attempt, self.clock(), os.getpid(), socket.gethostname())
                taken = self.store.claim(claim)
                self.store.write_state(self.job, replace(state, open=claim.name if taken else state.open))
                return claim if taken else None
            self.store.write_state(self.job, state)
        if state.open is None:
            return None
        self._close_open_claims()
        return self._claim()

    def _run(self, claim: Claim, lease: Lease) -> int:
        name = self.job.name
        attempt = f", attempt {claim.attempt}" if claim.attempt > 1 else ""
        self.say(f"{name}: started the run due at {iso(claim.due)}{attempt}")
        log = self.store.folder(name) / f"{claim.name}.log"

        def started(run: str) -> None:
            claim.run = run
            with suppress(GravelError, OSError):  # A disk that is full now may not be when the run ends.
                self._write_claim(claim)

        ended = carry_out(
            self.job.words(str(self.store.root)),
            root=self.store.root,
            log=log,
            lease=lease.descriptor,
            limit=self.job.time_limit,
            asked=lambda: self.stops,
            started=started,
            grace=self.grace,
        )
        record_outcome(claim, ended, self.store.root, log, self.job.time_limit)
        self._end(claim, made_up=ended.stopped == "supervisor")
        took = f" after {ended.seconds:.1f} s"
        self.say(f"{name}: {claim.state}{took}" + (f": {claim.problem}" if claim.problem else ""))
        self._call_hooks(claim)
        return 0 if claim.state == "done" else 1

    def _write_claim(self, claim: Claim) -> None:
        with self.store.lock(self.job.name):
            if self._on_record():
                self.store.write_claim(claim)

    def _end(self, claim: Claim, made_up: bool) -> None:
        """Record the outcome of a claim; `made_up` if the job's policy says whether it is run again."""
        claim.ended = claim.ended or self.clock()
        with self.store.lock(self.job.name):
            if not self._on_record():
                return
            state = self.store.state(self.job)
            claim.changed = claim.state == "done" and claim.results != state.results
            lost = sum(each.state == "lost" for each in self.store.claims(self.job.name, claim.due))
            after = state
            if made_up and claim.state != "done":
                after = again(self.job, state, claim.due, claim.attempt, lost + (claim.state == "lost"))
            claim.again = after is not state
            claim.owed = []
            wanted = {*self.job.hooks, *self.job.in_cache}
            if claim.state in FAILURES and "failure" in wanted:
                claim.owed.append("failure")
            if claim.changed and "change" in wanted:
                claim.owed.append("change")
            self.store.write_claim(claim)
            self.store.write_state(
                self.job,
                replace(
                    after,
                    open=claim.name if claim.owed else None,
                    last=claim.name,
                    results=claim.results if claim.state == "done" else state.results,
                ),
            )
            self.store.prune(self.job.name, {claim.name})

    def _call_hooks(self, claim: Claim) -> None:
        record = read_record(self.store.root, claim.run)
        while claim.owed and self._on_record():
            event = claim.owed[0]
            payload = {"event": event, "schedule": claim.job, "claim": claim.to_json(), "run": record}
            shown, problem = self._call_hook(event, payload)
            claim.hooks.append({"event": event, "hook": shown, "problem": problem})
            self.say(f"{claim.job}: {event} hook{shown and f' {shown}'}: {problem or 'called'}")
            claim.owed = claim.owed[1:]
            self._write_claim(claim)
        with self.store.lock(self.job.name):
            if self._on_record() and (state := self.store.state(self.job)).open == claim.name:
                self.store.write_state(self.job, replace(state, open=None))

    def _call_hook(self, event: str, payload: dict[str, Any]) -> tuple[str, str | None]:
        """Call the user's hook for an event; returns it as it may be shown, and what went wrong."""
        try:
            target = load_hooks(self.job).get(event)
        except GravelError as error:
            return "", str(error)
        if target is None:
            return "", missing_hook(self.job, event)
        return shown_hook(target) or "", call(target, payload, Path(self.job.workflow).parent)


def main() -> None:
    """Keep one run: the words are the cache's folder and the job's name."""
    root, name = sys.argv[1:3]
    store = JobStore(Path(root))
    try:
        supervisor = Supervisor(store, store.job(name))

        def stop(number: int, frame: object) -> None:
            supervisor.stops += 1

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        with private_files():
            write_as_in(store.root)
            code = supervisor.keep()
    except RequestError:  # It was removed just now.
        code = 0
    except (GravelError, OSError) as error:
        say_line(f"{name}: {error}")
        code = 1
    sys.exit(code)
