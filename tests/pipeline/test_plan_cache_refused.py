"""Answers that are not kept, and kept ones that are not used."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace

import pytest

from gravel.pipeline.plan.cache import process_state as process_state
from gravel.stages.stage import all_stages
from tests.pipeline.plan_cache_bench import PlanCacheBench
from tests.pipeline.plan_cache_case import bench, filled, frozen
from tests.pipeline.plan_cache_edits import rewrite

__all__ = ["bench", "filled", "frozen"]


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
