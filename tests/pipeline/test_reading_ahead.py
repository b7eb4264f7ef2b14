"""Stage runs that begin when their input's arrays exist, before its ids are known."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.scheduler import early_starts, residency
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.model import Workflow
from gravel.stages.artifacts import Graph
from gravel.stages.stage import Extent, Need
from tests.pipeline.memory_case import Kept, whole
from tests.pipeline.memory_stages import FILL, LOOK, Sized, fill, sized
from tests.pipeline.tiny_stages import count, mark, plan_of

KIB = 1 << 7
"""Numbers of 8 bytes in a KiB."""


class Slowly(Sized):
    """Digests take `digests` seconds in the worker of the stage, or `refuse`, or end the worker once."""

    digests: float = 0.0
    refuses: bool = False
    dies: str = ""


def fill_slowly_digested(context: Any, parameters: Slowly, inputs: tuple[Any, ...] = ()) -> Graph:
    """Fill, and have any result digested that slowly from now on in this process."""
    from gravel.pipeline.store import identifying

    whole_digest = getattr(identifying, "whole", identifying.identify)

    def identify(artifact: Any, threads: int = 1) -> str:
        time.sleep(parameters.digests)
        if parameters.dies and not Path(parameters.dies).exists():
            Path(parameters.dies).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if len(getattr(artifact, "row_offsets", ())) and artifact.row_offsets[0] == parameters.value:
            if parameters.refuses:
                raise TypeError("this cannot be digested")
            mark(parameters, "digested")
        return str(whole_digest(artifact, threads))

    identifying.whole, identifying.identify = whole_digest, identify  # type: ignore[attr-defined]
    return fill(context, parameters, inputs)


SLOW = replace(FILL, name="slow", parameters=Slowly, run=fill_slowly_digested)


def slow(key: str, *inputs: str, **parameters: Any) -> StageRun:
    run = sized(key, FILL, *inputs)
    return replace(run, stage=SLOW, parameters=Slowly(count=KIB, **parameters))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "MIN_BYTES", 1)
    monkeypatch.setattr(early_starts, "LEAST_BYTES", 1)


def run(plan: Plan, root: Path, workers: int = 1, **options: Any) -> RunOutcome:
    return execute(
        plan, RunOptions(cache_root=root, cluster="local", backend="cpu", workers=workers, **options)
    )


def moment(marks: Path, value: int, kind: str) -> int:
    [found] = marks.glob(f"{kind}-{value}-*")
    return int(found.name.split("-")[2])


def states(outcome: RunOutcome) -> dict[str, str]:
    return {stage["key"]: stage["state"] for stage in outcome.record["stages"]}


def chain(marks: Path, *, digests: float) -> Plan:
    given: dict[str, Any] = {"marks": str(marks), "digests": digests}
    return plan_of(
        slow("a", value=1, **given),
        slow("b", "a", value=2, **given),
        slow("c", "b", value=3, **given),
        sized("z", LOOK, "c", value=4, marks=str(marks)),
    )


def plainly(root: Path, plan: Plan) -> RunOutcome:
    """The same plan where nothing can be read ahead."""
    return execute(plan, RunOptions(cache_root=root, cluster="inline", backend="cpu", resident_memory="0"))


def test_a_dependent_begins_before_the_id_of_its_input_is_known(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    outcome = run(chain(marks, digests=0.6), root)
    assert outcome.exit_code == 0
    assert moment(marks, 2, "ran") < moment(marks, 1, "digested")
    assert [count(marks, value) for value in (1, 2, 3, 4)] == [1, 1, 1, 1]
    whole(root)
    expected = plainly(tmp_path / "plain", chain(marks, digests=0.6))
    for key in "abc":
        assert outcome.outputs(key) == expected.outputs(key)
    recipes = {stage["key"]: stage["recipe"] for stage in outcome.record["stages"]}
    assert recipes == {stage["key"]: stage["recipe"] for stage in expected.record["stages"]}
    cache = Cache(root)
    for key, digest in recipes.items():
        record = cache.look_up(digest)
        assert record is not None
        assert record.outputs == outcome.outputs(key)
        named = {name for slot in record.parts["inputs"].values() for name in slot}
        assert not any(name.startswith("recipe:") for name in named)
    again = run(chain(marks, digests=0.6), root)
    assert set(states(again).values()) == {"cached"}


def test_what_this_workflow_ran_before_waits_for_the_id(tmp_path: Path) -> None:
    """An input that comes out as it did stops the rerun there."""
    marks, root = tmp_path / "marks", tmp_path / "cache"
    given: dict[str, Any] = {"marks": str(marks), "digests": 0.5}

    def plan(sleep: float) -> Plan:
        return plan_of(slow("a", value=1, sleep=sleep, **given), slow("b", "a", value=2, **given))

    run(plan(0.0), root)
    assert moment(marks, 2, "ran") < moment(marks, 1, "digested")
    outcome = run(plan(0.01), root)
    assert states(outcome) == {"a": "computed", "b": "cached"}
    assert count(marks, 2) == 1


def test_a_result_that_is_found_while_it_is_made_is_used(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    given: dict[str, Any] = {"marks": str(marks), "digests": 0.5}
    first = run(plan_of(slow("a", value=1, **given), slow("b", "a", value=2, **given)), root)
    runs = (slow("a", value=1, sleep=0.01, **given), slow("b", "a", value=2, **given), sized("z", LOOK, "b"))
    other = Workflow("other", "", tmp_path / "elsewhere" / "other.yaml", {}, {}, {})
    kept = Kept()
    outcome = run(Plan(other, {each.key: each for each in runs}, frozenset("abz")), root, reporter=kept)
    assert states(outcome) == {"a": "computed", "b": "cached", "z": "computed"}
    assert outcome.outputs("b") == first.outputs("b")
    assert count(marks, 2) == 2
    assert "b: its result was found while it ran" in kept.notes
    whole(root)


def test_what_reads_a_result_that_cannot_be_digested_has_none(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    given: dict[str, Any] = {"marks": str(marks), "digests": 0.5}
    plan = plan_of(
        slow("a", value=1, refuses=True, **given),
        sized("b", FILL, "a", value=2, marks=str(marks)),
        sized("c", FILL, "b", value=3, marks=str(marks)),
    )
    outcome = run(plan, root)
    assert states(outcome) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert (count(marks, 2), count(marks, 3)) == (1, 0)
    whole(root)
    assert not list((root / "artifacts").glob("*"))


def test_what_ends_before_the_id_is_known_is_recorded_after_it(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    plan = plan_of(
        slow("a", value=1, marks=str(marks), digests=0.6),
        # What it makes is too large to stay in memory: it is identified as it is written, by another way.
        sized("b", FILL, "a", value=2, marks=str(marks), count=2 * KIB),
        sized("c", LOOK, "a", "b", value=3, marks=str(marks)),
    )
    outcome = run(plan, root, resident_memory="1500")
    assert outcome.exit_code == 0
    assert moment(marks, 2, "ran") < moment(marks, 1, "digested") < moment(marks, 3, "ran")
    stages = {stage["key"]: stage for stage in outcome.record["stages"]}
    assert stages["b"]["started"] + stages["b"]["seconds"] < moment(marks, 1, "digested") / 1e9
    assert [count(marks, value) for value in (1, 2, 3)] == [1, 1, 1]
    expected = plainly(tmp_path / "plain", plan)
    assert outcome.outputs("b") == expected.outputs("b")
    whole(root)


def test_a_worker_that_dies_while_it_digests_takes_both(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    given: dict[str, Any] = {"marks": str(marks), "digests": 0.4, "dies": str(tmp_path / "died")}
    plan = plan_of(slow("a", value=1, **given), slow("b", "a", value=2, sleep=0.8, **given))
    outcome = run(plan, root)
    assert outcome.exit_code == 0
    assert (count(marks, 1), count(marks, 2)) == (2, 2)
    expected = plainly(tmp_path / "plain", plan)
    assert [outcome.outputs(key) for key in "ab"] == [expected.outputs(key) for key in "ab"]
    whole(root)


def test_what_reads_ahead_and_ends_its_worker_fails_alone(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    given: dict[str, Any] = {"marks": str(marks)}
    plan = plan_of(
        slow("a", value=1, digests=0.6, **given),
        sized("b", FILL, "a", value=2, die_after=str(tmp_path / "died"), **given),
    )
    outcome = run(plan, root, retries=0)
    assert states(outcome) == {"a": "computed", "b": "failed"}
    assert (count(marks, 1), count(marks, 2)) == (2, 1)
    whole(root)


def test_what_reads_ahead_of_a_run_whose_time_is_up_is_skipped(tmp_path: Path) -> None:
    """Their worker is replaced while both are at work."""
    given: dict[str, Any] = {"marks": str(tmp_path / "marks")}
    plan = plan_of(
        replace(slow("a", value=1, digests=30.0, **given), time_limit=1.0),
        sized("b", FILL, "a", value=2, sleep=30.0, **given),
        sized("c", FILL, "b", value=3),
    )
    began = time.monotonic()
    outcome = run(plan, tmp_path / "cache")
    assert states(outcome) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert count(tmp_path / "marks", 2) == 1
    assert time.monotonic() - began < 25
    whole(tmp_path / "cache")


def test_what_reads_ahead_and_lacks_memory_is_tried_again(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    given: dict[str, Any] = {"marks": str(marks)}
    lacking = replace(FILL, name="lacking", run=fill_or_lack_memory)
    plan = plan_of(
        slow("a", value=1, digests=0.6, **given),
        replace(sized("b", FILL, "a", value=2, **given), stage=lacking),
    )
    outcome = run(plan, root)
    assert states(outcome) == {"a": "computed", "b": "computed"}
    assert count(marks, 2) == 1
    whole(root)


def fill_or_lack_memory(context: Any, parameters: Sized, inputs: tuple[Any, ...] = ()) -> Graph:
    """Fill, the second time."""
    if not mark(parameters, "tried"):
        raise MemoryError("no")
    return fill(context, parameters, inputs)


def killed_run(plan: Plan, root: Path) -> None:
    residency.MIN_BYTES = early_starts.LEAST_BYTES = 1
    os.setsid()
    run(plan, root)


@pytest.mark.slow
def test_killed_at_any_moment_the_cache_holds_what_was_made(tmp_path: Path) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    plan = chain(marks, digests=0.3)
    context = multiprocessing.get_context("spawn")
    for place in range(5):
        before = len(list(marks.glob("ran-*")))
        child = context.Process(target=killed_run, args=(plan, root))
        child.start()
        while len(list(marks.glob("ran-*"))) == before and child.is_alive():
            time.sleep(0.01)
        time.sleep(0.25 * place)
        assert child.pid is not None
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.join()
        whole(root)
    outcome = run(plan, root)
    assert outcome.exit_code == 0
    expected = plainly(tmp_path / "plain", plan)
    assert [outcome.outputs(key) for key in "abc"] == [expected.outputs(key) for key in "abc"]
    whole(root)


def test_results_whose_parameters_rest_on_ids_wait_for_them() -> None:
    from gravel.pipeline.scheduler.node import Attempt
    from gravel.pipeline.scheduler.nodes import Nodes

    def able(consumer: StageRun, size: int = 8) -> bool:
        nodes = Nodes(plan_of(sized("a", FILL), consumer))
        nodes["a"].attempt = Attempt(1, Need(0, 0, (Extent("Graph", bytes=size),)))
        return early_starts.can_be_read_ahead(nodes["a"])

    plain = sized("b", FILL, "a")
    assert able(plain)
    assert not able(plain, 0)
    others = [
        replace(plain, keep=False),
        replace(plain, forced=True),
        replace(plain, time_limit=3.0),
        replace(plain, stage=replace(FILL, measures=True)),
        replace(plain, stage=replace(FILL, ranks=lambda _: 2)),
        replace(plain, stage=replace(FILL, source_ids=lambda _: (7,))),
        replace(plain, stage=replace(FILL, ids_file=lambda _: "ids.txt")),
    ]
    assert not any(map(able, others))
