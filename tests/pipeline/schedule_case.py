"""Jobs, and a supervisor whose runs are pretended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.schedule import supervisor as keeping
from gravel.pipeline.schedule.child_process import Ended
from gravel.pipeline.schedule.hooks import save_hooks
from gravel.pipeline.schedule.job import EVENTS, Job
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.policy import Waiting
from gravel.pipeline.schedule.supervisor import Supervisor
from tests.pipeline.run_records import whole

DUE = 1_800_000_000


def job_of(**changes: Any) -> Job:
    return Job(
        **{"name": "j", "workflow": "/w.yaml", "cron": "@hourly", "zone": "UTC", "created": 0.0, **changes}
    )


def hooked(store: JobStore, **options: Any) -> Job:
    """Add a job with hooks, `on_failure` and `on_change`."""
    hooks = {event: options.pop(f"on_{event}") for event in EVENTS if f"on_{event}" in options}
    job = job_of(hooks=tuple(hooks), **options)
    store.add(job)
    save_hooks(job, store.root, hooks)
    return job


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobStore:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return JobStore(tmp_path)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Replaces the run; each call is noted, and what it does can be set as `runs.act`."""
    called: list[dict[str, Any]] = Acts()

    def carry_out(words: list[str], **options: Any) -> Ended:
        called.append({"words": words, **options})
        return called.act(options) or Ended(0, 1.0, None, None, False)  # type: ignore[attr-defined]

    monkeypatch.setattr(keeping, "carry_out", carry_out)
    return called


class Acts(list[dict[str, Any]]):
    act: Callable[[dict[str, Any]], Ended | None] = staticmethod(lambda options: None)


def wait_for(store: JobStore, job: Job, *dues: int) -> None:
    store.write_state(job, replace(store.state(job), waiting=tuple(Waiting(due) for due in dues)))


def keep(store: JobStore, job: Job) -> int:
    return Supervisor(store, job, say=lambda line: None, clock=lambda: 5e8).keep()


def states(store: JobStore) -> list[tuple[int, int, str]]:
    return [(claim.due - DUE, claim.attempt, claim.state) for claim in store.claims("j")]


def record(store: JobStore, run: str, *outputs: str, **more: Any) -> str:
    stages = [
        {"key": f"s{n}", "state": "computed", "outputs": [each], "error": None}
        for n, each in enumerate(outputs)
    ]
    folder = store.root / "runs" / run
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(
        json.dumps(whole({"run": run, "state": "done", "stages": stages} | more))
    )
    return run
