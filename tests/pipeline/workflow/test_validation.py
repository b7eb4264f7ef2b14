"""The workflows that come along, and faults in the parameters of the real stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow
from gravel.pipeline.workflow.schema import workflow_schema
from gravel.stages.stage import all_stages
from tests.pipeline.workflow.test_schema import check

WORKFLOWS = Path(__file__).resolve().parents[3] / "workflows"


@pytest.mark.parametrize(
    "path",
    sorted(
        {*WORKFLOWS.glob("*.yaml"), *WORKFLOWS.glob("papers/*.yaml")}
        - {WORKFLOWS / "papers" / "published.yaml"}
    ),
    ids=lambda path: path.stem,
)
def test_every_workflow_can_be_planned_and_what_it_reads_comes_along(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    workflow = load_workflow(path)
    assert workflow.name == path.stem
    assert workflow.about
    runs = build_plan(workflow).runs
    assert runs
    for run in runs.values():
        for file in run.stage.files(run.parameters):
            assert Path(file.location).is_file(), f"{run.key} reads {file.location}"
            assert Path(file.location).is_relative_to(WORKFLOWS)
    assert check(path.read_text(), workflow_schema(all_stages()))


def test_the_quickstart_goes_through_all_eight_stages() -> None:
    workflow = load_workflow(WORKFLOWS / "quickstart.yaml")
    # The others are for benchmarks, for graphs that no worker holds or that Python saved, and for measures.
    others = {"counters", "probe", "graph500", "links", "distribute", "saved", "centrality", "paths"}
    others |= {"subgraph"}
    assert {entry.stage.name for entry in workflow.stages.values()} == set(all_stages()) - others
    assert len(workflow.stages) == 8
    assert workflow.parameters == {"scale": 16, "sources": 8}


def test_the_place_of_a_file_is_no_part_of_what_ingest_makes() -> None:
    workflow = load_workflow(WORKFLOWS / "file.yaml", {"file": "a.txt"})
    stage = workflow.stages["edges"].stage
    parameters = workflow.stages["edges"].variants[()].parameters
    assert str(WORKFLOWS / "a.txt") in parameters.model_dump_json()
    assert str(WORKFLOWS) not in parameters.model_dump_json(exclude=set(stage.hidden))


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ("{stage: ingest, source: {rmat: {scal: 3}}}", "no parameter 'scal' in `source.rmat`", "'scale'"),
        ("{stage: ingest, file: a.txt, sha256: abc}", "is 'abc', and a text that matches ^[0-9a-f", ""),
        ("{stage: ingest, source: {rmta: {scale: 3}}}", "no parameter 'rmta' in `source`", "'rmat'"),
        ("{stage: ingest, source: {rmat: {}}}", "needs the parameter 'scale' in `source.rmat`", ""),
        ("{stage: ingest, fil: a.txt}", "no parameter 'fil'", "'file'"),
        ("{stage: ingest}", "stage ingest", ""),
        ("{stage: ingest, file: a.txt, memory: lots}", "`memory` of stage ingest is 'lots'", ""),
        ("{stage: symmetrize, input: e, direction: bth}", "`direction` of stage symmetrize is 'bth'",
         "'both'"),
        ("{stage: traverse, input: g, sources: {randm: 3}}", "no parameter 'randm' in `sources`", "'random'"),
        ("{stage: traverse, input: g, sources: {random: x}}", "`sources.random` of stage traverse is 'x'",
         ""),
        ("{stage: traverse, input: g, sources: {random: 3, sed: 1}}", "no parameter 'sed' in `sources`",
         "'seed'"),
        ("{stage: traverse, input: g, sources: []}", "is [], and at least 1 value is expected", ""),
        ("{stage: traverse, input: g, sources: [{}]}", "is {}, and a whole number or a text is expected", ""),
        ("{stage: traverse, input: g, sources: [[1]]}", "`sources.0` of stage traverse is [1]", ""),
        ("{stage: traverse, input: g, sources: 3}", "is 3, and a list is expected", "{random: k, seed: s}"),
        ("{stage: traverse, input: g, sources: {random: true}}", "`sources.random` of", ""),
        ('{stage: ingest, source: {rmat: {scale: "3"}}}', "is the text '3', and a whole number", ""),
        ("{stage: traverse, input: g, algorithm: bsf}", "`algorithm` of stage traverse is 'bsf'", "'bfs'"),
        ("{stage: traverse, input: g, strategy: two_fase}", "two_fase", ""),
        ("{stage: traverse, input: g, strategy: top_dwon}", "'top_dwon' (did you mean 'top_down'?)", ""),
        ("{stage: traverse, input: g, tuning: {alpha: big}}", "`tuning.alpha` of stage traverse is", ""),
        ("{stage: traverse, input: g, tuning: {bet: 3}}", "a constant 'bet' (did you mean 'beta'?)", ""),
        ("{stage: traverse, input: g, strategy: top_down, tuning: {alpha: 4}}", "no constant 'alpha'", ""),
        ("{stage: partition, input: g, rank: 2}", "no parameter 'rank'", "'ranks'"),
        ("{stage: compress, input: g, codec: zip}", "`codec` of stage compress is 'zip'", ""),
        ("{stage: compress, input: e}", "gives EdgeList and VertexIds", "these fit: g"),
        ("{stage: verify, traversal: g, graph: g}", "takes Traversal", ""),
    ],
)  # fmt: skip
def test_faults_in_real_parameters(tmp_path: Path, entry: str, message: str, hint: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "stages:\n"
        "  e: {stage: ingest, source: {rmat: {scale: 3}}}\n"
        "  g: {stage: symmetrize, input: e}\n"
        f"  x: {entry}\n"
    )
    with pytest.raises(WorkflowError) as caught:
        load_workflow(path)
    (problem,) = caught.value.problems
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert problem.location is not None
    assert problem.location.line == 4


def test_the_home_of_nobody_is_a_name_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("stages: {e: {stage: ingest, file: ~nobody-of-that-name/a.txt}}")
    parameters = load_workflow(path).stages["e"].variants[()].parameters
    assert "~nobody-of-that-name/a.txt" in parameters.model_dump_json()


def test_another_yaml_file_is_no_workflow() -> None:
    with pytest.raises(WorkflowError) as caught:
        load_workflow(WORKFLOWS / "papers" / "published.yaml")
    (problem,) = caught.value.problems
    assert problem.message == "this is no workflow: it has papers, tables, claims"
    assert "begins with `stages:`" in (problem.hint or "")
