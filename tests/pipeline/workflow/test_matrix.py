"""The matrix: which combinations run, each depends on the axes that reach it, and equal runs are one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError, WorkflowError
from gravel.pipeline.plan.builder import build_plan
from tests.pipeline.fake_stages import ORDERINGS
from tests.pipeline.workflow.study_case import keys_of, matrix, plan_of, problem_of


def test_runs_depend_on_the_axes_that_reach_them(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    by_entry: dict[str, list[str]] = {}
    for key, run in plan.runs.items():
        by_entry.setdefault(run.entry, []).append(key)
    assert {entry: len(keys) for entry, keys in by_entry.items()} == {
        "edges": 1,
        "graph": 1,
        "ordered": 3,
        "packed": 6,
        "bfs": 6,
        "check": 6,
        "summary": 1,
    }
    assert by_entry["ordered"] == ["ordered[order=original]", "ordered[order=rcm]", "ordered[order=degree]"]
    bfs = plan.runs["bfs[order=rcm,layout=csr]"]
    assert bfs.upstream == ("packed[order=rcm,layout=csr]",)
    assert bfs.coordinates == {"order": "rcm", "layout": "csr"}
    assert {run.key for run in plan.lineage(bfs.key)} == {
        "packed[order=rcm,layout=csr]",
        "ordered[order=rcm]",
        "graph",
        "edges",
    }


def test_values_with_names_are_called_by_them(tmp_path: Path) -> None:
    text = ORDERINGS.replace("order: [original, rcm, degree]", "order: {same: original, near: rcm}")
    plan = plan_of(tmp_path, text)
    assert [key for key in plan.runs if key.startswith("ordered")] == [
        "ordered[order=same]",
        "ordered[order=near]",
    ]
    assert plan.runs["ordered[order=near]"].parameters.method == "rcm"
    assert plan.runs["ordered[order=near]"].coordinates == {"order": "near"}
    chosen = plan_of(tmp_path, text, where={"order": ["near"]})
    assert [key for key in chosen.runs if key.startswith("ordered")] == ["ordered[order=near]"]
    with pytest.raises(RequestError, match="no value 'rcm'"):
        plan_of(tmp_path, text, where={"order": ["rcm"]})


def test_an_axis_may_hold_whole_sets_of_parameters(tmp_path: Path) -> None:
    text = ORDERINGS.replace(
        "order: [original, rcm, degree]", "order: {near: {method: rcm}, far: {method: degree}}"
    )
    spread = text.replace('method: "${order}"', 'with: "${order}"')
    assert spread != text
    plan = plan_of(tmp_path, spread)
    assert plan.runs["ordered[order=near]"].parameters.method == "rcm"
    assert plan.runs["ordered[order=far]"].parameters.method == "degree"
    own = plan_of(tmp_path, text.replace('method: "${order}"', 'with: "${order}", method: original'))
    assert [run.parameters.method for run in own.runs.values() if run.entry == "ordered"] == ["original"]
    with pytest.raises(WorkflowError) as caught:
        plan_of(tmp_path, spread.replace("{method: rcm}", "{mehtod: rcm}"))
    assert caught.value.problems[0].location.snippet.strip().startswith("ordered:")
    with pytest.raises(WorkflowError) as caught:
        plan_of(tmp_path, spread.replace("{method: rcm}", "rcm"))
    assert "a mapping is expected" in caught.value.problems[0].message


def test_upstream_comes_first(tmp_path: Path) -> None:
    seen: set[str] = set()
    for key, run in plan_of(tmp_path).runs.items():
        assert set(run.upstream) <= seen
        seen.add(key)


def test_a_report_gathers_the_matrix_and_names_its_inputs(tmp_path: Path) -> None:
    summary = plan_of(tmp_path).runs["summary"]
    assert len(summary.inputs["inputs"]) == 6 * 4
    assert summary.parameters.labels == tuple(ref.run for ref in summary.inputs["inputs"])


def test_gathering_some_axes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ORDERINGS.replace("over: matrix", "over: [order]"))
    keys = [key for key in plan.runs if key.startswith("summary")]
    assert keys == ["summary[layout=csr]", "summary[layout=varint]"]
    assert all("layout=csr" in ref.run for ref in plan.runs[keys[0]].inputs["inputs"])
    assert len(plan.runs[keys[0]].inputs["inputs"]) == 3 * 4


@pytest.mark.parametrize("over", ["", "over: none, ", "over: [], "])
def test_without_over_there_is_a_report_for_each_combination(tmp_path: Path, over: str) -> None:
    plan = plan_of(tmp_path, ORDERINGS.replace("over: matrix, ", over))
    assert len([key for key in plan.runs if key.startswith("summary")]) == 6


def test_what_takes_one_input_cannot_gather(tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match="cannot gather"):
        plan_of(tmp_path, ORDERINGS.replace("traversal: bfs}", "traversal: bfs, over: matrix}"))


def test_equal_runs_are_one(tmp_path: Path) -> None:
    text = """\
matrix: {seed: [1, 2]}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 3}}}
  again: {stage: ingest, source: {rmat: {scale: 3, seed: 1}}, keep: false}
  graph: {stage: symmetrize, input: edges}
  same: {stage: symmetrize, input: again}
  other: {stage: ingest, source: {rmat: {scale: 3, seed: "${seed}"}}}
"""
    plan = plan_of(tmp_path, text)
    assert list(plan.runs) == ["edges", "graph", "other[seed=2]"]
    assert list(plan.runs["edges"].aliases) == ["again", "other[seed=1]"]
    assert plan.runs["edges"].keep is True
    assert plan.find("same") is plan.runs["graph"]
    assert build_plan(plan.workflow, only=["same"]).wanted == {"graph"}


def test_entries_that_nothing_uses_are_run(tmp_path: Path) -> None:
    text = ORDERINGS + "  spare: {stage: ingest, source: {rmat: {scale: 2}}}\n"
    assert "spare" in plan_of(tmp_path, text).runs


def test_where(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, where={"order": ["rcm"]})
    assert [key for key in plan.runs if key.startswith("bfs")] == [
        "bfs[order=rcm,layout=csr]",
        "bfs[order=rcm,layout=varint]",
    ]
    assert len(plan.runs["summary"].inputs["inputs"]) == 2 * 4
    assert len(plan_of(tmp_path, where={"order": ["rcm", "degree"], "layout": ["csr"]}).runs) == 11
    numbers = (
        ORDERINGS.replace("layout: [csr, varint]", "layout: [csr, varint]\n  s: [10, 0x0b, 1.5]")
        .replace("seed: 7", 'seed: "${s}"')
        .replace("1.5", "12")
    )
    assert len([k for k in plan_of(tmp_path, numbers, where={"s": ["0xb"]}).runs if k.startswith("bfs")]) == 6


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"where": {"ordr": ["rcm"]}}, "no matrix axis 'ordr'", "'order'"),
        ({"where": {"order": ["rmc"]}}, "no value 'rmc'", "'rcm'"),
        ({"where": {"scale": ["3"]}}, "no matrix axis 'scale'", "--set scale"),
        ({"only": ["bsf"]}, "no entry 'bsf'", "'bfs'"),
        ({"only": ["verify"]}, "no entry 'verify'", "check"),
        ({"force": ["bfs[order=rmc,layout=csr]"]}, "no entry", "bfs[order=rcm,layout=csr]"),
    ],
)
def test_choices_that_do_not_exist(tmp_path: Path, options, message, hint) -> None:
    with pytest.raises(RequestError) as caught:
        plan_of(tmp_path, **options)
    assert message in str(caught.value)
    assert hint in (caught.value.problems[0].hint or "")


def test_only_takes_what_it_needs_and_force_only_what_it_names(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, only=["bfs[order=rcm,layout=csr]"], force=["graph"])
    assert list(plan.runs) == [
        "edges",
        "graph",
        "ordered[order=rcm]",
        "packed[order=rcm,layout=csr]",
        "bfs[order=rcm,layout=csr]",
    ]
    assert plan.wanted == {"bfs[order=rcm,layout=csr]"}
    assert [key for key, run in plan.runs.items() if run.forced] == ["graph"]
    assert plan_of(tmp_path).wanted == set(plan_of(tmp_path).runs)


def test_values_that_are_no_words_have_keys_of_their_own(tmp_path: Path) -> None:
    text = """\
matrix:
  source:
    - {rmat: {scale: 3}}
    - {rmat: {scale: 4, edge_factor: 16, seed: 12345678901234567890}}
stages:
  edges: {stage: ingest, source: "${source}"}
"""
    keys = list(plan_of(tmp_path, text).runs)
    assert keys[0] == "edges[source='{rmat: {scale: 3}}']"
    assert len(keys) == len(set(keys)) == 2
    assert len(keys[1]) < 70


def test_a_matrix_of_too_many_runs_is_refused(tmp_path: Path) -> None:
    axes = "".join(f"  a{i}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for i in range(6))
    entries = "".join(
        f"  e{i}: {{stage: ingest, source: {{rmat: {{scale: 3, seed: '${{a{i}}}'}}}}}}\n" for i in range(6)
    )
    inputs = ", ".join(f"e{i}" for i in range(6))
    text = f"matrix:\n{axes}stages:\n{entries}  all: {{stage: report, inputs: [{inputs}]}}\n"
    started = time.perf_counter()
    with pytest.raises(
        WorkflowError, match=r"with 'all' the matrix makes 1,000,060 runs, more than the 100,000"
    ):
        plan_of(tmp_path, text)
    assert time.perf_counter() - started < 1


def seeds(count: int) -> str:
    return ", ".join(map(str, range(count)))


def ingest(scale: str, seed: str) -> str:
    return f"stages:\n  e: {{stage: ingest, source: {{rmat: {{scale: {scale}, seed: '{seed}'}}}}}}\n"


NAMED = ", ".join(f"n{seed}: {seed}" for seed in range(10_000))


@pytest.mark.parametrize(
    ("matrix", "scale", "key", "seed"),
    [
        (f"{{b: [{seeds(10_000)}]}}", "3", "e[b=9999]", 9999),
        (f"{{b: {{{NAMED}}}}}", "3", "e[b=n77]", 77),
        (f"{{a: [{seeds(100)}], b: [{seeds(100)}]}}", "3, edge_factor: '${a}'", "e[a=99,b=7]", 7),
    ],
    ids=["values", "names", "100 times 100"],
)
def test_10_000_runs_are_planned(tmp_path: Path, matrix: str, scale: str, key: str, seed: int) -> None:
    plan = plan_of(tmp_path, f"matrix: {matrix}\n{ingest(scale, '${b}')}")
    assert len(plan.runs) == 10_000
    assert plan.runs[key].parameters.source.rmat.seed == seed  # type: ignore[attr-defined]


def test_10_000_000_experiments_are_refused_at_once(tmp_path: Path) -> None:
    text = f"matrix:\n  a: [{seeds(3200)}]\n  b: [{seeds(3200)}]\n"
    started = time.perf_counter()
    with pytest.raises(WorkflowError, match=r"'e' would run 10,240,000 times, and .* at most 100,000 runs"):
        plan_of(tmp_path, text + ingest("3", "1${a}0${b}"))
    assert time.perf_counter() - started < 5


def test_values_of_an_axis_are_bounded_together(tmp_path: Path) -> None:
    axis = ", ".join(["'${long}'"] * 200)
    text = f"parameters:\n  long: [{', '.join(['0'] * 9_000)}]\nmatrix:\n  a: [{axis}]\n"
    with pytest.raises(WorkflowError, match="more than 1,000,000 values"):
        plan_of(tmp_path, text + ingest("3", "1"))


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
