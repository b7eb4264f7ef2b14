"""A supervisor that is killed, at every place that matters."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest

from gravel.pipeline.schedule import supervisor as keeping
from gravel.pipeline.schedule.child_process import Ended
from gravel.pipeline.schedule.job import Job
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.policy import MAX_LOST
from tests.pipeline.schedule_case import (
    DUE,
    Acts,
    hooked,
    job_of,
    keep,
    record,
    runs,
    states,
    store,
    wait_for,
)

__all__ = ["runs", "store"]


class Killed(BaseException):
    """Stands for kill -9: nothing that follows is done."""


def die(store: JobStore, job: Job) -> None:
    """Keep a run and be killed where the test arranged it; the lease becomes free, all else stays."""
    with pytest.raises(Killed):
        keep(store, job)


@pytest.mark.parametrize(
    ("policy", "found"), [("none", [(0, 1, "lost")]), ("once", [(0, 1, "lost"), (0, 2, "done")])]
)
def test_a_keeper_killed_in_its_run(
    store: JobStore, runs: Acts, policy: str, found: list[tuple[int, int, str]]
):
    job = job_of(catch_up=policy)
    store.add(job)
    wait_for(store, job, DUE)

    def kill(options: dict[str, Any]) -> None:
        raise Killed

    runs.act = kill
    die(store, job)
    assert states(store) == [(0, 1, "running")]
    del runs.act
    assert keep(store, job) == 0
    assert states(store) == found
    assert store.state(job).open is None
    assert keep(store, job) == 0
    assert states(store) == found


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("done", [(0, 1, "done")]),
        ("failed", [(0, 1, "failed")]),
        ("running", [(0, 1, "lost"), (0, 2, "done")]),
    ],
)
def test_a_keeper_killed_after_its_run(
    store: JobStore, runs: Acts, state: str, found: list[tuple[int, int, str]]
):
    """What the run's record says counts, and the run is not repeated."""
    job = hooked(store, catch_up="all", on_change="true")
    wait_for(store, job, DUE)

    def kill(options: dict[str, Any]) -> None:
        options["started"](
            record(store, "a-run", "x", state=state, seconds=2.0, pid=0, host=os.uname().nodename)
        )
        raise Killed

    runs.act = kill
    die(store, job)
    del runs.act
    assert keep(store, job) == 0
    assert states(store) == found
    first = store.claims("j")[0]
    assert first.run == "a-run"
    assert first.seconds == (None if state == "running" else 2.0)
    assert [each["event"] for each in first.hooks] == (["change"] if state == "done" else [])


def test_what_dead_writers_left_is_swept(store: JobStore, runs: Acts):
    job = job_of()
    store.add(job)
    folder = store.root / "schedules"
    (folder / ".removed-1" / "claims").mkdir(parents=True)
    (folder / "j" / "claims").mkdir()
    old, new = folder / "j" / "claims" / ".old", folder / "j" / ".new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    store.sweep()
    assert sorted(path.name for path in folder.rglob("*")) == [".new", "claims", "j", "job.json"]


def test_what_kills_every_keeper_is_given_up(store: JobStore, runs: Acts):
    job = job_of(catch_up="all")
    store.add(job)
    wait_for(store, job, DUE, DUE + 60)

    def kill(options: dict[str, Any]) -> None:
        if len(runs) <= MAX_LOST:
            raise Killed

    runs.act = kill
    for _ in range(MAX_LOST):
        die(store, job)
    assert keep(store, job) == 0
    lost = [(0, attempt + 1, "lost") for attempt in range(MAX_LOST)]
    assert states(store) == [*lost, (60, 1, "done")]


@pytest.mark.parametrize(
    ("verb", "number"), [("create", 0), ("create", 1), *(("replace", number) for number in range(6))]
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_write(
    store: JobStore, runs: Acts, monkeypatch: pytest.MonkeyPatch, verb: str, when: str, number: int
):
    """Killed before or after any write, the next supervisors end with one finished run of each due time.

    Only a run of which nothing but its claim is on disk is repeated.
    """
    job = job_of(catch_up="all")
    store.add(job)
    wait_for(store, job, DUE, DUE + 60)
    plain = getattr(type(store.cache.files), verb)
    calls = 0

    def deadly(self: Any, name: str, text: bytes, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number + 1 and when == "before":
            raise Killed
        result = plain(self, name, text, **options)
        if calls == number + 1:
            raise Killed
        return result

    monkeypatch.setattr(type(store.cache.files), verb, deadly)
    for _ in range(6):
        with suppress(Killed):
            keep(store, job)
    monkeypatch.undo()
    done = [(due, state) for due, _, state in states(store) if state == "done"]
    assert done == [(0, "done"), (60, "done")]
    assert len(states(store)) <= 3
    assert not any(state == "running" for _, _, state in states(store))
    assert store.state(job).waiting == ()
    assert store.state(job).open is None
    lost = sum(state == "lost" for _, _, state in states(store))
    assert calls > number, "it was killed"
    assert 2 <= len(runs) <= 2 + lost


def test_hooks_owed_by_a_dead_keeper_are_called(store: JobStore, runs: Acts, monkeypatch: pytest.MonkeyPatch):
    job = hooked(store, on_failure="hook", catch_up="none")
    wait_for(store, job, DUE)
    runs.act = lambda options: Ended(1, 1.0, None, None, False)
    told: list[dict[str, Any]] = []

    def killed(*arguments: Any) -> None:
        raise Killed

    monkeypatch.setattr(keeping, "call", killed)
    die(store, job)
    assert store.claims("j")[0].owed == ["failure"]
    monkeypatch.setattr(keeping, "call", lambda target, payload, folder: told.append(payload) or "no answer")
    assert keep(store, job) == 0
    (claim,) = store.claims("j")
    assert (claim.state, claim.owed) == ("failed", [])
    assert claim.hooks == [{"event": "failure", "hook": "hook", "problem": "no answer"}]
    assert [(each["event"], each["schedule"], each["run"]) for each in told] == [("failure", "j", None)]
    assert keep(store, job) == 0
    assert len(told) == 1
