"""Jobs on disk and their supervisors: whenever a supervisor dies, the next one goes on from there."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from gravel.pipeline.schedule import job_store as book_module
from gravel.pipeline.schedule import supervisor as keeping
from gravel.pipeline.schedule.child_process import Ended
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.listing import describe
from gravel.pipeline.schedule.policy import State, Waiting
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import Lease
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
