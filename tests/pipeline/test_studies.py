"""Studies: combinations of the matrix, workflows that use others, repeated measurements."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import RequestError, WorkflowError
from gravel.pipeline.core.hardware import hardware
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.plan.recipes import RecipeMaker
from gravel.pipeline.plan.status import plan_status
from gravel.pipeline.scheduler.executing import execute
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.workflow.loading import load_workflow
from gravel.stages.artifacts import Measurement, VertexIds
from gravel.stages.stage import Extent, Need, Parameters, Stage
from tests.pipeline.fake_stages import FAKES, ORDERINGS
from tests.pipeline.test_plan import Bench
from tests.pipeline.tiny_stages import Tiny, measure


def plan_of(folder: Path, text: str, overrides: dict[str, str] | None = None, **options: Any) -> Plan:
    path = folder / "w.yaml"
    path.write_text(text)
    return build_plan(load_workflow(path, overrides, stages=FAKES), **options)


def keys_of(plan: Plan, entry: str) -> list[str]:
    return [key.partition("[")[2].rstrip("]") for key, run in plan.runs.items() if run.entry == entry]


def problem_of(folder: Path, text: str) -> tuple[str, str, str, str]:
    with pytest.raises(WorkflowError) as caught:
        plan_of(folder, text)
    problem = caught.value.problems[0]
    place = problem.location
    told = "" if place is None else f"{Path(place.file).name}:{place.line}"
    at = "" if place is None else place.snippet[place.column - 1 :]
    return problem.message, problem.hint or "", told, at


def matrix(*lines: str) -> str:
    return ORDERINGS.replace(
        "  layout: [csr, varint]", "\n".join(["  layout: [csr, varint]", *(f"  {line}" for line in lines)])
    )


def test_what_is_excluded_does_not_run_and_is_not_checked(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, matrix("exclude: [{order: rcm, layout: varint}, {order: degree}]"))
    assert keys_of(plan, "ordered") == ["order=original", "order=rcm"]
    assert keys_of(plan, "bfs") == [
        "order=original,layout=csr",
        "order=original,layout=varint",
        "order=rcm,layout=csr",
    ]
    assert len(plan.runs["summary"].inputs["inputs"]) == 3 * 4
    wrong = matrix("exclude: [{order: nonsense}]").replace("rcm, degree", "rcm, nonsense")
    assert keys_of(plan_of(tmp_path, wrong), "ordered") == ["order=original", "order=rcm"]
    several = plan_of(tmp_path, matrix("exclude: {order: [rcm, degree], layout: varint}"))
    assert len(keys_of(several, "bfs")) == 4


def test_what_is_included_comes_besides_and_may_have_new_values(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, matrix("include: [{order: random, layout: csr}]"))
    assert len(keys_of(plan, "bfs")) == 7
    assert keys_of(plan, "bfs")[-1] == "order=random,layout=csr"
    assert len(plan.runs["summary"].inputs["inputs"]) == 7 * 4
    both = plan_of(tmp_path, matrix("exclude: [{order: rcm}]", "include: [{order: rcm, layout: csr}]"))
    assert keys_of(both, "ordered") == ["order=original", "order=degree", "order=rcm"]
    every = plan_of(tmp_path, matrix("include: [{order: random}]"))
    assert keys_of(every, "bfs")[-2:] == ["order=random,layout=csr", "order=random,layout=varint"]


def test_new_values_of_an_axis_with_names_have_names_too(tmp_path: Path) -> None:
    text = matrix("include: [{order: {far: random}, layout: csr}, {order: near, layout: csr}]")
    text = text.replace("order: [original, rcm, degree]", "order: {same: original, near: rcm}")
    plan = plan_of(tmp_path, text)
    assert keys_of(plan, "ordered") == ["order=same", "order=near", "order=far"]
    assert plan.runs["ordered[order=far]"].parameters.method == "random"
    assert "has no value 'nera'" in problem_of(tmp_path, text.replace("{order: near", "{order: nera"))[0]


def test_a_matrix_may_be_a_list_of_combinations(tmp_path: Path) -> None:
    text = ORDERINGS.replace(
        "  order: [original, rcm, degree]\n  layout: [csr, varint]\n",
        "  include:\n    - {order: rcm, layout: csr}\n    - {order: degree, layout: varint}\n",
    )
    plan = plan_of(tmp_path, text)
    assert keys_of(plan, "bfs") == ["order=rcm,layout=csr", "order=degree,layout=varint"]
    message, _, place, _ = problem_of(tmp_path, text.replace("degree, layout: varint", "degree"))
    assert "says nothing of layout" in message
    assert place == "w.yaml:11"


def test_where_chooses_among_what_is_left(tmp_path: Path) -> None:
    text = matrix("exclude: [{order: rcm, layout: varint}]")
    assert keys_of(plan_of(tmp_path, text, where={"order": ["rcm"]}), "bfs") == ["order=rcm,layout=csr"]
    with pytest.raises(RequestError, match="no combination with order=rcm layout=varint"):
        plan_of(tmp_path, text, where={"order": ["rcm"], "layout": ["varint"]})


@pytest.mark.parametrize(
    ("line", "message", "hint", "at"),
    [
        ("exclude: [{ordr: rcm}]", "no matrix axis 'ordr'", "'order'", "ordr: rcm"),
        ("exclude: [{order: rmc}]", "has no value 'rmc'", "'rcm'", "order: rmc"),
        ("exclude: [rcm]", "`exclude` has 'rcm'", "exclude: [{axis: value}]", "rcm]"),
        ("exclude: [{layout: [csr, varint]}]", "leaves no combination", "", "[{layout"),
        ("include: [{order: '${nothing}'}]", "no parameter 'nothing'", "", "${nothing}"),
        ("include: [{speed: 3}]", "no matrix axis 'speed'", "order, layout", "speed: 3"),
    ],
)
def test_faults_of_combinations(tmp_path: Path, line: str, message: str, hint: str, at: str) -> None:
    found = problem_of(tmp_path, matrix(line))
    assert message in found[0]
    assert hint in found[1]
    assert found[2] == "w.yaml:11"
    assert found[3].startswith(at)


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
    assert plan.runs["one.graph"].aliases == ("two.graph",)


def test_files_count_from_the_workflow_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        (
            None,
            ("use: prepare.yaml, only", "use: prepar.yaml, only"),
            "no workflow file",
            "prepare.yaml",
            "w.yaml:5",
        ),
        (None, ("only: graph", "only: grph"), "no entry 'grph'", "'graph'", "w.yaml:5"),
        (
            None,
            ("use: prepare.yaml, only", "uses: prepare.yaml, only"),
            "which stage",
            "use instead",
            "w.yaml:5",
        ),
        (None, ("only: graph", "onyl: graph"), "no key 'onyl'", "'only'", "w.yaml:5"),
        (None, ("input: small.packed", "input: small"), "whole workflow", "small.packed", "w.yaml:6"),
        (None, ("plain.graph]", "plain.ordered]"), "no entry 'plain.ordered'", "", "w.yaml:8"),
        (None, ("over: matrix", "over: [codec]"), "no matrix axis 'codec'", "small.codec", "w.yaml:8"),
        (
            ("codec: [csr", "codec: ['${scale}', csr"),
            None,
            "which varies with the axis 'scale'",
            "",
            "prepare.yaml:3",
        ),
    ],
)
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


REPEATED = ORDERINGS.replace("algorithm: bfs,", "algorithm: bfs, repeat: 3,")


def test_a_repeated_measurement_is_verified_once_and_reported_each_time(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, REPEATED)
    assert keys_of(plan, "bfs")[:3] == [
        "order=original,layout=csr",
        "order=original,layout=csr,repeat=2",
        "order=original,layout=csr,repeat=3",
    ]
    assert len(keys_of(plan, "check")) == 6
    assert plan.runs["check[order=rcm,layout=csr]"].upstream == ("graph", "bfs[order=rcm,layout=csr]")
    told = [ref for ref in plan.runs["summary"].inputs["inputs"] if ref.run.startswith("bfs")]
    assert sorted(ref.output for ref in told) == [0] * 6 + [1] * 18
    assert keys_of(plan_of(tmp_path, ORDERINGS, repeat=3), "bfs") == keys_of(plan, "bfs")
    by_parameter = REPEATED.replace("repeat: 3", "repeat: '${sources}'")
    assert len(keys_of(plan_of(tmp_path, by_parameter, {"sources": "2"}), "bfs")) == 12


def test_only_the_new_repetitions_are_computed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(bench.plan(ORDERINGS))
    status = bench.status(bench.plan(REPEATED))
    rerun = [key for key, each in status.items() if each.state != "cached"]
    assert len(rerun) == 13
    assert {key.partition("[")[0] for key in rerun} == {"bfs", "summary"}
    again = status["bfs[order=rcm,layout=csr,repeat=2]"]
    assert again.state == "will run"
    assert "repetition: 1 -> 2" in " ".join(again.reasons)
    known = bench.run(bench.plan(REPEATED))
    assert len({known[key] for key in known if key.startswith("bfs")}) == 18


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repeat: 3", "repeat: 0", "a number from 1 to 1000"),
        ("repeat: 3", "repeat: often", "a number from 1 to 1000"),
        ("repeat: 3", "repeat: '${order}'", "the matrix axis 'order' cannot decide this"),
        ("method: ", "repeat: 2, method: ", "reorder measures nothing"),
        ("layout: [csr, varint]", "layout: [csr, varint]\n  repeat: [1, 2]", "has an axis of that name"),
    ],
)
def test_faults_of_repetitions(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in REPEATED
    assert message in problem_of(tmp_path, REPEATED.replace(old, new))[0]


def test_from_computes_everything_that_rests_on_a_stage(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ORDERINGS, start=["packed[order=rcm,layout=csr]"])
    assert {key for key, run in plan.runs.items() if run.forced} == {
        "packed[order=rcm,layout=csr]",
        "bfs[order=rcm,layout=csr]",
        "check[order=rcm,layout=csr]",
        "summary",
    }
    assert plan.runs["summary"].because == "--from asks for it"
    assert (
        plan_of(tmp_path, ORDERINGS, start=["bfs"], only=["check"]).runs["check[order=rcm,layout=csr]"].forced
    )
    with pytest.raises(RequestError, match="--from summary: it is not part of this run"):
        plan_of(tmp_path, ORDERINGS, start=["summary"], only=["bfs"])


def test_what_failed_is_computed_again_with_what_rests_on_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ORDERINGS, failed=["bfs[order=rcm,layout=csr]", "gone"])
    assert plan.wanted == {"bfs[order=rcm,layout=csr]", "check[order=rcm,layout=csr]", "summary"}
    assert {key for key, run in plan.runs.items() if run.forced} == {"bfs[order=rcm,layout=csr]"}
    with pytest.raises(RequestError, match="nothing that failed is part of this run: gone"):
        plan_of(tmp_path, ORDERINGS, failed=["gone"])


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


def test_500_stage_runs_are_planned_in_a_second_and_left_alone_in_two(tmp_path: Path) -> None:
    seeds = ", ".join(map(str, range(40)))
    text = matrix(f"s: [{seeds}]").replace("seed: 7", 'seed: "${s}"')
    bench = Bench(tmp_path)
    plan = bench.plan(text)
    assert len(plan.runs) == 492
    same: dict[str, str] = {}
    known: dict[str, tuple[str, ...]] = {}
    maker = RecipeMaker(plan, bench.cache, FileDigests(bench.cache.root), lambda stage: hardware("cpu"))
    for key, run in plan.runs.items():
        for kind in {*run.stage.outputs} - {*same}:
            with bench.cache.writer() as writer:
                same[kind] = writer.publish(bench.artifact(kind, kind)).id
        known[key] = tuple(same[kind] for kind in run.stage.outputs)
        bench.cache.remember(maker.recipe(run, known), known[key], {"key": key, "stage": run.stage.name})
    started = time.perf_counter()
    assert {each.state for each in plan_status(bench.plan(text), maker, bench.cache)} == {"cached"}
    planned = time.perf_counter()
    options = RunOptions(cache_root=bench.cache.root, cluster="inline", backend="cpu")
    outcome = execute(bench.plan(text), options)
    ended = time.perf_counter()
    assert {stage["state"] for stage in outcome.record["stages"]} == {"cached"}
    assert planned - started < 1
    assert ended - planned < 2


class Shaky(Parameters):
    """No parameters."""


def shaky(context: Any, parameters: Shaky) -> tuple[VertexIds, Measurement]:
    """Give ids that are others each time."""
    ids = VertexIds(first=time.time_ns() % (1 << 40), vertex_count=1)
    return ids, measure(context, Tiny(), ())


def test_repetitions_with_different_labels_are_told(tmp_path: Path) -> None:
    outputs = ("VertexIds", "Measurement")
    need = Need(1 << 20, 0, (Extent("VertexIds"), Extent("Measurement")))
    stage = Stage("shaky", 1, "Shakes.", Shaky, {}, outputs, shaky, lambda *given: need, measures=True)
    (tmp_path / "w.yaml").write_text("stages: {a: {stage: shaky, repeat: 2}}\n")
    plan = build_plan(load_workflow(tmp_path / "w.yaml", stages={"shaky": stage}))
    outcome = execute(plan, RunOptions(cache_root=tmp_path / "cache", cluster="inline", backend="cpu"))
    why = {run["key"]: run["why"] for run in outcome.record["stages"]}
    assert (
        "the VertexIds of a[repeat=2] is not that of a; only the first one is verified" in why["a[repeat=2]"]
    )
