"""Why a run is not cached, as old value -> new value."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.hashing import flat_parts
from gravel.pipeline.plan.status import _changes, _without_filled_in
from tests.pipeline.fake_stages import FAKES, ORDERINGS
from tests.pipeline.plan.test_plan import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path)
    found.run(found.plan())
    return found


def reasons(bench: Bench, text: str, key: str) -> tuple[str, ...]:
    return bench.status(bench.plan(text))[key].reasons


SCALED = ORDERINGS.replace("scale: 18", "scale: 20")


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [
        (SCALED, "edges", ("source.rmat.scale: 18 -> 20",)),
        (SCALED.replace("edge_factor: 16", "edge_factor: 8"), "edges",
         ("source.rmat.scale: 18 -> 20", "source.rmat.edge_factor: 16 -> 8")),
        (ORDERINGS.replace('{random: "${sources}", seed: 7}', "null"), "bfs[order=rcm,layout=csr]",
         ("sources.random: 16 -> none", "sources.seed: 7 -> none")),
        (SCALED.replace("workflow: orderings", "workflow: other"), "edges",
         ("not computed before; the most similar ingest differs in:", "source.rmat.scale: 18 -> 20")),
    ],
)  # fmt: skip
def test_parameters_that_changed(bench: Bench, text: str, key: str, found: tuple[str, ...]) -> None:
    assert set(found) <= set(reasons(bench, text, key))


def test_the_newest_run_of_the_same_name_is_compared(bench: Bench) -> None:
    bench.run(bench.plan(ORDERINGS.replace("scale: 18", "scale: 19")))
    assert reasons(bench, SCALED, "edges") == ("source.rmat.scale: 19 -> 20",)


def test_an_input_that_changed(bench: Bench) -> None:
    before = bench.run(bench.plan())
    plan = bench.plan(SCALED, only=["edges"])
    after = bench.run(plan)
    (found,) = reasons(bench, SCALED, "graph")
    assert found == f"input: {before['edges'][0][:12]} -> {after['edges'][0][:12]}"


def test_a_new_version_of_a_stage(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = bench.plan()
    monkeypatch.setitem(vars(FAKES["symmetrize"]), "version", 2)
    assert bench.status(plan)["graph"].reasons == ("version: 1 -> 2",)


def test_long_values_are_cut(bench: Bench) -> None:
    text = ORDERINGS.replace("over: matrix,", f"over: matrix, title: {'x' * 500},")
    plan = bench.plan(text)
    assert all(len(each) < 200 for each in bench.status(plan)["summary"].reasons)


def test_what_is_not_given_before_and_after_is_no_change() -> None:
    old = {"parameters": {"source": None, "file": "a"}, "files": {"a": "12"}}
    new = {"parameters": {"source": {"rmat": None, "path": {"vertices": 5}}, "file": None}}
    assert [text for _, text in _changes(dict(flat_parts(old)), dict(flat_parts(new)))] == [
        "file: a -> none",
        "file a: 12 -> none",
        "source.path.vertices: none -> 5",
    ]


def test_what_a_planner_fills_into_a_report_is_no_reason() -> None:
    changes = {"labels": "labels: ...", "not_run.bfs": "not_run.bfs: ...", "inputs": "inputs: 2 -> 3"}
    assert list(_without_filled_in("report", changes)) == ["inputs"]
    assert _without_filled_in("plugin", changes) == changes
    assert list(_without_filled_in("report", {"labels": "labels: ..."})) == ["labels"]


def test_as_many_other_inputs_are_others() -> None:
    (change,) = dict(_changes({"inputs": ["a", "b"]}, {"inputs": ["a", "c"]})).values()
    assert change == "inputs: 2 artifacts -> others"
