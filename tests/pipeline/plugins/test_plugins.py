"""Stages from files that a workflow names, and from installed packages."""

from __future__ import annotations

import inspect
import json

import pytest
from click.testing import CliRunner

from gravel.conformance import StageConformance
from gravel.pipeline.cli import main
from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.workflow.loader import load_workflow
from gravel.pipeline.workflow.plugins import read_plugin
from tests.pipeline.plugins.case import SAMPLE, WORKFLOW, edit
from tests.pipeline.workers.dask_processes import DaskProcesses


class TestTriangles(StageConformance):
    plugin = "sample_plugin.py"
    stage_name = "triangles"
    parameters = ({}, {"least": 2})


ROTTEN = {
    "test_importing_it_loads_nothing_heavy": (
        "from dataclasses import replace",
        "import numpy\nfrom dataclasses import replace",
    ),
    "test_its_parameters_are_documented": ('    """The fewest triangles of an arc that is kept."""\n', ""),
    "test_it_gives_what_it_declares": (
        "        loop_count=int((rows == columns)[kept].sum()),\n",
        "        symmetric=False, loop_count=3,\n",
    ),
    "test_it_leaves_its_inputs_alone": (
        "    n = input.vertex_count\n",
        "    n = input.vertex_count\n    columns[:1] = columns[:1]\n",
    ),
    "test_it_gives_the_same_again": (
        "counts >= parameters.least",
        "numpy.random.default_rng().random(len(counts)) < 0.5",
    ),
    "test_its_estimate_bounds_its_results": ("bytes=graph.bytes + 64", "bytes=9"),
    "test_a_workflow_runs_it_once": ("    n = input.vertex_count\n", "    n = input.vertex_count // 0\n"),
}


@pytest.mark.parametrize("name", ROTTEN)
def test_the_suite_notices(name, tmp_path, monkeypatch):
    (tmp_path / "rotten.py").write_text(SAMPLE.read_text())
    edit(tmp_path / "rotten.py", *ROTTEN[name])
    monkeypatch.setattr(TestTriangles, "plugin_path", classmethod(lambda cls: tmp_path / "rotten.py"))
    suite = TestTriangles()
    check = getattr(suite, name)
    with pytest.raises(AssertionError):
        check(tmp_path) if "tmp_path" in inspect.signature(check).parameters else check()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "mine.py").write_text(SAMPLE.read_text())
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    return tmp_path


def states(place, cluster="inline", **options):
    plan = build_plan(load_workflow(place / "w.yaml"))
    outcome = execute(plan, RunOptions(cache_root=place / "cache", cluster=cluster, backend="cpu", **options))
    return {each["key"]: each["state"] for each in outcome.record["stages"]}, outcome.record


def test_an_edit_runs_the_stage_again_and_a_comment_does_not(place):
    assert set(states(place)[0].values()) == {"computed"}
    assert set(states(place)[0].values()) == {"cached"}
    edit(place / "mine.py", "    import numpy\n", "    import numpy  # the usual\n\n")
    assert set(states(place)[0].values()) == {"cached"}
    edit(place / "mine.py", "arcs are kept", "arcs stay")
    told = CliRunner().invoke(main, ["plan", str(place / "w.yaml"), "--cache", str(place / "cache")]).output
    assert "stage code: " in told
    found, _ = states(place)
    assert [key for key, state in found.items() if state == "computed"] == ["tight"]
    edit(place / "mine.py", "counts >= parameters.least", "counts > parameters.least")
    found, _ = states(place)
    assert [key for key, state in found.items() if state == "computed"] == ["tight", "bfs", "check"]


def test_dask_workers_run_plugins_and_items_of_theirs(place, tmp_path):
    found, record = states(place, cluster="local", workers=2)
    assert set(found.values()) == {"computed"}
    outputs = {each["key"]: each["outputs"] for each in record["stages"]}
    (tmp_path / "again").mkdir()
    for name in ("mine.py", "w.yaml"):
        (tmp_path / "again" / name).write_text((place / name).read_text())
    _, inline = states(tmp_path / "again")
    assert {each["key"]: each["outputs"] for each in inline["stages"]}["tight"] == outputs["tight"]


def test_a_cluster_of_other_processes_learns_the_plugins(place):
    with DaskProcesses(place / "dask") as dask:
        dask.worker("one", "--no-nanny")
        dask.connected(1)
        found, _ = states(place, cluster=str(dask.file))
    assert set(found.values()) == {"computed"}


def test_a_failure_names_the_plugin_and_its_line(place):
    edit(place / "mine.py", "    counts = numpy.concatenate(", "    1 / 0\n    counts = numpy.concatenate(")
    tight = states(place)[1]["stages"][2]
    assert tight["error"].startswith("ZeroDivisionError")
    line = (place / "mine.py").read_text().splitlines().index("    1 / 0") + 1
    assert f"{place / 'mine.py'}:{line}" in tight["hint"]
    assert "defect of gravel" not in tight["hint"]
    edit(place / "mine.py", 'graph = inputs["input"][0]', 'graph = inputs["nothing"][0]')
    assert "estimate of stage triangles failed: KeyError" in states(place)[1]["stages"][2]["error"]


FAULTY = {
    "minee.py": ("mine.py", "", "there is no plugin 'minee.py'", "did you mean 'mine.py'?"),
    "data.txt": ("data.txt", "x", "is no Python file", "ends in .py"),
    "bad.py": ("bad.py", "x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero", "line 2 of "),
    "broken.py": ("broken.py", "def f(:\n", "SyntaxError", "line 1 of "),
    "lone.py": ("lone.py", "import mine\n", "No module named 'mine'", "a plugin is one file"),
    "empty.py": ("empty.py", "x = 1\n", "defines no stage", "docs/own-stages.md"),
    "taken.py": ("taken.py", ('"triangles"', '"ingest"'), "there is one of that name", "another name"),
    "kind.py": (
        "kind.py",
        ('outputs=("Graph",)', 'outputs=("Grap",)'),
        "`outputs` names 'Grap'",
        "fix it in",
    ),
    "inner.py": ("inner.py", ("run=triangles", "run=lambda c, p, *, input: input"), "<lambda>", "fix it in"),
    "key.py": ("key.py", ("    least: int", "    over: int"), "a name that a workflow reads otherwise", ""),
    "zero.py": ("zero.py", ("version=1", "version=0"), "whole number from 1", "fix it in"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faults_are_told_at_their_place(place, name):
    file, text, message, hint = FAULTY[name]
    if isinstance(text, tuple):
        (place / file).write_text(SAMPLE.read_text())
        edit(place / file, *text)
    elif file != "mine.py":
        (place / file).write_text(text)
    listed = f"plugins:\n  - mine.py\n  - {name}\n" if name != "kind.py" else f"plugins:\n  - {name}\n"
    edit(place / "w.yaml", "plugins: [mine.py]\n", listed)
    with pytest.raises(WorkflowError) as caught:
        load_workflow(place / "w.yaml")
    problem = next(each for each in caught.value.problems if message in each.message)
    assert hint in (problem.hint or "")
    assert (problem.location.line, problem.location.column) == (3 if "mine" in listed else 2, 5)


@pytest.mark.parametrize(
    ("section", "message"), [("mine.py", "no list"), ("[{a: 1}]", "path"), ("[]", "no stage")]
)
def test_the_section_is_a_list_of_paths(place, section, message):
    edit(place / "w.yaml", "plugins: [mine.py]", f"plugins: {section}")
    with pytest.raises(WorkflowError, match=message):
        load_workflow(place / "w.yaml")


def test_schema_and_stages_know_the_plugins_of_a_file(place):
    file = str(place / "w.yaml")
    schema = json.loads(CliRunner().invoke(main, ["schema", file]).output)
    assert "least" in schema["$defs"]["stage.triangles"]["properties"]
    told = CliRunner().invoke(main, ["stages", "triangles", "--workflow", file]).output
    assert "The fewest triangles" in told
    assert str(place / "mine.py") in told
    assert CliRunner().invoke(main, ["stages", "triangles"]).exit_code == 2


def test_two_versions_of_a_file_live_side_by_side(place):
    first = read_plugin(place / "mine.py")["triangles"]
    edit(place / "mine.py", "arcs are kept", "arcs stay")
    second = read_plugin(place / "mine.py")["triangles"]
    assert first.run is not second.run
    assert first.origin.code != second.origin.code
    assert read_plugin(place / "mine.py")["triangles"].run is second.run


@pytest.mark.parametrize("name", ["repeat", "time_limit", "keep"])
def test_a_parameter_with_the_name_of_a_key_of_entries_is_refused(place, name):
    edit(place / "mine.py", "    least: int = 1\n", f"    least: int = 1\n    {name}: int = 1\n")
    lines = (place / "mine.py").read_text().splitlines()
    line = lines.index(f"    {name}: int = 1") + 1
    done = CliRunner().invoke(main, ["plan", str(place / "w.yaml"), "--cache", str(place / "cache")])
    said = " ".join((done.output + done.stderr).split())
    assert done.exit_code == 2, said
    assert f"the parameter '{name}'" in said
    assert f"mine.py:{line}" in said.replace(" ", "")
    assert f"rename it, to `{name}_value` perhaps" in said


def test_workflows_that_are_used_have_plugins_of_their_own(place):
    (place / "other").mkdir()
    (place / "other" / "mine.py").write_text(SAMPLE.read_text())
    edit(place / "other" / "mine.py", "counts >= parameters.least", "counts > parameters.least")
    (place / "other" / "w.yaml").write_text(WORKFLOW)
    (place / "both.yaml").write_text("stages:\n  one: {use: w.yaml}\n  two: {use: other/w.yaml}\n")
    runs = build_plan(load_workflow(place / "both.yaml")).runs
    mine = {run.stage.origin.place: key for key, run in runs.items() if run.stage.name == "triangles"}
    assert set(mine) == {str(place / "mine.py"), str(place / "other" / "mine.py")}
    assert sum(run.stage.name == "ingest" for run in runs.values()) == 1
