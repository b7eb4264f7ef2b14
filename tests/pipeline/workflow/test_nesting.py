"""Workflows that use others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import WorkflowError
from tests.pipeline.workflow.study_case import keys_of, plan_of, problem_of

PREPARE = """\
workflow: prepare
parameters: {scale: 10, method: original, what: {rmat: {scale: "${scale}"}}}
matrix: {codec: [csr, varint]}
stages:
  edges:   {stage: ingest, source: "${what}"}
  graph:   {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: "${method}"}
  packed:  {stage: compress, input: ordered, codec: "${codec}"}
  told:    {stage: report, over: matrix, inputs: [packed]}
"""

STUDY = """\
parameters: {order: rcm}
matrix: {scale: [8, 9]}
stages:
  small: {use: prepare.yaml, parameters: {scale: "${scale}", method: "${order}"}}
  plain: {use: prepare.yaml, only: graph}
  bfs:   {stage: traverse, input: small.packed}
  check: {stage: verify, graph: small.graph, traversal: bfs}
  all:   {stage: report, over: matrix, inputs: [bfs, plain.graph]}
"""


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    (tmp_path / "prepare.yaml").write_text(PREPARE)
    return tmp_path


def test_a_workflow_uses_another_with_parameters_and_axes_of_its_own(nested: Path) -> None:
    plan = plan_of(nested, STUDY)
    assert [key for key in plan.runs if key.startswith(("small.packed", "plain"))] == [
        "small.packed[scale=8,codec=csr]",
        "small.packed[scale=8,codec=varint]",
        "small.packed[scale=9,codec=csr]",
        "small.packed[scale=9,codec=varint]",
        "plain.edges",
        "plain.graph",
    ]
    assert keys_of(plan, "small.told") == ["scale=8", "scale=9"]
    assert keys_of(plan, "bfs")[0] == "scale=8,small.codec=csr"
    assert plan.runs["small.edges[scale=9]"].parameters.source.rmat.scale == 9
    assert plan.runs["plain.edges"].parameters.source.rmat.scale == 10
    assert plan.runs["small.ordered[scale=8]"].parameters.method == "rcm"
    assert len(plan.runs["all"].inputs["inputs"]) == 4 * 2 + 1
    chosen = plan_of(nested, STUDY, where={"small.codec": ["csr"]}, only=["small"])
    assert keys_of(chosen, "small.packed") == ["scale=8,codec=csr", "scale=9,codec=csr"]
    assert not keys_of(chosen, "bfs")


def test_equal_runs_of_two_uses_are_one(nested: Path) -> None:
    text = "stages:\n  one: {use: prepare.yaml, only: graph}\n  two: {use: ./prepare.yaml, only: graph}\n"
    plan = plan_of(nested, text)
    assert list(plan.runs) == ["one.edges", "one.graph"]
    assert list(plan.runs["one.graph"].aliases) == ["two.graph"]


def test_files_count_from_the_workflow_that_names_them(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "one.yaml").write_text(
        "parameters: {f: own.txt}\nstages:\n  edges: {stage: ingest, file: '${f}'}\n"
    )
    for folder in (tmp_path, inner):
        for name in ("own.txt", "given.txt"):
            (folder / name).write_text("1 2\n")
    text = "stages:\n  a: {use: inner/one.yaml}\n  b: {use: inner/one.yaml, parameters: {f: given.txt}}\n"
    plan = plan_of(tmp_path, text)
    assert plan.runs["a.edges"].parameters.file == str(inner / "own.txt")
    assert plan.runs["b.edges"].parameters.file == str(tmp_path / "given.txt")
    place = plan.runs["b.edges"].files[str(tmp_path / "given.txt")]
    assert (Path(place.file).name, place.line) == ("w.yaml", 3)


@pytest.mark.parametrize(
    ("inner", "outer", "message", "hint", "place"),
    [
        (("input: graph, m", "input: garph, m"), None, "no entry 'garph'", "'graph'", "prepare.yaml:7"),
        (('method: "${method}"', "method: rmc"), None, "'rmc'", "'rcm'", "prepare.yaml:7"),
        (("stage: symmetrize", "stage: symetrize"), None, "no stage", "'symmetrize'", "prepare.yaml:6"),
        (("codec: [csr, varint]", "codec: [csr, csr]"), None, "twice", "", "prepare.yaml:3"),
        (None, ("order: rcm", "order: rmc"), "'rmc'", "it is used in", "w.yaml:4"),
        (None, ('method: "${order}"', "mehtod: 1"), "has no parameter 'mehtod'", "'method'", "w.yaml:4"),
        (None, ('"${order}"', '"${ordr}"'), "no parameter or matrix axis 'ordr'", "'order'", "w.yaml:4"),
        (None, ("use: prepare.yaml, only", "use: prepar.yaml, only"), "no workflow file", "prepare.yaml",
         "w.yaml:5"),
        (None, ("only: graph", "only: grph"), "no entry 'grph'", "'graph'", "w.yaml:5"),
        (None, ("use: prepare.yaml, only", "uses: prepare.yaml, only"), "which stage", "use instead",
         "w.yaml:5"),
        (None, ("only: graph", "onyl: graph"), "no key 'onyl'", "'only'", "w.yaml:5"),
        (None, ("input: small.packed", "input: small"), "whole workflow", "small.packed", "w.yaml:6"),
        (None, ("plain.graph]", "plain.ordered]"), "no entry 'plain.ordered'", "", "w.yaml:8"),
        (None, ("over: matrix", "over: [codec]"), "no matrix axis 'codec'", "small.codec", "w.yaml:8"),
        (("codec: [csr", "codec: ['${scale}', csr"), None, "which varies with the axis 'scale'", "",
         "prepare.yaml:3"),
    ],
)  # fmt: skip
def test_faults_are_told_in_the_right_file(nested, inner, outer, message, hint, place) -> None:
    if inner:
        assert inner[0] in PREPARE
        (nested / "prepare.yaml").write_text(PREPARE.replace(*inner))
    text = STUDY.replace(*outer) if outer else STUDY
    assert outer is None or text != STUDY
    found = problem_of(nested, text)
    assert message in found[0]
    assert hint in found[1]
    assert found[2] == place


def test_workflows_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("stages:\n  b: {use: b.yaml}\n")
    (tmp_path / "b.yaml").write_text("stages:\n  again: {use: a.yaml}\n")
    message, _, place, _ = problem_of(tmp_path, "stages:\n  a: {use: a.yaml}\n")
    assert "a.yaml uses b.yaml uses a.yaml" in message
    assert place == "b.yaml:2"
    assert "w.yaml uses w.yaml" in problem_of(tmp_path, "stages:\n  a: {use: w.yaml}\n")[0]


def test_uses_do_not_multiply_without_end(tmp_path: Path) -> None:
    (tmp_path / "f0.yaml").write_text("stages:\n  e: {stage: ingest, source: {rmat: {scale: 3}}}\n")
    for level in range(1, 12):
        uses = "".join(f"  u{i}: {{use: f{level - 1}.yaml}}\n" for i in range(3))
        (tmp_path / f"f{level}.yaml").write_text(f"stages:\n{uses}")
    assert "too many workflows" in problem_of(tmp_path, "stages:\n  a: {use: f11.yaml}\n")[0]


SEARCH = """\
parameters: {graph: own, where: random}
stages:
  own:   {stage: symmetrize, input: edges}
  edges: {stage: ingest, source: {rmat: {scale: 3}}}
  bfs:   {stage: traverse, input: "${graph}"}
  check: {stage: verify, graph: own, traversal: bfs}
"""


def test_a_workflow_may_give_entries_to_one_that_it_uses(nested: Path) -> None:
    (nested / "search.yaml").write_text(SEARCH)
    (nested / "middle.yaml").write_text(
        "parameters: {of: e}\nstages:\n  e: {stage: ingest, source: {rmat: {scale: 2}}}\n"
        "  inner: {use: search.yaml, parameters: {graph: '${of}'}, only: bfs}\n"
    )
    text = (
        "stages:\n  prep: {use: prepare.yaml}\n"
        "  search: {use: search.yaml, parameters: {graph: prep.packed}, only: bfs}\n"
        "  deep: {use: middle.yaml, parameters: {of: prep.graph}, only: inner.bfs}\n"
    )
    plan = plan_of(nested, text)
    assert [key for key in plan.runs if not key.startswith("prep.")] == [
        "search.bfs[prep.codec=csr]",
        "search.bfs[prep.codec=varint]",
        "deep.inner.bfs",
    ]
    assert plan.runs["deep.inner.bfs"].upstream == ("prep.graph",)
    message, hint, place, at = problem_of(nested, text.replace("graph: prep.packed", "graph: prep.pakced"))
    assert "no entry 'prep.pakced'" in message
    assert "'prep.packed'" in hint
    assert place == "w.yaml:3"
    assert at.startswith("prep.pakced")


def test_set_reaches_into_a_nested_workflow(nested: Path) -> None:
    plan = plan_of(nested, STUDY, {"small.method": "degree", "plain.scale": "4"}, where={"scale": ["8"]})
    assert plan.runs["small.ordered[scale=8]"].parameters.method == "degree"
    assert plan.runs["plain.edges"].parameters.source.rmat.scale == 4
    for name, message, hint in (
        ("plain.scael", "no parameter 'plain.scael'", "'plain.scale'"),
        ("plan.scale", "no nested workflow 'plan'", "'plain'"),
        ("plain.codec", "is a matrix axis", "--where plain.codec=4"),
    ):
        with pytest.raises(WorkflowError) as caught:
            plan_of(nested, STUDY, {name: "4"})
        assert message in str(caught.value)
        assert hint in (caught.value.problems[0].hint or "")
