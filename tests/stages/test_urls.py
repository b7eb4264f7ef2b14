"""Symbolic links that lead to nothing, wherever a file may be named."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import gravel
from gravel.pipeline.cli import main
from gravel.stages.errors import StageError
from gravel.stages.ingest import read_edges

STAGES = "  edges: {stage: ingest, file: g.txt}\n  graph: {stage: symmetrize, input: edges}\n"
NOWHERE = "it is a link to nowhere, which is not there"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, target in (
        ("dang", "nowhere"),
        ("dang.txt", "nowhere"),
        ("chain.txt", "dang.txt"),
        ("circle.txt", "back.txt"),
        ("back.txt", "circle.txt"),
        ("w.yaml", "gone.yaml"),
        ("folder", "gone"),
    ):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "g.txt").write_text("1 2\n")
    return tmp_path


def said(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code in (1, 2), result.output
    return result.output


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("dang", f"dang: {NOWHERE}"),
        ("dang.txt", f"dang.txt: {NOWHERE}"),
        ("chain.txt", "chain.txt: it is a link to {folder}/nowhere, which is not there"),
        ("circle.txt", "circle.txt: it is a link that leads back to itself"),
        ("folder/x.txt", "folder/x.txt: folder is a link to gone, which is not there"),
        ("w.yaml", "there is no workflow file w.yaml: it is a link to gone.yaml"),
    ],
)
def test_files_that_commands_are_given(folder: Path, file: str, words: str) -> None:
    words = words.format(folder=folder)
    text = said("run", file)
    assert words in text
    assert "did you mean" not in text
    if not file.endswith("yaml"):
        assert words in said("init", file, "--to", "out.yaml")
        with pytest.raises(FileNotFoundError, match=words.split(": ", 1)[1]):
            gravel.graph(file)


@pytest.mark.parametrize(
    "stages",
    [
        "  edges: {stage: ingest, file: dang.txt}\n",
        STAGES + "  bfs: {stage: traverse, input: graph, sources: {file: dang.txt}}\n",
    ],
)
def test_files_that_a_workflow_names(folder: Path, stages: str) -> None:
    Path("own.yaml").write_text(f"workflow: w\nstages:\n{stages}")
    assert f"there is no file {folder}/dang.txt: {NOWHERE}" in said("run", "own.yaml", "--cluster", "inline")


def test_a_pattern_matches_a_link_that_leads_nowhere(folder: Path) -> None:
    text = 'workflow: w\ndatasets: "[dg]*.txt"\nstages:\n  edges: {stage: ingest, with: "${dataset}"}\n'
    Path("own.yaml").write_text(text)
    text = said("run", "own.yaml", "--cluster", "inline")
    assert f"own.yaml:2: there is no file {folder}/dang.txt: {NOWHERE}" in text


def test_a_reader_says_it(folder: Path) -> None:
    with pytest.raises(StageError, match=NOWHERE):
        read_edges(folder / "dang.txt")
