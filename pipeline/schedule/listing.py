"""What there is to say about jobs, as plain data and in words: when they run next, what came of runs."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.schedule.hooks import load_hooks, missing_hook
from gravel.pipeline.schedule.job import EVENTS, Job, shown_hook
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.policy import State, corrected, next_start
from gravel.pipeline.schedule.times import find_zone, from_iso, iso
from gravel.pipeline.store.leases import holder
from gravel.stages.urls import hidden_in_text

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
    description = {
        **asked,
        "next": [iso(due) for due in upcoming(job, state, now, ahead)],
        "overdue": start is not None and start < now - OVERDUE,
        "running": None if running is None else _claim(store, store.find_claim(job.name, state.open)),
        "last": _claim(store, store.find_claim(job.name, state.last)),
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
    wanted = {*own, *job.hooks, *job.in_cache}
    return {
        f"on_{event}": shown_hook(own.get(event)) or missing_hook(job, event) if event in wanted else None
        for event in EVENTS
    }


def upcoming(job: Job, state: State, now: float, count: int) -> list[int]:
    """Return the next due times that are not decided yet."""
    moment = now if corrected(state, now) else float(max(now, state.decided))
    return list(islice(job.times.later(moment), count))


def _claim(store: JobStore, claim: Claim | None) -> dict[str, Any] | None:
    if claim is None:
        return None
    log = store.folder(claim.job) / f"{claim.name}.log"
    return claim.to_json() | {"log": str(log) if log.exists() else None}


def local(moment: float, zone: str) -> str:
    """Write a moment in a job's zone: Fri 2026-11-20 03:00 CET (with seconds unless they are 0)."""
    when = datetime.fromtimestamp(int(moment), find_zone(zone))
    seconds = ":%S" if when.second else ""
    return when.strftime(f"%a %Y-%m-%d %H:%M{seconds} %Z")


def row(job: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of the line of a job, as `describe` gives it: name, times, next, last, outcome."""
    following = _local(job["next"][0], job) if job["next"] else "never"
    last = job["last"]
    outcome = "" if last is None else _outcome(last)
    if job["running"] is not None:
        outcome = f"running since {_local(job['running']['began'], job)}" + (outcome and f"; {outcome}")
    if job["waiting"]:
        outcome += ("; " if outcome else "") + f"{len(job['waiting'])} waiting"
    if job["overdue"]:
        outcome += ("; " if outcome else "") + "overdue: no service looks after it"
    return job["name"], job["cron"], following, _local(last["due"], job) if last else "-", outcome or "-"


def _local(text: str, job: dict[str, Any]) -> str:
    return local(from_iso(text), job["zone"])


def _outcome(claim: dict[str, Any]) -> str:
    took = "" if claim["seconds"] is None else f" in {format_seconds(claim['seconds'])}"
    changed = ", changed" if claim["changed"] else ""
    again = ", runs again" if claim["again"] else ""
    problem = f": {claim['problem']}" if claim["problem"] else ""
    return f"{claim['state']}{took}{changed}{again}{problem}"


def details(job: dict[str, Any]) -> list[str]:
    """Return the lines that tell all of a job, its runs with them."""
    words = [word for text in job["settings"] for word in ("--set", text)]
    lines = [
        f"{job['name']}: {' '.join([job['workflow'], *words, *job['arguments']])}",
        f"  times       {job['cron']} in {job['zone']}"
        + (f", up to {job['jitter']:g} s later" if job["jitter"] else ""),
        f"  policies    catch up {job['catch_up']}, overlap {job['overlap']}"
        + (f", time limit {job['time_limit']:g} s" if job["time_limit"] else ""),
    ]
    hooks = [(name, job[f"on_{name}"]) for name in ("failure", "change") if job[f"on_{name}"]]
    lines += [f"  {f'on {name}':<10}  {target}" for name, target in hooks]
    lines.append(f"  next        {', '.join(_local(due, job) for due in job['next']) or 'never'}")
    if job["overdue"]:
        lines.append("  overdue     no service looks after it; start `gravel schedule run` or a timer")
    if job["waiting"]:
        lines.append(f"  waiting     {', '.join(_local(due, job) for due in job['waiting'])}")
    lines.append(f"  dropped     {job['missed']} missed, {job['skipped']} skipped")
    for claim in job["runs"]:
        attempt = f" (attempt {claim['attempt']})" if claim["attempt"] > 1 else ""
        lines.append(f"  {_local(claim['due'], job)}{attempt}  {claim['run'] or '-'}  {_outcome(claim)}")
        lines += [
            f"    {hook['event']} hook {hook['hook']}: {hook['problem']}"
            for hook in claim["hooks"]
            if hook["problem"]
        ]
        if claim["state"] not in ("done", "running") and claim["log"]:
            lines.append(f"    log: {claim['log']}")
    return lines
