"""`keep: auto`: what is faster to make again than to read is not written, and is made again when needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler import leaving_out, residency
from gravel.pipeline.store.cache import Cache
from gravel.stages.stage import FileInput
from tests.pipeline.memory_stages import AGAIN, FILL, FOREIGN, LOOK, sized
from tests.pipeline.not_written_runs import MIB, auto, chain, is_written, of, run, states, whole
from tests.pipeline.tiny_stages import count, plan_of


@pytest.mark.parametrize("cluster", ["inline", pytest.param("local", marks=pytest.mark.slow)])
def test_a_result_that_is_left_out_keeps_its_recipe_and_not_its_data(tmp_path: Path, cluster: str) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root, cluster)
    assert first.exit_code == 0
    assert not is_written(root, first, "a")
    assert is_written(root, first, "b")
    record = Cache(root).look_up(of(first, "a")["recipe"])
    assert record is not None
    assert record.outputs == first.outputs("a")
    assert record.not_written is not None
    assert record.not_written.bytes == 8 * MIB
    assert record.not_written.seconds > 0
    assert record.not_written.read_seconds > 0
    assert of(first, "a")["why"][-1] == record.not_written.text
    whole(root)
    stored = run(chain(marks), tmp_path / "stored", cluster, remake="never")
    assert stored.outputs("a") == first.outputs("a")


@pytest.mark.parametrize("cluster", ["inline", pytest.param("local", marks=pytest.mark.slow)])
def test_a_warm_run_makes_nothing_again(tmp_path: Path, cluster: str) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root, cluster)
    again = run(chain(marks), root, cluster)
    assert states(again) == {"a": "not needed", "b": "cached"}
    assert again.outputs("a") == first.outputs("a")
    assert count(marks, 1) == 1


@pytest.mark.parametrize("cluster", ["inline", pytest.param("local", marks=pytest.mark.slow)])
def test_another_reader_has_it_made_again(tmp_path: Path, cluster: str) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root, cluster)
    other = chain(marks, auto("c", LOOK, "a", value=3))
    later = run(other, root, cluster)
    assert states(later) == {"a": "computed", "b": "cached", "c": "computed"}
    assert later.outputs("a") == first.outputs("a")
    assert count(marks, 1) == 2
    assert not is_written(root, later, "a"), "the decision stands"
    whole(root)


def test_the_decision_stands_whatever_the_setting(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    run(chain(marks), root)
    later = run(chain(marks, auto("c", LOOK, "a", value=3)), root, remake="never")
    assert states(later)["a"] == "computed"
    assert not is_written(root, later, "a")


def test_a_chain_of_them_is_made_again_as_a_whole(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", str(tmp_path / "marks")
    runs = [auto("a", AGAIN, value=1, count=MIB, marks=marks, lasts=0.2)]
    runs += [auto("b", AGAIN, "a", value=2, count=MIB, marks=marks)]
    first = run(plan_of(*runs, auto("c", LOOK, "b", value=3)), root)
    assert not is_written(root, first, "a")
    assert not is_written(root, first, "b")
    left_out = Cache(root).look_up(of(first, "b")["recipe"])
    assert left_out is not None
    assert left_out.not_written is not None
    assert left_out.not_written.seconds > 0.2, "the time of its input counts"
    later = run(plan_of(*runs, auto("d", LOOK, "b", value=4)), root)
    assert states(later) == {"a": "computed", "b": "computed", "d": "computed"}
    assert [later.outputs(key) for key in "ab"] == [first.outputs(key) for key in "ab"]


def test_another_id_fails_the_run_and_names_the_stage(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks, random=True), root)
    other = chain(marks, auto("c", LOOK, "a", value=3), random=True)
    later = run(other, root)
    assert later.exit_code == 1
    assert states(later) == {"a": "failed", "b": "cached", "c": "skipped"}
    assert "it is not deterministic: made again, its Graph is" in of(later, "a")["error"]
    assert first.outputs("a")[0][:12] in of(later, "a")["error"]
    assert "--from a --keep a" in of(later, "a")["hint"]
    whole(root)


def kept(plan: Plan, key: str, **changes: Any) -> Plan:
    return replace(plan, runs={**plan.runs, key: replace(plan.runs[key], **changes)})


def test_keep_true_has_it_made_again_and_stored(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root)
    later = run(kept(chain(marks), "a", keep=True), root)
    assert states(later) == {"a": "computed", "b": "cached"}
    assert "keep: true asks for it" in of(later, "a")["why"][0]
    assert later.outputs("a") == first.outputs("a")
    assert is_written(root, later, "a")
    assert states(run(chain(marks), root)) == {"a": "cached", "b": "cached"}
    whole(root)


def test_what_is_stored_under_keep_is_checked_too(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    run(chain(marks, random=True), root)
    later = run(kept(chain(marks, random=True), "a", keep=True), root)
    assert later.exit_code == 1
    assert "not deterministic" in of(later, "a")["error"]
    whole(root)
    anew = run(kept(chain(marks, random=True), "a", keep=True, forced=True), root)
    assert states(anew) == {"a": "computed", "b": "computed"}
    assert is_written(root, anew, "a")


def test_what_was_asked_for_is_made_and_stored(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root)
    alone = plan_of(chain(marks).runs["a"])
    later = run(alone, root)
    assert states(later) == {"a": "computed"}
    assert "it is what was asked for" in of(later, "a")["why"][0]
    assert later.outputs("a") == first.outputs("a")
    assert is_written(root, later, "a")


NOT_DETERMINISTIC = FILL
TIMED = replace(AGAIN, times=lambda parameters: True)
READS = replace(AGAIN, files=lambda parameters: (FileInput(parameters.fail),))


@pytest.mark.parametrize(
    "change",
    [
        {"stage": NOT_DETERMINISTIC},
        {"stage": replace(FOREIGN, deterministic=True)},
        {"stage": TIMED},
        {"stage": READS},
        {"keep": True},
    ],
    ids=["not declared deterministic", "a foreign stage", "timed", "reads a file", "keep: true"],
)
def test_each_condition_alone_has_it_written(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "input.txt"
    file.write_text("1 2\n")
    plan = kept(chain(tmp_path / "marks", fail=str(file)), "a", **change)
    outcome = run(plan, tmp_path / "cache")
    assert outcome.exit_code == 0
    assert is_written(tmp_path / "cache", outcome, "a")


def test_what_rests_on_a_result_that_is_not_kept_is_written(tmp_path: Path) -> None:
    plan = plan_of(
        sized("a", AGAIN, keep=False, count=MIB),
        auto("b", AGAIN, "a", value=2, count=MIB),
        auto("c", LOOK, "b", value=3),
    )
    outcome = run(plan, tmp_path)
    assert outcome.outputs("a")[0].startswith("recipe:")
    assert is_written(tmp_path, outcome, "b")


def test_what_nothing_reads_is_written(tmp_path: Path) -> None:
    plan = chain(tmp_path / "marks", auto("c", AGAIN, "a", value=3, count=MIB))
    outcome = run(plan, tmp_path / "cache")
    assert not is_written(tmp_path / "cache", outcome, "a")
    assert is_written(tmp_path / "cache", outcome, "c")


def test_a_reader_that_does_not_run_here_does_not_count(tmp_path: Path) -> None:
    plan = kept(chain(tmp_path / "marks"), "b", not_run="it needs a GPU")
    outcome = run(plan, tmp_path / "cache")
    assert is_written(tmp_path / "cache", outcome, "a")


def test_what_goes_to_a_store_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pushed:
        def __getattr__(self, name: str) -> Any:
            return lambda *arguments, **options: None

        def complete(self, digest: str, here: Any) -> Any:
            return here

        def pending(self) -> list[str]:
            return []

    monkeypatch.setattr(Cache, "remote", Pushed())
    outcome = run(chain(tmp_path / "marks"), tmp_path / "cache")
    assert is_written(tmp_path / "cache", outcome, "a")


def test_what_streams_to_the_disk_is_written(tmp_path: Path) -> None:
    outcome = run(chain(tmp_path / "marks"), tmp_path / "cache", resident_memory="0")
    assert is_written(tmp_path / "cache", outcome, "a")


def test_what_would_leave_no_room_for_its_reader_is_written(tmp_path: Path) -> None:
    """A result that is nowhere else cannot leave memory for a stage that reads it."""
    plan = plan_of(
        auto("a", AGAIN, count=32 * MIB, value=1),
        auto("b", LOOK, "a", value=2, need=240 << 20),
    )
    outcome = run(plan, tmp_path / "small", host_memory="256MiB")
    assert outcome.exit_code == 0
    assert is_written(tmp_path / "small", outcome, "a")
    run(plan, tmp_path / "large", host_memory="1GiB")
    narrow = plan_of(plan.runs["a"], auto("c", LOOK, "a", value=3, need=240 << 20))
    later = run(narrow, tmp_path / "large", host_memory="256MiB")
    assert states(later) == {"a": "computed", "c": "computed"}
    assert is_written(tmp_path / "large", later, "a")
    whole(tmp_path / "large")


@pytest.mark.parametrize(
    ("seconds", "remake", "written"), [(0.0, "auto", False), (0.8, "auto", True), (0.0, "never", True)]
)
def test_the_times_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, remake: str, written: bool
) -> None:
    monkeypatch.setattr(residency, "MIN_BYTES", 1)
    monkeypatch.setattr(leaving_out, "read_rate", lambda root: 8.0 * MIB / 0.6)
    outcome = run(chain(tmp_path / "marks", lasts=seconds), tmp_path / "cache", remake=remake)
    assert is_written(tmp_path / "cache", outcome, "a") is written


def test_small_results_are_written_unless_a_setting_says_otherwise(tmp_path: Path) -> None:
    outcome = run(chain(tmp_path / "marks"), tmp_path / "cache", remake="auto")
    assert is_written(tmp_path / "cache", outcome, "a")


def test_the_setting_may_be_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVEL_REMAKE", "always")
    outcome = run(chain(tmp_path / "marks"), tmp_path / "one", remake=None)
    assert not is_written(tmp_path / "one", outcome, "a")
    outcome = run(chain(tmp_path / "marks"), tmp_path / "two", remake="never")
    assert is_written(tmp_path / "two", outcome, "a")
    monkeypatch.setenv("GRAVEL_REMAKE", "sometimes")
    with pytest.raises(RequestError, match="GRAVEL_REMAKE: 'sometimes' is not a choice"):
        run(chain(tmp_path / "marks"), tmp_path / "one", remake=None)


def test_inputs_in_memory_count_as_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made again, the stage would have to read its stored input from the disk."""
    monkeypatch.setattr(residency, "MIN_BYTES", 1)
    monkeypatch.setattr(leaving_out, "read_rate", lambda root: 8.0 * MIB / 0.6)
    plan = plan_of(
        auto("a", FILL, value=1, count=4 * MIB),
        auto("b", AGAIN, "a", value=2, count=2 * MIB),
        auto("c", LOOK, "b", value=3),
    )
    outcome = run(plan, tmp_path, remake="auto")
    assert is_written(tmp_path, outcome, "b"), "2.4 s for the input, and 1.2 s for the result"


def test_a_lost_worker_takes_a_result_that_is_made_again(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    died = str(tmp_path / "died")
    plan = plan_of(
        auto("a", AGAIN, value=1, count=MIB, marks=str(marks)),
        auto("b", FILL, "a", value=2, die_after=died),
        auto("c", LOOK, "b", value=3),
    )
    outcome = run(plan, root, "local")
    assert outcome.exit_code == 0
    assert count(marks, 1) == 2
    assert not is_written(root, outcome, "a")
    whole(root)


def test_a_lost_worker_and_another_id_fail_the_run(tmp_path: Path) -> None:
    died = str(tmp_path / "died")
    plan = plan_of(
        auto("a", AGAIN, value=1, count=MIB, random=True),
        auto("b", FILL, "a", value=2, die_after=died),
        auto("c", LOOK, "b", value=3),
    )
    outcome = run(plan, tmp_path / "cache", "local")
    assert states(outcome) == {"a": "failed", "b": "skipped", "c": "skipped"}
    assert "not deterministic" in of(outcome, "a")["error"]


def test_what_another_run_stored_stays_cached(tmp_path: Path) -> None:
    """The same content under another recipe: what is in the cache is a result of the cache."""
    first = run(plan_of(auto("x", FILL, value=1, count=MIB)), tmp_path)
    assert is_written(tmp_path, first, "x")
    outcome = run(chain(tmp_path / "marks"), tmp_path)
    assert outcome.outputs("a") == first.outputs("x")
    record = Cache(tmp_path).look_up(of(outcome, "a")["recipe"])
    assert record is not None
    assert record.not_written is None
    assert states(run(chain(tmp_path / "marks"), tmp_path)) == {"a": "cached", "b": "cached"}


def test_keep_false_is_as_it_was(tmp_path: Path) -> None:
    plan = kept(chain(tmp_path / "marks"), "a", keep=False)
    outcome = run(plan, tmp_path / "cache")
    assert outcome.outputs("a")[0].startswith("recipe:")
    assert Cache(tmp_path / "cache").look_up(of(outcome, "a")["recipe"]) is None
