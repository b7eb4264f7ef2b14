"""Jobs, and processes of runs whose `gravel run` is pretended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.records.hooks import EVENTS
from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.job_run import JobRun
from gravel.pipeline.schedule.job_store import Claim, JobStore, save_hooks
from tests.pipeline.run_records import whole

DUE = 1_800_000_000
Act = Callable[[Claim], int]


def job_of(**changes: Any) -> Job:
    return Job(
        **{"name": "j", "workflow": "/w.yaml", "cron": "@hourly", "zone": "UTC", "created": 0.0, **changes}
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobStore:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return JobStore(tmp_path)


def added(store: JobStore, *dues: int, **options: Any) -> Job:
    """Add a job with hooks `on_failure` and so on, of which a due time waits."""
    hooks = {event: options.pop(f"on_{event}") for event in EVENTS if f"on_{event}" in options}
    job = job_of(hooks=tuple(hooks), **options)
    store.add(job)
    save_hooks(job, store.root, hooks)
    for due in dues:
        wait_for(store, job, due)
    return job


def wait_for(store: JobStore, job: Job, due: int) -> None:
    store.write_state(job, replace(store.state(job), waiting=due))


def process(store: JobStore, job: Job, act: Act = lambda claim: 0) -> str | None:
    """Do what the process of a run does; `act` stands for `gravel run`. Returns the state of the claim."""
    with store.lock(job.name):
        lease = store.take_lease(job.name)
    if lease is None:
        return "running"
    try:
        run = JobRun(store, job, lambda line: None)
        claim = run.begin()
        return None if claim is None else run.end(claim, act(claim), 1.0).state
    finally:
        lease.end()


def states(store: JobStore) -> list[tuple[int, int, str]]:
    return [(claim.due - DUE, claim.attempt, claim.state) for claim in store.claims("j")]


def record(store: JobStore, claim: Claim, *outputs: str, **more: Any) -> None:
    """Write the record of the run of a claim."""
    stages = [
        {"key": f"s{n}", "state": "computed", "outputs": [each], "error": None}
        for n, each in enumerate(outputs)
    ]
    folder = store.root / "runs" / f"run-{claim.name}"
    folder.mkdir(parents=True)
    about = {"run": folder.name, "state": "done", "stages": stages, "pid": claim.pid, "host": claim.host}
    (folder / "run.json").write_text(json.dumps(whole(about | more)))
