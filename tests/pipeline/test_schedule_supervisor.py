"""Jobs on disk and their supervisors: whenever a supervisor dies, the next one goes on from there."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.schedule import job_store as book_module
from gravel.pipeline.schedule import supervisor as keeping
from gravel.pipeline.schedule.child_process import Ended
from gravel.pipeline.schedule.hooks import save_hooks
from gravel.pipeline.schedule.job import EVENTS, Job
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.listing import describe
from gravel.pipeline.schedule.policy import MAX_LOST, State, Waiting
from gravel.pipeline.schedule.supervisor import Supervisor
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import Lease
from tests.pipeline.run_records import whole

DUE = 1_800_000_000


class Killed(BaseException):
    """Stands for kill -9: nothing that follows is done."""


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
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # no power is cut here, and a busy disk is slow
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


def die(store: JobStore, job: Job) -> None:
    """Keep a run and be killed where the test arranged it; the lease becomes free, all else stays."""
    with pytest.raises(Killed):
        keep(store, job)


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


def test_a_job_comes_back_as_it_was_added(store: JobStore):
    job = job_of(settings=["a=1"], arguments=["--only", "x"], jitter=2.5, time_limit=60.0, hooks=("change",))
    store.add(job)
    assert JobStore(store.root).job("j") == job
    assert job.words("/c") == ["run", "/w.yaml", "--set", "a=1", "--only", "x", "--cache", "/c"]
    assert store.state(job) == State(0)
    assert store.names() == ["j"]


def test_a_name_is_taken_once(store: JobStore):
    added: list[str] = []
    refused: list[str] = []

    def add(number: int) -> None:
        try:
            store.add(job_of(id=str(number)))
            added.append(str(number))
        except RequestError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added == [store.job("j").id]
    assert len(refused) == 7
    assert all("there is a schedule 'j' already" in each for each in refused)


def test_an_unknown_name_is_told_the_nearest(store: JobStore):
    store.add(job_of(name="nightly"))
    with pytest.raises(RequestError) as caught:
        store.job("nigthly")
    assert caught.value.problems[0].hint == "did you mean 'nightly'?"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}', '{"format": 1}', "\0" * 100])
@pytest.mark.parametrize("name", ["job.json", "state.json"])
def test_damaged_files_are_said(store: JobStore, name: str, text: str):
    job = job_of()
    store.add(job)
    (store.root / "schedules" / "j" / name).write_text(text)
    with pytest.raises(GravelError, match="cannot be read"):
        store.state(store.job("j"))
    store.remove("j")
    store.add(job)


def test_a_run_is_claimed_recorded_and_over(store: JobStore, runs: Acts):
    job = job_of()
    store.add(job)
    wait_for(store, job, DUE, DUE + 60)

    def look(options: dict[str, Any]) -> None:
        assert store.running("j")
        state = store.state(job)
        claim = store.find_claim("j", state.open or "")
        assert claim is not None
        assert (claim.due, claim.state, claim.pid) == (DUE, "running", os.getpid())
        assert state.waiting == (Waiting(DUE + 60),)
        assert keep(store, job) == 0, "another supervisor finds the lease taken"
        assert describe(store, job, 0.0)["running"]["state"] == "running"
        options["started"]("a-run")
        assert store.find_claim("j", claim.name).run == "a-run"  # type: ignore[union-attr]

    runs.act = look
    assert keep(store, job) == 0
    assert len(runs) == 1
    assert states(store) == [(0, 1, "done")]
    assert not store.running("j")
    told = describe(store, job, 0.0, history=5)
    assert told["last"]["state"] == "done"
    assert told["running"] is None
    assert told["waiting"] == ["2027-01-15T08:01:00Z"]
    assert [each["run"] for each in told["runs"]] == ["a-run"]


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


def test_hooks_hear_of_failures_and_of_changes_only(
    store: JobStore, runs: Acts, monkeypatch: pytest.MonkeyPatch
):
    job = hooked(store, on_failure="f", on_change="c", catch_up="all")
    heard: list[tuple[str, Any]] = []
    monkeypatch.setattr(
        keeping, "call", lambda target, told, folder: heard.append((told["event"], told["run"]))
    )
    stages = {"first": ["a", "b"], "same": ["a", "b"], "other": ["a", "c"]}
    outcomes = [
        Ended(0, 1.0, "first", None, False),
        Ended(0, 1.0, "same", None, False),
        Ended(1, 1.0, None, None, False),
        Ended(130, 1.0, None, None, False),
        Ended(130, 1.0, None, "time limit", False),
        Ended(0, 1.0, "same", None, False),
        Ended(0, 1.0, "other", None, False),
    ]
    for run, outputs in stages.items():
        record(store, run, *outputs)
    runs.act = lambda options: outcomes[len(runs) - 1]
    for number in range(len(outcomes)):
        wait_for(store, job, DUE + number)
        keep(store, job)
    assert [claim.state for claim in store.claims("j")] == [
        "done",
        "done",
        "failed",
        "interrupted",
        "timed out",
        "done",
        "done",
    ]
    events = [(event, run and run["run"]) for event, run in heard]
    assert events == [("change", "first"), ("failure", None), ("failure", None), ("change", "other")]


@pytest.mark.parametrize(("policy", "again"), [("none", False), ("once", True)])
def test_a_run_that_a_stopped_service_interrupted(store: JobStore, runs: Acts, policy: str, again: bool):
    job = job_of(catch_up=policy)
    store.add(job)
    wait_for(store, job, DUE)
    runs.act = lambda options: Ended(130, 1.0, None, "supervisor", False)
    assert keep(store, job) == 1
    (claim,) = store.claims("j")
    assert (claim.state, claim.again) == ("interrupted", again)
    assert store.state(job).waiting == ((Waiting(DUE, 2),) if again else ())


def test_a_due_time_that_was_run_before_the_clock_went_back(store: JobStore, runs: Acts):
    job = job_of()
    store.add(job)
    for _ in range(2):
        wait_for(store, job, DUE)
        assert keep(store, job) == 0
    assert len(runs) == 1
    wait_for(store, job, DUE, DUE + 60)
    assert keep(store, job) == 0
    assert states(store) == [(0, 1, "done"), (60, 1, "done")]


def test_claims_exclude_each_other_where_nothing_locks(
    store: JobStore, runs: Acts, monkeypatch: pytest.MonkeyPatch
):
    """Eight supervisors whose locks and leases are none: the claim alone decides."""
    from contextlib import nullcontext

    monkeypatch.setattr(Cache, "lock", lambda self, digest, waiting=None: nullcontext())
    monkeypatch.setattr(
        JobStore, "take_lease", lambda self, name: Lease(self.root / f"{threading.get_ident()}.lock", "test")
    )
    job = job_of()
    store.add(job)
    wait_for(store, job, DUE)
    barrier = threading.Barrier(8)
    plain = JobStore.claim

    def together(self: JobStore, claim: Claim) -> bool:
        barrier.wait(5)
        return plain(self, claim)

    monkeypatch.setattr(JobStore, "claim", together)
    threads = [threading.Thread(target=keep, args=(store, job)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1


def test_a_job_that_is_removed_while_it_runs(store: JobStore, runs: Acts):
    old = job_of(id="old")
    store.add(old)
    wait_for(store, old, DUE)

    def remove(options: dict[str, Any]) -> None:
        store.remove("j")
        store.add(job_of(id="new"))
        assert store.running("j"), "its run still goes"

    runs.act = remove
    assert keep(store, old) == 0
    assert store.claims("j") == []
    assert store.state(store.job("j")) == State(0)
    store.remove("j")
    assert store.names() == []
    assert list((store.root / "schedules").iterdir()) == []


def test_old_claims_go(store: JobStore, runs: Acts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(book_module, "KEPT_CLAIMS", 3)
    job = job_of()
    store.add(job)
    for number in range(5):
        wait_for(store, job, DUE + number)
        keep(store, job)
    assert [claim.due - DUE for claim in store.claims("j")] == [2, 3, 4]


def test_the_reason_of_a_failure(store: JobStore, runs: Acts):
    job = job_of()
    store.add(job)
    failed = {"key": "sum", "state": "failed", "outputs": [], "error": "it broke"}
    record(store, "broken", stages=[failed])
    outcomes = {
        "sum: it broke": Ended(1, 1.0, "broken", None, False),
        "signal 9 ended it": Ended(-9, 1.0, None, None, False),
        "error: there is no workflow file x": Ended(2, 1.0, None, None, False),
    }
    for number, (_, ended) in enumerate(outcomes.items()):
        wait_for(store, job, DUE + number)

        def act(options: dict[str, Any], ended: Ended = ended) -> Ended:
            options["log"].write_text("one\nerror: there is no workflow file x\n  hint: none\n")
            return ended

        runs.act = act
        assert keep(store, job) == 1
    assert [claim.problem for claim in store.claims("j")] == list(outcomes)
