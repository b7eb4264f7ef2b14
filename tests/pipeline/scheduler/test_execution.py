"""Results that stay in memory: in the way of others, dropped for them, and made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.plan.status import plan_extents, resident_inputs
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.stages.stage import Machine
from tests.pipeline.run_case import states
from tests.pipeline.tiny_stages import ADD, MAKE, count, plan_of, stage_run

RESIDENT = 24
"""Bytes of what MAKE puts out: three sources and three targets."""


def two_pairs(marks: Path, need: int) -> Plan:
    """Two results that are not kept, each with one reader."""
    return plan_of(
        stage_run("a", MAKE, value=1, keep=False, need=100, marks=str(marks)),
        stage_run("b", MAKE, value=2, keep=False, need=100, marks=str(marks)),
        stage_run("c", ADD, "a", value=3, need=need),
        stage_run("d", ADD, "b", value=4, need=need),
    )


def run(plan: Plan, root: Path, host_memory: int) -> RunOutcome:
    return execute(
        plan, RunOptions(cache_root=root, cluster="inline", backend="cpu", host_memory=str(host_memory))
    )


def test_a_need_includes_what_stays_in_memory(tmp_path: Path) -> None:
    plan = two_pairs(tmp_path, 150)
    needs = plan_extents(plan, None, Machine("cpu", 1, 1000))
    assert {key: need.host_bytes for key, need in needs.items()} == {
        "a": 100 + RESIDENT,
        "b": 100 + RESIDENT,
        "c": 150,
        "d": 150,
    }
    assert resident_inputs(plan, needs) == {"c": RESIDENT, "d": RESIDENT}


def test_a_result_in_the_way_is_dropped_and_made_again(tmp_path: Path) -> None:
    """Making b leaves no room for a, which is held already."""
    marks = str(tmp_path / "marks")
    plan = plan_of(
        stage_run("a", MAKE, value=1, keep=False, need=100, marks=marks),
        stage_run("b", MAKE, value=2, keep=False, need=170, marks=marks),
        stage_run("c", ADD, "a", "b", value=3, need=150),
    )
    outcome = run(plan, tmp_path / "cache", 200)
    assert outcome.exit_code == 0
    assert {stage["state"] for stage in outcome.record["stages"]} == {"computed"}
    assert count(tmp_path / "marks", 1) == 2
    assert count(tmp_path / "marks", 2) == 1


def test_what_reads_a_held_result_goes_first(tmp_path: Path) -> None:
    """Of 200 bytes, a and b leave 152 when both are held: b is made when c has read a."""
    outcome = run(two_pairs(tmp_path / "marks", 170), tmp_path / "cache", 200)
    assert outcome.exit_code == 0
    assert [count(tmp_path / "marks", value) for value in (1, 2)] == [1, 1]


def test_a_chain_of_held_results_is_followed_to_its_end(tmp_path: Path) -> None:
    """Branches one after the other, so that one is held at a time beside what they share."""
    marks = str(tmp_path / "marks")
    branches = [
        [
            stage_run(f"middle {value}", ADD, "a", value=value, keep=False, need=50, marks=marks),
            stage_run(f"end {value}", ADD, f"middle {value}", value=value + 1, need=50, marks=marks),
        ]
        for value in (10, 20, 30)
    ]
    first, last = zip(*branches, strict=True)
    plan = plan_of(stage_run("a", MAKE, value=1, keep=False, need=50, marks=marks), *first, *last)
    assert run(plan, tmp_path / "cache", 200).exit_code == 0
    names = sorted((tmp_path / "marks").iterdir(), key=lambda path: int(path.name.split("-")[2]))
    assert [int(path.name.split("-")[1]) for path in names] == [1, 10, 11, 20, 21, 30, 31]


def test_where_both_fit_nothing_is_made_twice(tmp_path: Path) -> None:
    assert run(two_pairs(tmp_path / "marks", 150), tmp_path / "cache", 200).exit_code == 0
    assert count(tmp_path / "marks", 2) == 1


def test_inputs_in_memory_leave_too_little(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"c needs 190 B of host memory beside 24 B of inputs"):
        run(two_pairs(tmp_path / "marks", 190), tmp_path / "cache", 200)
    assert count(tmp_path / "marks", 1) == 0


def test_what_need_not_run_is_not_refused(tmp_path: Path) -> None:
    """The source of a cached result is too large for the memory that there is now."""
    stages = [
        stage_run("a", MAKE, value=1, keep=False, need=300),
        stage_run("c", ADD, "a", value=3, need=50),
    ]
    assert run(plan_of(*stages), tmp_path, 500).exit_code == 0
    outcome = run(plan_of(*stages, stage_run("d", MAKE, value=4, need=50)), tmp_path, 200)
    assert outcome.exit_code == 0
    found = states(outcome)
    assert (found["c"], found["d"]) == ("cached", "computed")
