"""Frozen plans: the answer in full or the same answer sooner, whatever changes in between."""

from __future__ import annotations

import json
import random
import shutil
from typing import Any

import pytest

from gravel.pipeline.plan.cache import process_state as process_state
from gravel.pipeline.plan.cache.lookup import find_all
from gravel.pipeline.scheduler.cached_run import run_cached
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.cache import Cache
from tests.pipeline.plan_cache_bench import PlanCacheBench
from tests.pipeline.plan_cache_case import bench, filled, frozen
from tests.pipeline.plan_cache_edits import EDITS, Edit, damaged, gone, touch

__all__ = ["bench", "filled", "frozen"]


def test_a_plan_is_told_from_what_was_frozen_word_for_word(frozen: PlanCacheBench) -> None:
    code, out, err = frozen.plan()
    assert (code, err) == (0, "")
    assert frozen.was_frozen()
    assert "10 stage runs: 9 cached, 1 not needed" in out
    assert frozen.was_frozen("--json")
    told = json.loads(frozen.plan("--json")[1])
    assert {each["state"] for each in told["stages"]} == {"cached", "not needed"}


def without_times(lines: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in lines.splitlines()]
    return [
        {name: value for name, value in event.items() if name not in ("time", "run", "folder", "report")}
        | ({"seconds": 0} if event["event"] == "run_finished" else {})
        for event in events
    ]


def test_a_run_is_told_and_recorded_as_one_in_full(bench: PlanCacheBench) -> None:
    for _ in range(2):
        assert bench.gravel("run", "--json")[0] == 0
    before = bench.planned
    first = bench.gravel("run", "--json")
    assert bench.planned == before
    bench.may_thaw = False
    second = bench.gravel("run", "--json")
    assert bench.planned == before + 1
    assert first[0] == second[0] == 0
    assert first[2] == second[2] == ""
    assert without_times(first[1]) == without_times(second[1])
    assert (
        first[1].splitlines()[-1].rpartition('"report"')[2]
        == second[1].splitlines()[-1].rpartition('"report"')[2]
    )
    frozen, full = bench.records()[-2:]
    for record in (frozen, full):
        for name in ("run", "started", "ended", "seconds"):
            assert record.pop(name) is not None
    assert frozen == full
    assert list(frozen) == list(full)
    assert frozen["state"] == "done"
    assert len(frozen["recipes"]) == 10
    assert not list((bench.root / "leases").iterdir())


def test_plain_and_quiet_output_of_a_run(bench: PlanCacheBench) -> None:
    for _ in range(2):
        bench.gravel("run")
    before = bench.planned
    code, out, err = bench.gravel("run")
    assert (code, out) == (0, "")
    lines = [line.partition(" ")[2] for line in err.splitlines()]
    assert lines[0].startswith("run ")
    assert lines[0].endswith("of outer: 10 stage runs")
    assert "bfs[method=degree]: cached" in lines
    assert lines[-2].endswith("s: 9 cached")
    assert lines[-1].startswith("report: ")
    assert bench.gravel("run", "-q") == (0, "", "")
    assert bench.planned == before


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_noticed(frozen: PlanCacheBench, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(frozen)
    if not frozen.root.exists():
        frozen.root.mkdir()
    assert not frozen.was_frozen()


def test_what_was_touched_is_frozen_again_when_it_was_digested(frozen: PlanCacheBench) -> None:
    touch(frozen)
    frozen.plan()
    frozen.plan()
    assert frozen.was_frozen()


def options(bench: PlanCacheBench) -> RunOptions:
    return RunOptions(cache_root=bench.root, cluster="inline", backend="cpu")


def test_a_result_that_goes_meanwhile_leaves_no_trace_of_the_run(
    bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when gc removes it between two looks: the run is planned in full, as if it began only now."""
    for _ in range(3):
        bench.gravel("run")
    asked = {
        "file": "outer.yaml",
        **dict.fromkeys(
            ("others", "sources", "columns", "settings", "where", "only", "force", "start", "keep", "failed"),
            (),
        ),
        **dict.fromkeys(("delimiter", "header", "rows", "repeat")),
    }
    runs = len(bench.records())
    assert run_cached(asked, options(bench)) is not None
    assert len(bench.records()) == runs + 1
    import gravel.pipeline.scheduler.cached_run

    sweep = gravel.pipeline.scheduler.cached_run.sweep

    def collected(cache: Cache) -> None:
        sweep(cache)
        gone("artifacts/*.json")(bench)

    monkeypatch.setattr("gravel.pipeline.scheduler.cached_run.sweep", collected)
    assert run_cached(asked, options(bench)) is None
    assert len(bench.records()) == runs + 1
    assert not list((bench.root / "leases").iterdir())


def test_results_are_found_under_the_lease_of_the_run(
    bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        bench.gravel("run")
    held: list[int] = []

    def look(*arguments: Any) -> Any:
        held.append(len(list((bench.root / "leases").glob("*.lock"))))
        return find_all(*arguments)

    monkeypatch.setattr("gravel.pipeline.scheduler.cached_run.find_all", look)
    bench.gravel("run")
    assert held == [1]


def test_a_look_leaves_damage_for_the_planner(frozen: PlanCacheBench) -> None:
    damaged("recipes/*.json")(frozen)
    before = sorted(path.name for path in frozen.root.rglob("*"))
    name = sorted(frozen.root.glob("recipes/*.json"))[0].stem
    assert find_all(frozen.root, [{"key": "a", "keep": True, "recipe": name, "outputs": []}]) is None
    assert sorted(path.name for path in frozen.root.rglob("*")) == before
    assert "is damaged" in frozen.plan()[2]


def test_what_was_computed_is_not_yet_frozen(bench: PlanCacheBench) -> None:
    assert decide(options(bench)).backend == "cpu"
    gone("recipes/*.json")(bench)
    bench.gravel("run")
    assert not (bench.root / "frozen").exists()


@pytest.mark.parametrize("seed", range(2))
def test_any_sequence_of_edits_is_answered_as_in_full(
    bench: PlanCacheBench, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = {name: (bench.folder / name).read_text() for name in ("outer.yaml", "inner.yaml")}
    chance = random.Random(seed)
    frozen = 0
    requests = [(), ("--set", "count=2"), ("--where", "method=degree"), ("--only", "drawn")]
    for _ in range(16):
        choice = chance.random()
        try:
            if choice < 0.35:
                chance.choice(list(EDITS.values()))(bench)
            elif choice < 0.7:
                for name, text in original.items():
                    (bench.folder / name).write_text(text)
                bench.write_edges("1 2\n2 3\n")
                bench.fill()
        except (OSError, IndexError, AssertionError):
            pass  # an edit of what an edit before it took away
        if (bench.folder / "edges.txt").is_dir() or not bench.root.exists():
            shutil.rmtree(bench.folder / "edges.txt", ignore_errors=True)
            bench.root.mkdir(exist_ok=True)
            continue
        words = chance.choice(requests)
        frozen += sum(bench.was_frozen(*words) for _ in range(2))
    assert frozen >= 3
