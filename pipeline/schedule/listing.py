"""What there is to say about jobs: when they run next, what came of the last runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.schedule.job import EVENTS, Job, shown_hook
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.own_hooks import load_hooks, missing_hook
from gravel.pipeline.schedule.policy import CORRECTION, State, next_start
from gravel.pipeline.schedule.times import find_zone, iso
from gravel.pipeline.store.leases import holder
from gravel.stages.addresses import hidden_in_text

OVERDUE = 90.0
"""Seconds; a timer makes a pass every minute."""


def describe(store: JobStore, job: Job, now: float, *, history: int = 0, ahead: int = 1) -> dict[str, Any]:
    """Return a job as plain data: what was asked, `next` due times, `last` run, what goes and waits.

    `overdue` says that a due time has passed that nobody decided: no service looks after the job.
    With `history`, also so many `runs`, the newest first. Times are UTC.
    """
    state = store.state(job)
    asked = job.to_json() | {
        "created": iso(job.created),
        "settings": [hidden_in_text(text) for text in job.settings],
        "arguments": [hidden_in_text(text) for text in job.arguments],
        **_hooks(job),
    }
    start = next_start(job, state, now)
    running = holder(store.lease_path(job.name))
    last = store.find_claim(job.name, state.last) if state.last else None
    now_open = store.find_claim(job.name, state.open) if state.open else None
    description = {
        **asked,
        "next": [iso(due) for due in upcoming(job, state, now, ahead)],
        "overdue": start is not None and start < now - OVERDUE,
        "running": None if running is None or now_open is None else _claim(store, now_open),
        "last": None if last is None else _claim(store, last),
        "waiting": [iso(each.due) for each in state.waiting],
        "missed": state.missed,
        "skipped": state.skipped,
    }
    if history:
        description["runs"] = [_claim(store, each) for each in reversed(store.claims(job.name)[-history:])]
    return description


def _hooks(job: Job) -> dict[str, str | None]:
    """Return `on_failure` and `on_change` as they may be shown; of one that is not called, why."""
    try:
        own = load_hooks(job)
    except GravelError as error:
        return {f"on_{event}": str(error) if event in job.hooks else None for event in EVENTS}
    description: dict[str, str | None] = {}
    for event in EVENTS:
        wanted = event in own or event in job.hooks or event in job.in_cache
        description[f"on_{event}"] = (
            (shown_hook(own.get(event)) or missing_hook(job, event)) if wanted else None
        )
    return description


def upcoming(job: Job, state: State, now: float, count: int) -> list[int]:
    """Return the next due times that are not decided yet."""
    ahead = state.decided - now
    moment = float(max(now, state.decided)) if ahead <= CORRECTION else now
    found: list[int] = []
    while len(found) < count and (due := job.times.after(moment)) is not None:
        found.append(due)
        moment = due
    return found


def _claim(store: JobStore, claim: Claim) -> dict[str, Any]:
    log = store.folder(claim.job) / f"{claim.name}.log"
    return claim.to_json() | {"log": str(log) if log.exists() else None}


def local(moment: float, zone: str) -> str:
    """Write a moment in a job's zone: Fri 2026-11-20 03:00 CET (with seconds unless they are 0)."""
    when = datetime.fromtimestamp(int(moment), find_zone(zone))
    seconds = ":%S" if when.second else ""
    return when.strftime(f"%a %Y-%m-%d %H:%M{seconds} %Z")
