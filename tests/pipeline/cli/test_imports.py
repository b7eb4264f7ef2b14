"""What a command imports: nothing that it has no use for."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.cli import COMMANDS
from gravel.pipeline.core.hardware import FAKE
from gravel.stages.stage import all_stages
from tests.pipeline.cli_case import HEAVY, bench, loaded, python
from tests.pipeline.plan.test_plan import Bench

__all__ = ["bench"]

SLOW = HEAVY - {"numpy"}
"""Without what looks into a file of edges, and divides a generator's among ranks."""


FAKE_STAGES = """\
from gravel.pipeline.workflow import loader
from tests.pipeline.fake_stages import FAKES
loader.known_stages = lambda: FAKES
"""


@pytest.mark.parametrize("full", [False, True])
def test_a_plan_imports_nothing_heavy(bench: Bench, full: bool) -> None:
    found = bench.plan()
    if full:
        bench.run(found)
    words = ("plan", str(bench.file), "--cache", str(bench.cache.root), "--backend", "cpu")
    told, heavy = loaded(*words, before=FAKE_STAGES)
    assert ("24 cached" if full else "1 will run") in told
    assert not heavy


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize("workflow", ["quickstart", "orderings"])
def test_a_plan_of_a_workflow_imports_nothing_heavy(tmp_path: Path, workflow: str, backend: str) -> None:
    """The real stages and the strategies that they validate against stay light, too."""
    words = ("plan", f"workflows/{workflow}.yaml", "--cache", str(tmp_path), "--backend", backend)
    told, heavy = loaded(*words, **{FAKE: "1x80GiB"})
    assert f"backend: {backend}" in told
    assert not heavy


def test_only_the_stages_that_a_workflow_names_are_imported(tmp_path: Path) -> None:
    workflow = tmp_path / "small.yaml"
    workflow.write_text(
        "stages:\n  edges: {stage: ingest, source: {path: {vertices: 9}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    stages = {stage.run.__module__ for stage in all_stages().values()}
    told, found = loaded("plan", str(workflow), "--cache", str(tmp_path / "cache"), of=stages)
    assert "1 will run, 1 waits" in told
    assert found == {"gravel.stages.ingest", "gravel.stages.symmetrize"}


def test_a_stage_has_the_name_of_its_module() -> None:
    assert len(all_stages()) >= 16
    assert all(name == stage.name for name, stage in all_stages().items())
    assert "errors" not in all_stages()


def test_help_imports_next_to_nothing() -> None:
    told, found = loaded("--help", of=["pydantic", "ruamel.yaml"])
    assert "Commands:" in told
    assert not found


def test_no_statement_of_a_stage_imports_anything_slow() -> None:
    """Each stage states what it needs in every form that has a case, on both backends."""
    code = f"""\
import sys
from pathlib import Path
from gravel.stages.stage import Extent
from tests.stages.statements.cases import CASES
from tests.stages.statements.measuring import stated
from tests.stages.statements.record import load
inputs = load()["inputs"]
for name, case in CASES.items():
    sizes = {{slot: tuple(Extent(**each) for each in given) for slot, given in inputs[name]["16"].items()}}
    for backend in ["cpu"] * case.cpu + ["cuda"] * case.gpu:
        if "file" not in case.parameters and "folder" not in case.parameters:
            stated(name, 16, backend, sizes, Path("missing"))
        found = sorted({SLOW!r} & sys.modules.keys())
        if found:
            raise SystemExit(f"{{name}} on {{backend}} loads {{', '.join(found)}}")
"""
    ended = python(code)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_a_plan_of_weighted_edges_imports_nothing_slow(tmp_path: Path, backend: str) -> None:
    (tmp_path / "edges.txt").write_text("0 1 2.5\n1 2 3\n2 0 1\n")
    workflow = tmp_path / "weighted.yaml"
    workflow.write_text("""\
workflow: weighted
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges, direction: as_given, weights: minimum}
  search: {stage: traverse, input: graph, algorithm: sssp, sources: {random: 2}}
  paths: {stage: paths, input: graph, pairs: {random: 2}}
  strong: {stage: traverse, input: graph, algorithm: strong_components}
""")
    words = ("plan", str(workflow), "--cache", str(tmp_path / "cache"), "--backend", backend)
    told, slow = loaded(*words, of=SLOW, **{FAKE: "1x80GiB"})
    assert "1 will run, 4 wait" in told
    assert not slow


def test_a_page_of_the_documentation_imports_nothing_heavy() -> None:
    told, found = loaded("docs", "cache", of=HEAVY | {"pydantic"})
    assert told.startswith("# ")
    assert not found


def test_completion_imports_nothing_heavy_and_the_first_word_no_verb(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("stages: {edges: {stage: ingest}}")
    asked = {
        "COMP_WORDS": "gravel run w.yaml --only ",
        "COMP_CWORD": "4",
        "_GRAVEL_COMPLETE": "bash_complete",
    }
    assert loaded(of=HEAVY | {"pydantic"}, cwd=tmp_path, **asked) == ("plain,edges\n", set())
    verbs = [f"gravel.pipeline.cli.{each}" for each in COMMANDS]
    told, found = loaded(of=verbs, **asked | {"COMP_WORDS": "gravel ", "COMP_CWORD": "1"})
    assert len(told.splitlines()) == len(COMMANDS)
    assert found == {"gravel.pipeline.cli.completion"}  # it has the shells
