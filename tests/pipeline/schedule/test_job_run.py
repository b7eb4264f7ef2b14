"""The store of jobs, and the process of a run: wherever one dies, the next one goes on from there."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.schedule import job_run, job_store
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.listing import describe
from gravel.pipeline.schedule.policy import MAX_LOST, State
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import Lease
from tests.pipeline.schedule.case import DUE, added, job_of, process, record, states, store, wait_for


class Killed(BaseException):
    """Stands for kill -9: nothing that follows is done, but the lease becomes free."""


def kill(claim: Claim) -> int:
    raise Killed


def test_a_run_is_claimed_recorded_and_over(store: JobStore):
    job = added(store, DUE)

    def act(claim: Claim) -> int:
        assert store.running("j")
        assert store.state(job) == State(0, open=claim.name)
        assert (claim.due, claim.state, claim.pid) == (DUE, "running", os.getpid())
        assert process(store, job) == "running", "another process finds the lease taken"
        record(store, claim, "x", state="running")
        assert describe(store, job, 0.0)["running"]["run"] == f"run-{claim.name}"
        return 0

    assert process(store, job, act) == "done"
    assert states(store) == [(0, 1, "done")]
    assert not store.running("j")
    told = describe(store, job, 0.0, history=5)
    assert (told["last"]["state"], told["running"], told["waiting"]) == ("done", None, None)
    assert [each["run"] for each in told["runs"]] == [f"run-{store.claims('j')[0].name}"]
    assert process(store, job) is None, "nothing waits"


def test_what_each_hook_hears_of(store: JobStore, monkeypatch: pytest.MonkeyPatch):
    job = added(store, on_failure="f", on_change="c", on_success="s")
    heard: list[str] = []
    monkeypatch.setattr(job_run, "call", lambda target, told, folder: heard.append(told["event"]))
    runs = [("ab", 0), ("ab", 0), ("", 1), ("", 130), ("time limit", 130), ("ab", 0), ("ac", 0)]
    for number, (made, code) in enumerate(runs):
        wait_for(store, job, DUE + number)

        def act(claim: Claim, made: str = made, code: int = code) -> int:
            if code == 0:
                record(store, claim, *made)
            elif made:
                claim.stopped = made
                store.write_claim(claim)
            return code

        process(store, job, act)
    ended = [claim.state for claim in store.claims("j")]
    assert ended == [*("done", "done", "failed", "interrupted", "timed out", "done", "done")]
    told = "change, success, success, failure, failure, success, change, success"
    assert ", ".join(heard) == told


@pytest.mark.parametrize(("stopped", "again"), [(None, False), ("service", True)])
def test_a_run_that_was_interrupted(store: JobStore, stopped: str | None, again: bool):
    job = added(store, DUE)

    def act(claim: Claim) -> int:
        claim.stopped = stopped
        store.write_claim(claim)
        return 130

    assert process(store, job, act) == "interrupted"
    (claim,) = store.claims("j")
    assert claim.again == again
    assert store.state(job).waiting == (DUE if again else None)


def test_a_due_time_that_was_run_before_the_clock_went_back(store: JobStore):
    job = added(store, DUE)
    assert process(store, job) == "done"
    wait_for(store, job, DUE)
    assert process(store, job, kill) is None
    assert states(store) == [(0, 1, "done")]


def test_claims_exclude_each_other_where_nothing_locks(store: JobStore, monkeypatch: pytest.MonkeyPatch):
    """Eight processes whose locks and leases are none: the claim alone decides."""
    monkeypatch.setattr(Cache, "lock", lambda self, digest, waiting=None: nullcontext())
    monkeypatch.setattr(
        JobStore, "take_lease", lambda self, name: Lease(self.root / f"{threading.get_ident()}.lock", "test")
    )
    job = added(store, DUE)
    barrier = threading.Barrier(8)
    plain = JobStore.claim
    ran: list[int] = []

    def together(self: JobStore, claim: Claim) -> bool:
        barrier.wait(5)
        return plain(self, claim)

    def act(claim: Claim) -> int:
        ran.append(1)
        return 0

    monkeypatch.setattr(JobStore, "claim", together)
    threads = [threading.Thread(target=process, args=(store, job, act)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ran == [1]


def test_a_job_that_is_removed_while_it_runs(store: JobStore):
    old = added(store, DUE, id="old")

    def act(claim: Claim) -> int:
        store.remove("j")
        store.add(job_of(id="new"))
        assert store.running("j"), "its run still goes"
        return 0

    process(store, old, act)
    assert store.claims("j") == []
    assert store.state(store.job("j")) == State(0)
    store.remove("j")
    assert store.names() == []
    assert list((store.root / "schedules").iterdir()) == []


def test_old_claims_go(store: JobStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_store, "KEPT_CLAIMS", 3)
    job = added(store)
    for number in range(5):
        wait_for(store, job, DUE + number)
        process(store, job)
    assert [claim.due - DUE for claim in store.claims("j")] == [2, 3, 4]


@pytest.mark.parametrize(
    ("code", "stages", "log", "problem"),
    [
        (1, [{"key": "sum", "state": "failed", "outputs": [], "error": "it broke"}], "", "sum: it broke"),
        (-9, None, "", "signal 9 ended it"),
        (2, None, "one\nerror: there is no file x\n  hint: none\n", "error: there is no file x"),
    ],
)
def test_the_reason_of_a_failure(store: JobStore, code: int, stages: Any, log: str, problem: str):
    job = added(store, DUE)

    def act(claim: Claim) -> int:
        store.log(claim).write_text(log)
        if stages is not None:
            record(store, claim, stages=stages, state="failed")
        return code

    assert process(store, job, act) == "failed"
    assert store.claims("j")[0].problem == problem


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (None, [(0, 1, "lost"), (0, 2, "done")]),
        ("running", [(0, 1, "lost"), (0, 2, "done")]),
        ("done", [(0, 1, "done")]),
        ("failed", [(0, 1, "failed")]),
        ("interrupted", [(0, 1, "interrupted")]),
    ],
)
def test_a_process_killed_in_its_run(store: JobStore, state: str | None, found: list[tuple[int, int, str]]):
    """What the run's record says counts; only a run of which nothing is known is repeated."""
    job = added(store, DUE, on_change="true")

    def act(claim: Claim) -> int:
        if state is not None:
            ended = None if state == "running" else "2026-11-20T10:00:03"
            record(store, claim, "x", state=state, ended=ended, seconds=2.0)
        raise Killed

    with pytest.raises(Killed):
        process(store, job, act)
    assert states(store) == [(0, 1, "running")]
    for _ in range(2):
        process(store, job)
        assert states(store) == found
    first = store.claims("j")[0]
    assert first.run == (state and f"run-{first.name}")
    assert first.seconds == (None if state in (None, "running") else 2.0)
    assert [each["event"] for each in first.hooks] == (["change"] if state == "done" else [])
    assert store.state(job).open is None


def test_what_kills_every_process_is_given_up(store: JobStore):
    job = added(store, DUE)
    for _ in range(MAX_LOST):
        with pytest.raises(Killed):
            process(store, job, kill)
    assert process(store, job) is None
    assert states(store) == [(0, attempt + 1, "lost") for attempt in range(MAX_LOST)]


@pytest.mark.parametrize(("verb", "number"), [("create", 0), *(("replace", number) for number in range(3))])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_write(store, monkeypatch, verb, when, number):
    """Killed before or after any write, the next processes end with one finished run.

    Only a run of which nothing but its claim is on disk is repeated.
    """
    job = added(store, DUE)
    plain: Callable[..., Any] = getattr(type(store.cache.files), verb)
    calls = 0
    runs: list[Claim] = []

    def deadly(self: Any, name: str, text: bytes, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number + 1 and when == "before":
            raise Killed
        result = plain(self, name, text, **options)
        if calls == number + 1:
            raise Killed
        return result

    def act(claim: Claim) -> int:
        runs.append(claim)
        return 0

    monkeypatch.setattr(type(store.cache.files), verb, deadly)
    for _ in range(4):
        with suppress(Killed):
            process(store, job, act)
    monkeypatch.undo()
    found = [state for _, _, state in states(store)]
    assert calls > number, "it was killed"
    assert found in (["done"], ["lost", "done"])
    assert (store.state(job).waiting, store.state(job).open) == (None, None)
    assert 1 <= len(runs) <= len(found)


def test_hooks_owed_by_a_dead_process_are_called_once(store: JobStore, monkeypatch: pytest.MonkeyPatch):
    job = added(store, DUE, on_failure="hook")
    told: list[dict[str, Any]] = []

    def killed(*arguments: Any) -> None:
        raise Killed

    monkeypatch.setattr(job_run, "call", killed)
    with pytest.raises(Killed):
        process(store, job, lambda claim: 1)
    assert store.claims("j")[0].owed == ["failure"]
    monkeypatch.setattr(job_run, "call", lambda target, payload, folder: told.append(payload) or "no answer")
    for _ in range(2):
        assert process(store, job) is None
    (claim,) = store.claims("j")
    assert (claim.state, claim.owed) == ("failed", [])
    assert claim.hooks == [{"event": "failure", "hook": "hook", "problem": "no answer"}]
    assert [(each["event"], each["schedule"], each["run"]) for each in told] == [("failure", "j", None)]


__all__ = ["store"]


def test_a_job_comes_back_as_it_was_added(store: JobStore):
    job = job_of(settings=["a=1"], arguments=["--only", "x"], jitter=2.5, time_limit=60.0, hooks=("change",))
    store.add(job)
    assert JobStore(store.root).job("j") == job
    assert job.words("/c") == ["run", "/w.yaml", "--set", "a=1", "--only", "x", "--cache", "/c"]
    assert store.state(job) == State(0)
    with pytest.raises(RequestError) as caught:
        store.job("k")
    assert caught.value.problems[0].hint is not None


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


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 2}', "\0" * 100])
@pytest.mark.parametrize("name", ["job.json", "state.json"])
def test_damaged_files_are_said(store: JobStore, name: str, text: str):
    job = job_of()
    store.add(job)
    (store.root / "schedules" / "j" / name).write_text(text)
    with pytest.raises(GravelError, match="cannot be read"):
        store.state(store.job("j"))
    store.remove("j")
    store.add(job)


def test_a_job_with_policies_of_before(store: JobStore):
    store.add(job_of())
    path = store.root / "schedules" / "j" / "job.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"format": 1, "catch_up": "all", "overlap": "skip"})
    )
    with pytest.raises(GravelError) as caught:
        store.job("j")
    (problem,) = caught.value.problems
    assert problem.message == (
        f"{path} cannot be read: catch_up and overlap cannot be chosen any more: due times that were missed "
        "run once, and a run at work is not doubled"
    )
    assert problem.hint == "`gravel schedule remove j` and `gravel schedule add` make it anew"


def test_no_hook_comes_from_a_cache(store: JobStore):
    with pytest.raises(ValueError, match="--on-change is among the words for `gravel run`"):
        job_of(arguments=["--on-change=true"])


def test_what_dead_writers_left_is_swept(store: JobStore):
    store.add(job_of())
    folder = store.root / "schedules"
    (folder / ".removed-1" / "claims").mkdir(parents=True)
    (folder / "j" / "claims").mkdir()
    old, new = folder / "j" / "claims" / ".old", folder / "j" / ".new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    store.sweep()
    assert sorted(path.name for path in folder.rglob("*")) == [".new", "claims", "j", "job.json"]
