"""What the process of a run does beside the run: claim the due time, record the outcome, call the hooks.

All of it is done by whoever holds the job's lease. Whatever instant such a process dies at, the next one
finds either a due time that still waits, or an open claim, which it closes before anything else.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.records.hooks import EVENTS, Event, call, failure_of, results_of, shown_hook
from gravel.pipeline.records.past_runs import read_run, run_folders
from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.job_store import Claim, JobStore, load_hooks
from gravel.pipeline.schedule.policy import again
from gravel.pipeline.schedule.times import iso
from gravel.pipeline.store.folder import RUN_RECORD, run_path
from gravel.pipeline.store.opening import MAX_LOG_BYTES, read_file

FAILURES = ("failed", "timed out", "lost")
"""The outcomes that call the failure hook."""
INTERRUPTED = 130


@dataclass(frozen=True)
class JobRun:
    """A run of a job of a job store, whose lease is held; `say` is called with a line on what happens."""

    store: JobStore
    job: Job
    say: Callable[[str], None]

    def begin(self) -> Claim | None:
        """Close what a dead process left; then claim the due time that waits, if there is one."""
        self._close_open_claim()
        name = self.job.name
        with self.store.lock(name):
            state = self.store.state(self.job)
            if state.waiting is None or not self.store.knows(self.job):
                return None
            before = next(iter(self.store.claims(name, state.waiting)[-1:]), None)
            attempt = 1 if before is None else before.attempt + 1
            claim = Claim(name, state.waiting, attempt, time.time(), os.getpid(), socket.gethostname())
            opened: Claim | None = claim
            if before is not None and before.state == "running":  # its process died before the state named it
                opened = before
            elif before is not None and not before.again:
                self.say(f"{name}: {iso(claim.due)} was run before the clock went back")
                opened = None
            elif not self.store.claim(claim):  # another has it, where nothing can be locked
                return None
            state = replace(state, waiting=None, open=None if opened is None else opened.name)
            self.store.write_state(self.job, state)
        if opened is claim:
            more = f", attempt {attempt}" if attempt > 1 else ""
            self.say(f"{name}: started the run due at {iso(claim.due)}{more}")
            return claim
        return self.begin()

    def end(self, claim: Claim, exit_code: int, seconds: float) -> Claim:
        """Record how the run of a claim ended, and call the hooks; returns the claim as it is then."""
        # Why it was interrupted may have been noted meanwhile.
        claim = self.store.find_claim(claim.job, claim.name) or claim
        claim.exit_code, claim.seconds = exit_code, round(seconds, 3)
        self._close(claim)
        return claim

    def _close_open_claim(self) -> None:
        state = self.store.state(self.job)
        if state.open is None:
            return
        claim = self.store.find_claim(self.job.name, state.open)
        if claim is not None:
            self._close(claim)
        else:  # what is known of it is nowhere else
            self.say(f"{self.job.name}: the record of run {state.open} cannot be read")
            with self.store.lock(self.job.name):
                self.store.write_state(self.job, replace(self.store.state(self.job), open=None))

    def _close(self, claim: Claim) -> None:
        if claim.state == "running":
            self._conclude(claim, find_record(self.store.root, claim))
            took = "" if claim.seconds is None else f" after {format_seconds(claim.seconds)}"
            why = f": {claim.problem}" if claim.problem else ""
            self.say(f"{claim.job}: the run due at {iso(claim.due)} is {claim.state}{took}{why}")
        if self.store.state(self.job).last != claim.name:
            self._record(claim)
        self._call_hooks(claim)

    def _conclude(self, claim: Claim, record: dict[str, Any] | None) -> None:
        """Write into a claim how its run ended: from its exit code, its record and its log."""
        code = claim.exit_code
        killed = code is None or code < 0
        state = None if record is None or record["ended"] is None else record["state"]
        if record is not None:
            claim.run = record["run"]
            claim.seconds = claim.seconds or (record["seconds"] if state else None)
        if code == 0 or (code is None and state == "done"):
            claim.state, claim.exit_code = "done", 0
            claim.results = None if record is None else results_of(record)
        elif claim.stopped == "time limit":
            limit, how = format_seconds(self.job.time_limit or 0.0), "killed" if killed else "interrupted"
            claim.state, claim.problem = "timed out", f"its time limit is {limit}; it was {how}"
        elif claim.stopped is not None or code == INTERRUPTED or (code is None and state == "interrupted"):
            claim.state, claim.problem = "interrupted", "killed, since it did not stop" if killed else None
        elif code is None and state is None:
            claim.state, claim.problem = "lost", f"its process ({claim.pid} on {claim.host}) is gone"
        elif code is not None and code < 0:
            claim.state, claim.problem = "failed", f"signal {-code} ended it"
        else:
            why = record and failure_of(record)
            claim.state, claim.problem = "failed", why or self._last_error(claim)

    def _last_error(self, claim: Claim) -> str | None:
        log = self.store.log(claim).relative_to(self.store.root).as_posix()
        with suppress(OSError, RequestError):
            text = read_file(self.store.root, log, MAX_LOG_BYTES).decode("utf-8", "replace")
            lines = [line for line in text.splitlines() if line.strip()]
            errors = [line for line in lines if "error:" in line] or lines
            return errors[-1].strip()[:500] if errors else None
        return None

    def _record(self, claim: Claim) -> None:
        claim.ended = claim.ended or time.time()
        with self.store.lock(self.job.name):
            if not self.store.knows(self.job):
                return
            state = after = self.store.state(self.job)
            claim.changed = claim.state == "done" and claim.results != state.results
            lost = sum(each.state == "lost" for each in self.store.claims(self.job.name, claim.due))
            if claim.state == "lost" or (claim.state == "interrupted" and claim.stopped == "service"):
                after = again(state, claim.due, lost + (claim.state == "lost"))
            claim.again = after is not state
            done = claim.state == "done"
            happened = {"failure": claim.state in FAILURES, "change": claim.changed, "success": done}
            claim.owed = [event for event in EVENTS if happened[event] and event in self.job.hooks]
            self.store.write_claim(claim)
            after = replace(after, open=claim.name if claim.owed else None, last=claim.name)
            self.store.write_state(self.job, replace(after, results=claim.results) if done else after)
            self.store.prune(self.job.name, claim.name)

    def _call_hooks(self, claim: Claim) -> None:
        record = find_record(self.store.root, claim) if claim.owed else None
        while claim.owed and self.store.knows(self.job):
            event = claim.owed[0]
            shown, problem = self._call_hook(event, claim, record)
            claim.hooks.append({"event": event, "hook": shown, "problem": problem})
            self.say(f"{claim.job}: {event} hook{shown and f' {shown}'}: {problem or 'called'}")
            del claim.owed[0]
            with self.store.lock(self.job.name):
                if self.store.knows(self.job):
                    self.store.write_claim(claim)
        with self.store.lock(self.job.name):
            if self.store.knows(self.job) and (state := self.store.state(self.job)).open == claim.name:
                self.store.write_state(self.job, replace(state, open=None))

    def _call_hook(self, event: Event, claim: Claim, record: dict[str, Any] | None) -> tuple[str, str | None]:
        """Call the user's hook for an event; returns it as it may be shown, and what went wrong."""
        try:
            target = load_hooks(self.job)[event]
        except GravelError as error:
            return "", f"not called: {error}"
        payload = {"event": event, "run": record, "problem": claim.problem}
        payload |= {"schedule": claim.job, "claim": claim.to_json()}
        return shown_hook(target), call(target, payload, Path(self.job.workflow).parent)


def find_record(root: Path, claim: Claim) -> dict[str, Any] | None:
    """Return the record of a claim's run, or None if it made none that can be read."""
    if claim.run is not None:
        return read_run(root / run_path(claim.run))
    if claim.state != "running":
        return None
    for folder in run_folders(root):
        try:
            if (folder / RUN_RECORD).stat().st_mtime < claim.began - 60:  # clocks of file servers differ
                return None
        except OSError:
            continue
        record = read_run(folder)
        if record is not None and (record["pid"], record["host"]) == (claim.pid, claim.host):
            return record
    return None
