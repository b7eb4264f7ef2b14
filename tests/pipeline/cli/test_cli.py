"""The command: its group, its errors and exit codes, and what it must not import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import COMMANDS, main
from gravel.pipeline.cli.errors import exit_code, render, run_command
from gravel.pipeline.core.errors import GravelError, Location, RequestError
from gravel.pipeline.core.hardware import FAKE
from gravel.pipeline.plugins.packages import Catalogue
from gravel.stages.errors import StageError
from gravel.stages.stage import all_stages
from tests.pipeline.cli_case import HEAVY, ROOT, bench, gravel, loaded, plan, python
from tests.pipeline.fake_stages import FAKES, ORDERINGS
from tests.pipeline.plan.test_plan import Bench

__all__ = ["bench"]


@pytest.mark.parametrize("group", ["cache", "trust", "datasets", "schedule"])
def test_the_lines_of_a_group_are_whole(group: str) -> None:
    assert "..." not in gravel(group, "--help").output.partition("Commands:")[2]


def test_help_lists_the_commands_and_each_has_help() -> None:
    result = gravel("--help")
    assert result.exit_code == 0
    assert all(COMMANDS[verb] in result.stdout for verb in ("plan", "dag", "stages", "schema"))
    for verb in main.list_commands(click.Context(main)):
        result = gravel(verb, "--help")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("Usage: gravel")
    assert gravel("--version").stdout.startswith("gravel ")


def test_an_unknown_verb() -> None:
    result = gravel("paln")
    assert result.exit_code == 2
    assert "did you mean 'plan'?" in result.stderr
    told = gravel("frobnicate").stderr
    assert told.count("gravel --help") == 1
    assert "there is no command 'frobnicate'" in told


def test_a_cache_that_cannot_be_made() -> None:
    result = gravel("run", str(ROOT / "workflows/quickstart.yaml"), "--cache", "/proc/none")
    assert result.exit_code == 2
    assert "the cache /proc/none cannot be made" in result.stderr
    assert "--cache" in result.stderr
    assert "traceback" not in result.stderr


def test_an_axis_of_a_workflow_without_a_matrix() -> None:
    result = gravel("plan", str(ROOT / "workflows/quickstart.yaml"), "--where", "order=rcm")
    assert result.exit_code == 2
    assert "hint: the workflow has no matrix; leave --where out" in result.stderr


def test_plan_of_an_empty_cache(bench: Bench) -> None:
    bench.plan()
    result = plan(bench)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["STATE", "STAGE", "RUN", "HOST", "WHY"]
    assert any(line.startswith("will run  edges") and line.endswith("not computed before") for line in lines)
    assert any(line.startswith("waits") and line.endswith("waits on edges") for line in lines)
    assert "24 stage runs: 1 will run, 23 waits" in lines
    assert "\x1b" not in result.stdout


def test_plan_says_old_and_new(bench: Bench) -> None:
    bench.run(bench.plan())
    result = plan(bench, "--set", "scale=20")
    assert "source.rmat.scale: 18 -> 20" in result.stdout
    assert "cached" in plan(bench).stdout
    assert "will run" not in plan(bench).stdout
    assert plan(bench, "--host-memory", "3kB").exit_code == 0, "what is cached fits anywhere"


def test_plan_as_json(bench: Bench) -> None:
    bench.run(bench.plan())
    found = json.loads(plan(bench, "--json", "--where", "order=rcm", "--force", "graph").stdout)
    stages = {each["key"]: each for each in found["stages"]}
    assert found["fits"] is True
    assert stages["edges"]["state"] == "cached"
    assert stages["graph"]["reasons"] == ["--force asks for it"]
    assert stages["ordered[order=rcm]"]["waits_on"] == ["graph"]
    assert stages["ordered[order=rcm]"]["coordinates"] == {"order": "rcm"}
    assert stages["edges"]["host_bytes"] == 2000


def test_plan_refuses_what_cannot_fit(bench: Bench) -> None:
    bench.plan()
    result = plan(bench, "--host-memory", "3kB")
    assert result.exit_code == 2
    assert "will run  edges" in result.stdout
    assert "summary needs 260 KiB of host memory; " in result.stderr
    assert "smaller stage runs do not fit either" in result.stderr
    assert json.loads(plan(bench, "--host-memory", "3kB", "--json").stdout)["fits"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "scale"], "--set 'scale' has no NAME=VALUE form"),
        (["--set", "scal=3"], "did you mean 'scale'?"),
        (["--where", "order=rmc"], "did you mean 'rcm'?"),
        (["--only", "bsf"], "did you mean 'bfs'?"),
        (["--host-memory", "much"], "is not a size in bytes"),
        (["--no-such-option"], "error: no such option '--no-such-option'"),
        (["--remake", "never"], "hint: say `keep: true` or `keep: false` at the entries of the workflow"),
        (["--repeat", "x"], "hint: `gravel plan --help` lists"),
        (["--set", "scale=abc"], "w.yaml:13:51: error: `source.rmat.scale` of stage ingest is 'abc'"),
    ],
)
def test_requests_that_are_wrong_exit_with_2(bench: Bench, arguments: list[str], message: str) -> None:
    bench.plan()
    result = plan(bench, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_faults_show_the_line_and_a_caret(bench: Bench) -> None:
    bench.plan()
    bench.file.write_text(ORDERINGS.replace("method:", "mehtod:"))
    result = plan(bench)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert lines[0] == f"{bench.file}:15:43: error: stage reorder has no parameter 'mehtod'"
    assert lines[1] == '   15 |   ordered: {stage: reorder, input: graph, mehtod: "${order}"}'
    assert lines[1][lines[2].index("^") :].startswith("mehtod")
    assert lines[3] == "  hint: did you mean 'method'?"


def test_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.pipeline.plugins.packages.known_stages", lambda: Catalogue(FAKES, {}))
    lines = gravel("stages").stdout.splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith((" ", "gravel"))]
    assert names[:2] == ["ingest", "symmetrize"]
    assert names[-1] == "report"
    told = gravel("stages", "ingest").stdout
    assert "scale: integer (required)" in told
    assert "Base-2 logarithm of the number of vertices." in told
    assert "format: auto | snap | metis (default auto)" in told
    assert "EdgeList, VertexIds" in told
    assert json.loads(gravel("stages", "verify", "--json").stdout)[0]["inputs"]["graph"]["kinds"] == ["Graph"]
    result = gravel("stages", "verfy")
    assert (result.exit_code, "did you mean 'verify'?" in result.stderr) == (2, True)


def test_the_strategies_of_traverse() -> None:
    told = gravel("stages", "traverse").stdout
    assert "strategies of gravel.kernels.bfs\n" in told
    assert told.count("  direction_optimizing: ") == 1


def fails(error: BaseException) -> Any:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (GravelError("it broke", hint="mend it"), 1, "error: it broke\n  hint: mend it"),
        (RequestError("not like this"), 2, "error: not like this"),
        (StageError("bad edge", file="a.txt", line=3), 1, "error: a.txt:3: bad edge"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "x.bin"), 1, "error: x.bin: no space left on device"),
        (ZeroDivisionError("by zero"), 1, "gravel failed (ZeroDivisionError: by zero); the traceback is in "),
        (click.UsageError("What."), 2, "error: what"),
    ],
)
def test_errors_become_messages_and_codes(capsys, monkeypatch, tmp_path, error, code, message) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        run_command(fails(error))
    assert ended.value.code == code
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback (most recent call last)" not in told
    if isinstance(error, ZeroDivisionError):
        (saved,) = tmp_path.glob("gravel-traceback-*.txt")
        assert "ZeroDivisionError" in saved.read_text()


def test_a_traceback_that_cannot_be_saved(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(SystemExit):
        run_command(fails(ZeroDivisionError("by zero")))
    assert "gravel failed (ZeroDivisionError: by zero)" in capsys.readouterr().err


def test_a_long_line_is_cut_around_the_caret() -> None:
    line = "x" * 500 + "HERE" + "y" * 500
    text = click.unstyle(render(GravelError("m", location=Location("f", 7, 501, line))))
    lines = text.splitlines()
    assert all(len(each) < 120 for each in lines)
    assert lines[1][lines[2].index("^") :].startswith("HERE")
    assert exit_code(GravelError("m")) == 1


def test_colours_only_where_they_are_wanted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.plan()
    arguments = ["plan", str(bench.file), "--cache", str(bench.cache.root), "--backend", "cpu"]
    assert "\x1b" in CliRunner().invoke(main, arguments, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in CliRunner().invoke(main, arguments, color=True).stdout


def test_a_file_to_write_is_checked(bench: Bench, tmp_path: Path) -> None:
    bench.plan()
    for target, message in (
        (tmp_path / "none" / "out.svg", "does not exist"),
        (tmp_path, "is a folder"),
        (Path("/proc/out.svg"), "could not write"),
    ):
        for verb in (["dag", str(bench.file)], ["schema"]):
            result = gravel(*verb, "--to", str(target))
            assert result.exit_code == 2, result.output
            assert message in result.stderr


def test_a_missing_current_folder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("os.getcwd", gone)
    monkeypatch.delenv("GRAVEL_CACHE", raising=False)
    result = gravel("runs")
    assert result.exit_code == 2
    assert "the current directory no longer exists" in result.stderr


def test_export_refuses_what_has_no_columns_before_anything_runs(bench, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(
        "gravel.pipeline.scheduler.execution.execute", lambda *_: pytest.fail("something ran")
    )
    bench.plan()
    words = ("export", str(bench.file), "--cache", str(bench.cache.root), "--to", str(tmp_path / "o.csv"))
    result = gravel(*words[:2], "summary", *words[2:])
    assert result.exit_code == 2
    assert "summary makes a Report, which has no columns to export" in result.stderr
    result = gravel(*words[:2], "sumary", *words[2:])
    assert result.exit_code == 2
    assert "--only" not in result.stderr
    assert "there is no entry 'sumary'" in result.stderr


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
  search: {stage: traverse, input: graph, algorithm: shortest_paths, sources: {random: 2}}
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
