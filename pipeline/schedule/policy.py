"""What to do about due times, as a function of the job, its state and the time. No clock, no file.

- Due times that were missed are run once: one run, under the newest of them, stands for all.
- A run at work is not doubled: what falls due while a run of the job goes or waits is skipped.

Due times are decided in order and once. A clock that went forward makes due times missed ones. A clock that
went back does not repeat what was decided: up to `CORRECTION` the job waits until the time has come again;
more than that is a correction of a clock that was wrong, and counting starts anew from the time that it says
(the due times that were run under the wrong time keep their claims and are not run again).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from pydantic.dataclasses import dataclass

from gravel.pipeline.schedule.job import DueTime, Job, Record
from gravel.pipeline.schedule.times import iso

CORRECTION = 3 * 3600.0
"""Seconds; the bound above which Debian cron, too, takes a change of the clock for a correction."""
MAX_COUNTED = 100
"""How many skipped due times are counted at once."""
MAX_LOST = 3
"""How often a due time is run whose run is lost each time: it may be what brings the machine down."""


@dataclass(frozen=True)
class State(Record):
    """Where a job stands.

    `decided` is the newest due time about which everything is decided (or when the job was added); `waiting`
    is to be run; `open` is the claim whose run goes, or went when it died; `last` is the newest claim that
    ended; `results` stands for what the last successful run made; `skipped` counts due times without a run of
    their own.
    """

    decided: DueTime
    waiting: DueTime | None = None
    open: str | None = None
    last: str | None = None
    results: str | None = None
    skipped: int = 0


def next_start(job: Job, state: State, now: float) -> float | None:
    """Return when the next due time that is not decided starts a run; it may be past."""
    due = job.times.after(now if corrected(state, now) else state.decided)
    return None if due is None else job.starts(due)


def corrected(state: State, now: float) -> bool:
    """Say whether the clock was so far ahead that what it said does not count."""
    return state.decided - now > CORRECTION


def decide(job: Job, state: State, now: float, running: bool) -> tuple[State, list[str]]:
    """Decide every due time whose start has come; returns the new state and what to tell about it."""
    events = []
    if corrected(state, now):
        events.append(f"the clock went back from {iso(state.decided)} or later: counting starts anew")
        state = replace(state, decided=int(now))
    passed = job.times.between(state.decided, now, MAX_COUNTED)
    ready = list(takewhile(lambda due: job.starts(due) <= now, passed))
    if not ready:
        return state, events
    newest, skipped = ready[-1], len(ready) - 1
    state = replace(state, decided=newest)
    if running or state.waiting is not None:
        skipped += 1
        events.append(f"{iso(newest)} skipped ({skipped} in all): a run still goes or waits")
    else:
        state = replace(state, waiting=newest)
        if skipped:
            events.append(f"{skipped} due times before {iso(newest)} were missed: one run stands for all")
    return replace(state, skipped=state.skipped + skipped), events


def again(state: State, due: int, lost: int) -> State:
    """Put a due time back whose run ended before its time; one that waits already stands for it.

    `lost` is how many of its runs were lost.
    """
    return state if lost >= MAX_LOST or state.waiting is not None else replace(state, waiting=due)
