"""Jobs in words: a row of the list, and everything about one. They are given as `listing.describe` does."""

from __future__ import annotations

from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.schedule.listing import local
from gravel.pipeline.schedule.times import from_iso


def row(job: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a job's line: name, times, next, last, outcome."""
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
