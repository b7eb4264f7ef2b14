"""Which combinations of a matrix run: exclude, include, lists, where."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from tests.pipeline.fake_stages import ORDERINGS
from tests.pipeline.workflow.study_case import keys_of, matrix, plan_of, problem_of


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
