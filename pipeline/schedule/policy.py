"""What to do about due times: the policies, as a function of the job, its state and the time.

Nothing here reads a clock or a file. A due time is *in time* if it is noticed within `IN_TIME` of its start;
of several that are noticed at once only the newest can be, and the others were missed.

- Catch-up `none`: what was missed is not run. `once`: one run for all that was missed, under the newest due
  time. `all`: a run for each, one after another, for the newest `MAX_MISSED`.
- Overlap `skip`: what falls due while a run of the job goes or waits is not run. `queue`: it waits; at most
  `MAX_WAITING` do, and what comes after is skipped.

Due times are decided in order and once. A clock that went forward makes due times missed ones. A clock that
went back does not repeat what was decided: up to `CORRECTION` the job waits until the time has come again;
more than that is a correction of a clock that was wrong, and counting starts anew from the time that it says
(the due times that were run under the wrong time keep their claims and are not run again).
"""

from __future__ import annotations

from dataclasses import replace

from pydantic.dataclasses import dataclass

from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.record import DueTime, Record
from gravel.pipeline.schedule.times import iso

IN_TIME = 300.0
"""Seconds; so that a `tick` every five minutes misses nothing."""
CORRECTION = 3 * 3600.0
"""Seconds; the bound above which Debian cron, too, takes a change of the clock for a correction."""
MAX_MISSED = 100
MAX_WAITING = 100
MAX_LOST = 3
"""How often a due time is run whose run is lost each time: it may be what brings the machine down."""


@dataclass(frozen=True)
class Waiting:
    """A due time that is to be run, and the how-manieth time that will be."""

    due: DueTime
    attempt: int = 1


@dataclass(frozen=True)
class State(Record):
    """Where a job stands.

    `decided` is the newest due time about which everything is decided (or when the job was added);
    `waiting` are to be run, in order; `open` is the claim whose run goes, or went when its supervisor died;
    `last` is the newest claim that ended; `results` stands for what the last successful run made;
    `missed` and `skipped` count the due times that the policies dropped.
    """

    decided: DueTime
    waiting: tuple[Waiting, ...] = ()
    open: str | None = None
    last: str | None = None
    results: str | None = None
    missed: int = 0
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
    ready = []
    for due in job.times.between(state.decided, now, MAX_MISSED):
        if job.starts(due) > now:
            break
        ready.append(due)
    if not ready:
        return state, events
    newest = ready[-1]
    in_time = now - job.starts(newest) <= IN_TIME
    if job.catch_up == "all":
        wanted = ready
    elif in_time or job.catch_up == "once":
        wanted = [newest]
    else:
        wanted = []
    dropped = len(ready) - len(wanted)
    if dropped:
        events.append(f"{dropped} due {'time' if dropped == 1 else 'times'} up to {iso(newest)} missed")
    if running or state.waiting:
        room = MAX_WAITING - len(state.waiting) if job.overlap == "queue" else 0
        refused = wanted[room:]
        wanted = wanted[:room]
        if refused:
            why = "a run still goes" if job.overlap == "skip" else f"{MAX_WAITING} wait already"
            events.append(f"{iso(refused[-1])} skipped ({len(refused)} in all): {why}")
        state = replace(state, skipped=state.skipped + len(refused))
    queued = (*state.waiting, *(Waiting(due) for due in wanted))
    return replace(state, decided=newest, waiting=queued, missed=state.missed + dropped), events


def again(job: Job, state: State, due: int, attempt: int, lost: int) -> State:
    """Put a due time back whose run ended before its time, if the job catches up.

    `lost` is how many of its runs were lost. With catch-up `once` a newer due time that waits stands for it.
    """
    newer = any(each.due > due for each in state.waiting)
    if job.catch_up == "none" or lost >= MAX_LOST or (job.catch_up == "once" and newer):
        return state
    return replace(state, waiting=(Waiting(due, attempt + 1), *state.waiting))
