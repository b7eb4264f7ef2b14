"""What there is to say about jobs, as plain data and in words: when they run next, what came of runs."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.records.hooks import EVENTS, shown_hook
from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.job_run import find_record
from gravel.pipeline.schedule.job_store import Claim, JobStore, load_hooks
from gravel.pipeline.schedule.policy import State, corrected, next_start
from gravel.pipeline.schedule.times import find_zone, from_iso, iso
from gravel.stages.urls import hidden_in_text

OVERDUE = 90.0
"""Seconds; a timer makes a pass every minute."""


def describe(store: JobStore, job: Job, now: float, *, history: int = 0, ahead: int = 1) -> dict[str, Any]:
    """Return a job as plain data: what was asked, `next` due times, `last` run, what goes and waits.

    `overdue` says that a due time has passed that nobody decided: nothing looks after the job.
    With `history`, also so many `runs`, the newest first. Times are UTC.
    """
    state = store.state(job)
    start = next_start(job, state, now)
    description = job.to_json() | {
        "created": iso(job.created),
        "settings": [hidden_in_text(text) for text in job.settings],
        "arguments": [hidden_in_text(text) for text in job.arguments],
        **_hooks(job),
        "next": [iso(due) for due in upcoming(job, state, now, ahead)],
        "overdue": start is not None and start < now - OVERDUE,
        "running": _claim(store, store.find_claim(job.name, state.open)) if store.running(job.name) else None,
        "last": _claim(store, store.find_claim(job.name, state.last)),
        "waiting": None if state.waiting is None else iso(state.waiting),
        "skipped": state.skipped,
    }
    if history:
        description["runs"] = [_claim(store, each) for each in reversed(store.claims(job.name)[-history:])]
    return description


def _hooks(job: Job) -> dict[str, str | None]:
    """Return `on_failure` and so on as they may be shown; of one that cannot be called, why."""
    try:
        own = {event: shown_hook(hook) for event, hook in load_hooks(job).items()}
    except GravelError as error:
        own = dict.fromkeys(job.hooks, f"not called: {error}")
    return {f"on_{event}": own.get(event) for event in EVENTS}


def upcoming(job: Job, state: State, now: float, count: int) -> list[int]:
    """Return the next due times that are not decided yet."""
    moment = now if corrected(state, now) else float(max(now, state.decided))
    return list(islice(job.times.later(moment), count))


def _claim(store: JobStore, claim: Claim | None) -> dict[str, Any] | None:
    if claim is None:
        return None
    log = store.log(claim)
    record = find_record(store.root, claim) if claim.state == "running" else None
    run = claim.run if record is None else record["run"]
    return claim.to_json() | {"run": run, "log": str(log) if log.exists() else None}


def local(moment: float, zone: str) -> str:
    """Write a moment in a job's zone: Fri 2026-11-20 03:00 CET (with seconds unless they are 0)."""
    when = datetime.fromtimestamp(int(moment), find_zone(zone))
    seconds = ":%S" if when.second else ""
    return when.strftime(f"%a %Y-%m-%d %H:%M{seconds} %Z")


def row(job: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of the line of a job, as `describe` gives it: name, times, next, last, outcome."""
    following = _local(job["next"][0], job) if job["next"] else "never"
    last, running = job["last"], job["running"]
    outcome = (
        f"running since {_local(running['began'], job)}" if running else "",
        _outcome(last) if last else "",
        "waiting to run" if job["waiting"] else "",
        "overdue: nothing looks after it" if job["overdue"] else "",
    )
    due = _local(last["due"], job) if last else "-"
    return job["name"], job["cron"], following, due, "; ".join(filter(None, outcome)) or "-"


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
    jitter = f", up to {job['jitter']:g} s later" if job["jitter"] else ""
    lines = [
        f"{job['name']}: {' '.join([job['workflow'], *words, *job['arguments']])}",
        f"  times       {job['cron']} in {job['zone']}{jitter}",
    ]
    if job["time_limit"]:
        lines.append(f"  time limit  {job['time_limit']:g} s")
    lines += [f"  {f'on {name}':<10}  {job[f'on_{name}']}" for name in EVENTS if job[f"on_{name}"]]
    lines.append(f"  next        {', '.join(_local(due, job) for due in job['next']) or 'never'}")
    if job["overdue"]:
        lines.append("  overdue     nothing looks after it; start `gravel schedule run` or a timer")
    if job["waiting"]:
        lines.append(f"  waiting     {_local(job['waiting'], job)}")
    lines.append(f"  skipped     {job['skipped']} due times")
    for claim in job["runs"]:
        attempt = f" (attempt {claim['attempt']})" if claim["attempt"] > 1 else ""
        lines.append(f"  {_local(claim['due'], job)}{attempt}  {claim['run'] or '-'}  {_outcome(claim)}")
        failed = [hook for hook in claim["hooks"] if hook["problem"]]
        lines += [f"    {hook['event']} hook {hook['hook']}: {hook['problem']}" for hook in failed]
        if claim["state"] not in ("done", "running") and claim["log"]:
            lines.append(f"    log: {claim['log']}")
    return lines
