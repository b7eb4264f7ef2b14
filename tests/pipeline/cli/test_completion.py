"""`gravel completion`, through bash itself and as zsh and fish ask."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from tests.pipeline.cli.test_run import gravel

WORKFLOW = """\
workflow: roads
parameters: {scale: 5, name: ring}
matrix: {order: [original, degree], layout: {plain: {codec: csr}, packed: {codec: varint}}}
stages:
  edges: {stage: ingest, source: {rmat: {scale: "${scale}"}}}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "roads.yaml").write_text(WORKFLOW)
    (tmp_path / "data.txt").write_text("1 2\n")
    (tmp_path / "broken.yaml").write_text("stages: [\n")
    return tmp_path


def ask(folder: Path, *words: str, shell: str = "zsh") -> list[str]:
    """Ask as a shell does; the last word is the one to complete."""
    word = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": word, "_GRAVEL_COMPLETE": f"{shell}_complete"}
    ran = CliRunner().invoke(main, [], prog_name="gravel", env=asked)
    assert (ran.exit_code, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    if shell == "fish":
        return [line.partition(",")[2].partition("\t")[0] for line in lines]
    return lines[1::3] if shell == "zsh" else [line.partition(",")[2] for line in lines]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_verbs_and_stages_complete(folder: Path, shell: str) -> None:
    assert set(ask(folder, "gravel", "r", shell=shell)) == {"run", "runs", "report"}
    assert ask(folder, "gravel", "run", "roads.yaml", "--only", "", shell=shell) == ["edges", "graph"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("plan", "roads.yaml", "--force", "g"), ["graph"]),
        (("run", "roads.yaml", "--set", ""), ["scale=5", "name=ring"]),
        (("run", "roads.yaml", "--where", "o"), ["order=original", "order=degree"]),
        (("run", "roads.yaml", "--where", "layout="), ["layout=plain", "layout=packed"]),
        (("export", "roads.yaml", ""), ["edges", "graph"]),
        (("run", "data.txt", "--only", ""), ["edges", "graph", "bfs", "check", "summary"]),
        (("run", "broken.yaml", "--only", ""), []),
        (("run", "nothing.yaml", "--only", ""), []),
        (("run", "--only", ""), []),
        (("stages", "tr"), ["traverse"]),
        (("completion", ""), ["bash", "fish", "zsh"]),
        (("run", "roads.yaml", "--backend", "c"), ["cuda", "cpu"]),
        (("diff", ""), []),
    ],
)
def test_values_complete(words: tuple[str, ...], found: list[str], folder: Path) -> None:
    got = ask(folder, "gravel", *words)
    assert got == found or (words == ("diff", "") and got == ["last"])


def test_runs_and_their_stages_complete(folder: Path) -> None:
    gravel("run", "roads.yaml", "--only", "edges", "--set", "scale=3", "--cluster", "inline", "-q")
    [run] = [each.name for each in (folder / "cache" / "runs").iterdir()]
    assert ask(folder, "gravel", "diff", "") == ["last", run]
    assert ask(folder, "gravel", "report", run[:4]) == [run]
    assert ask(folder, "gravel", "logs", "last", "") == ["edges"]
    assert ask(folder, "gravel", "show", run, "e") == ["edges"]


def bash(folder: Path, line: str, words: str, place: int) -> list[str]:
    """Have bash complete: `words` as it splits them, `place` that of the word with the cursor."""
    script = f"""\
eval "$(gravel completion bash)"
compopt() {{ echo compopt; }}
COMP_LINE={line!r}; COMP_WORDS=({words}); COMP_CWORD={place}
_gravel_completion gravel
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    ran = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return ran.stdout.split("\n")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_words_with_an_equals_sign(folder: Path) -> None:
    assert bash(folder, "gravel run", "gravel ru", 1) == ["run", "runs"]
    assert bash(folder, "gravel run ", "gravel run ''", 2) == ["compopt", ""]
    where = "gravel run roads.yaml --where"
    assert bash(folder, f"{where} ord", f"{where} ord", 4) == ["order=original", "order=degree"]
    # At `=` bash begins another word, and replaces that alone.
    assert bash(folder, f"{where} order=", f"{where} order =", 5) == ["original", "degree"]
    assert bash(folder, f"{where} order=d", f"{where} order = d", 6) == ["degree"]
    found = bash(folder, f"{where} order=degree --only ", f"{where} order = degree --only ''", 8)
    assert found == ["edges", "graph"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    script = gravel("completion", shell).stdout
    assert f"_GRAVEL_COMPLETE={shell}_complete" in script
    assert f"gravel completion {shell}" in script
