"""Frozen plans: the answer in full or the same answer sooner, whatever changes in between."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.plan.cache import process_state as process_state
from gravel.pipeline.plan.cache.lookup import find_all
from gravel.pipeline.scheduler.cached_run import run_cached
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.cache import Cache
from gravel.stages.stage import all_stages
from tests.pipeline.plan_cache_bench import PlanCacheBench
from tests.pipeline.plan_cache_edits import EDITS, Edit, damaged, gone, rewrite, touch


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        bench = PlanCacheBench(tmp_path_factory.mktemp("filled"), patch)
        bench.fill()
    shutil.rmtree(bench.root / "digests")  # of this folder's input
    return bench.root


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filled: Path) -> PlanCacheBench:
    return PlanCacheBench(tmp_path, monkeypatch, filled)


@pytest.fixture
def frozen(bench: PlanCacheBench) -> PlanCacheBench:
    bench.plan()
    # Only now was no file digested that might have changed while it was read.
    assert not (bench.root / "frozen").exists()
    bench.plan()
    assert len(list((bench.root / "frozen").iterdir())) == 1
    return bench


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


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "count=3"),
        ("--where", "method=degree"),
        ("--only", "made"),
        ("--repeat", "2"),
        ("--force", "all"),
        ("--from", "drawn"),
        ("--host-memory", "3GiB"),
        ("--host-memory", "much"),
        ("--set", "cuont=3"),
    ],
)
def test_other_words_are_another_request(frozen: PlanCacheBench, words: tuple[str, ...]) -> None:
    assert not frozen.was_frozen(*words)


@pytest.mark.parametrize("words", [("--force", "all"), ("--from", "drawn")])
def test_what_is_forced_is_never_frozen(frozen: PlanCacheBench, words: tuple[str, ...]) -> None:
    for _ in range(3):
        assert not frozen.was_frozen(*words)
        frozen.plan(*words)


def test_each_request_has_its_own_answer(frozen: PlanCacheBench) -> None:
    frozen.fill(overrides={"count": "3"})
    frozen.fill(where={"method": ["degree"]})
    for words in (("--set", "count=3"), ("--where", "method=degree"), ("--only", "made")):
        frozen.plan(*words)
        frozen.plan(*words)
        assert frozen.was_frozen(*words)
    assert frozen.was_frozen()


def test_another_cache_knows_nothing(frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch) -> None:
    before = frozen.planned
    other = str(frozen.folder / "other")
    assert (
        "1 will run" in frozen.plan("--cache", other)[1] or "2 will run" in frozen.plan("--cache", other)[1]
    )
    shutil.copytree(frozen.root / "frozen", Path(other) / "frozen")
    assert "will run" in frozen.plan("--cache", other)[1]
    assert frozen.planned >= before + 2


def test_surroundings_are_part_of_the_request(
    frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("GRAVEL_ANYTHING", "1")
        assert not frozen.was_frozen()
    with monkeypatch.context() as patch:
        patch.setenv("HOME", "/nowhere")
        assert not frozen.was_frozen()
    with monkeypatch.context() as patch:
        patch.setattr("sys.version", "4.0")
        assert not frozen.was_frozen()
    with monkeypatch.context() as patch:
        patch.setattr("gravel.pipeline.core.hardware.cpu_model", lambda: "another processor")
        assert not frozen.was_frozen()
    assert frozen.was_frozen()


def test_another_current_folder_is_another_request(
    frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (frozen.folder / "below").mkdir()
    for name in ("outer.yaml", "inner.yaml"):
        shutil.copy2(frozen.folder / name, frozen.folder / "below" / name)
    monkeypatch.chdir(frozen.folder / "below")
    before = frozen.planned
    code, _, told = frozen.plan("--cache", str(frozen.root))
    assert (code, frozen.planned) == (2, before + 1)
    assert "there is no file" in told


def test_a_file_that_appears_where_one_was_looked_for_first(
    bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path means the file beside the workflow if there is one, else that in the current folder."""
    elsewhere = bench.folder / "project"
    elsewhere.mkdir()
    for name in ("outer.yaml", "inner.yaml"):
        (bench.folder / name).rename(elsewhere / name)
    (bench.folder / "outer.yaml").symlink_to(elsewhere / "outer.yaml")
    (bench.folder / "inner.yaml").symlink_to(elsewhere / "inner.yaml")
    text = (elsewhere / "inner.yaml").read_text() + "  more: {stage: ingest, file: more.txt}\n"
    (elsewhere / "inner.yaml").write_text(text)
    monkeypatch.chdir(bench.folder)
    for name in ("more.txt", "project/more.txt"):
        (bench.folder / name).write_text("1 2\n" if name == "more.txt" else "3 4\n")
        bench.age(bench.folder / name)
    (elsewhere / "more.txt").rename(elsewhere / "later.txt")
    (bench.folder / "inner.yaml").unlink()
    (bench.folder / "outer.yaml").write_text(
        (elsewhere / "outer.yaml").read_text().replace("inner.yaml", "project/inner.yaml")
    )
    bench.fill()
    bench.plan()
    bench.plan()
    assert bench.was_frozen()
    (elsewhere / "later.txt").rename(elsewhere / "more.txt")
    assert not bench.was_frozen()
    assert "will run" in bench.plan()[1]


def test_code_and_packages_are_part_of_the_answer(
    bench: PlanCacheBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "lib" / "frozen_test_module.py"
    declared = tmp_path / "lib" / "made-1.0.dist-info" / "METADATA"
    declared.parent.mkdir(parents=True)
    module.write_text("VALUE = 1\n")
    declared.write_text("Name: made\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(module.parent))
    import frozen_test_module  # type: ignore[import-not-found]

    try:
        bench.plan()
        bench.plan()
        assert bench.was_frozen()
        bench.age(module)
        assert not bench.was_frozen()
        bench.plan()
        assert bench.was_frozen()
        # Upgraded.
        declared.parent.rename(declared.parent.with_name("made-1.1.dist-info"))
        assert not bench.was_frozen()
        bench.plan()
        assert bench.was_frozen()
        (tmp_path / "lib" / "made-1.1.dist-info" / "entry_points.txt").write_text("[gravel.stages]\n")
        assert not bench.was_frozen()
    finally:
        del sys.modules[frozen_test_module.__name__]


def test_code_that_just_changed_is_not_frozen(bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may have loaded what was there before."""
    path = Path(process_state.__file__)
    changed = path.stat().st_ctime
    monkeypatch.setattr(process_state, "began", lambda: changed + 1.0)
    for _ in range(3):
        bench.plan()
    assert not (bench.root / "frozen").exists()


def test_a_process_answers_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_state, "_began", None)
    process_state.begin()
    assert process_state.began() is None  # the planner is loaded here
    monkeypatch.delitem(sys.modules, "gravel.stages.stage")
    process_state.begin()
    assert process_state.began() is not None
    process_state.begin()
    assert process_state.began() is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("matrix:", "plugins: [own.py]\nmatrix:"),
        ("matrix:", "datasets: [edges.txt]\nmatrix:"),
        ("ingest, file: edges.txt", "ingest, file: 'http://127.0.0.1:9/none.txt'"),
    ],
)
def test_what_is_not_noted_is_not_frozen(bench: PlanCacheBench, old: str, new: str) -> None:
    rewrite("outer.yaml", old, new)(bench)
    (bench.folder / "own.py").write_text(
        "from gravel.stages.stage import Need, Parameters, Stage\n\n\n"
        "class Nothing(Parameters):\n    pass\n\n\n"
        "def run(context, parameters):\n    pass\n\n\n"
        "STAGE = Stage('own', 1, 'Does nothing.', Nothing, {}, ('Report',), run, lambda *_: Need(0, 0, ()))\n"
    )
    for _ in range(3):
        bench.plan()
    assert not (bench.root / "frozen").exists()


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_stage_of_somebody_else_is_not_frozen(
    bench: PlanCacheBench, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code may hang on anything."""
    own = all_stages()
    known = {**own, "report": replace(own["report"], about="From a package.")}
    monkeypatch.setattr("gravel.pipeline.workflow.loading.known_stages", lambda: known)
    for _ in range(3):
        assert "all" in bench.gravel(verb, "--json")[1]
    assert not (bench.root / "frozen").exists()


def test_a_workflow_from_a_pipe_is_neither_frozen_nor_read_twice(frozen: PlanCacheBench) -> None:
    """A pipe may stand where a file stood, and what is read of it is gone."""
    text = frozen.file.read_text()
    frozen.file.unlink()
    os.mkfifo(frozen.file)
    for _ in range(2):
        writer = threading.Thread(target=lambda: frozen.file.write_text(text), daemon=True)
        writer.start()
        before = frozen.planned
        assert frozen.plan()[0] == 0
        assert frozen.planned == before + 1
        writer.join(10)


def test_a_damaged_or_foreign_copy_is_ignored(frozen: PlanCacheBench) -> None:
    [path] = (frozen.root / "frozen").iterdir()
    whole = path.read_bytes()
    for text in (b"", b"{}", whole[:-40], whole.replace(b'"cached"', b'"queued"', 1), os.urandom(200)):
        path.write_bytes(text)
        assert not frozen.was_frozen()
        path.write_bytes(whole)
        assert frozen.was_frozen()
    from gravel.pipeline.store.records import seal, unseal

    body = unseal(whole)
    body.pop("seal", None)
    for change in ({"frozen": 99}, {"request": {}}, {"code": 3}, {"texts": None}, {"answer": None}):
        path.write_bytes(seal({**body, **change}))
        assert not frozen.was_frozen()
    path.write_bytes(seal(body))
    assert frozen.was_frozen()


def test_a_cache_that_cannot_be_written_is_planned_as_ever(
    bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.root / "frozen").write_text("no folder")
    for _ in range(2):
        assert not bench.was_frozen()


def test_few_are_kept(frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.pipeline.plan.cache.entries.MAX_KEPT", 2)
    for words in (("--only", "made"), ("--only", "edges"), ("--only", "graph")):
        frozen.plan(*words)
        frozen.plan(*words)
    assert len(list((frozen.root / "frozen").iterdir())) == 2


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
        **dict.fromkeys(("sources", "settings", "where", "only", "force", "start", "keep", "failed"), ()),
        "repeat": None,
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
