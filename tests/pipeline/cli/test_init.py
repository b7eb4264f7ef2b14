"""Files, folders and patterns whose names are no UTF-8: Python has surrogates for their bytes."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy
import pyarrow
import pytest
from pyarrow import parquet

import gravel
from tests.pipeline.cli.test_options import command

NAME = os.fsdecode(b"caf\xe9")
SHOWN = r"caf\udce9"
STAGES = """\
stages:
  edges: {stage: ingest, FILE}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: [1]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / f"{NAME}.txt").write_text("1 2\n2 3\n")
    return tmp_path


def good(*arguments: str, cwd: Path) -> str:
    """Run a command that must succeed; return what it printed."""
    done = command(*arguments, cwd=cwd, LC_ALL="C.UTF-8")
    assert done.returncode == 0, done.stderr
    assert "defect of gravel" not in done.stderr
    return done.stdout + done.stderr


def newest(folder: Path) -> dict[str, object]:
    runs = sorted((folder / ".gravel" / "runs").iterdir())
    record: dict[str, object] = json.loads((runs[-1] / "run.json").read_bytes())
    (runs[-1] / "report.html").read_text(encoding="utf-8")
    return record


def test_a_workflow_is_written_and_run(folder: Path) -> None:
    assert f"{SHOWN}.yaml: a workflow for {SHOWN}.txt" in good("init", f"{NAME}.txt", cwd=folder)
    text = (folder / f"{NAME}.yaml").read_text(encoding="utf-8")
    assert f'file: "{SHOWN}.txt"' in text
    good("run", f"{NAME}.yaml", "--cluster", "inline", cwd=folder)
    record = newest(folder)
    assert record["state"] == "done"
    assert f"{SHOWN}.txt" in good("logs", "last", "edges", cwd=folder)
    # A second run finds everything, and the bytes of the name are those of before.
    assert "5 cached" in good("run", f"{NAME}.yaml", "--cluster", "inline", cwd=folder)


def test_a_data_file_is_searched(folder: Path) -> None:
    said = good("run", f"{NAME}.txt", "--sources", "1", "--cluster", "inline", cwd=folder)
    assert "3 of 3 vertices" in said
    good("plan", f"{NAME}.txt", "--sources", "1", cwd=folder)
    good("export", f"{NAME}.txt", "bfs", "--sources", "1", "--to", f"{NAME}.csv", cwd=folder)
    assert len((folder / f"{NAME}.csv").read_text().splitlines()) == 4
    assert f'file: "{SHOWN}.txt"' in good("run", f"{NAME}.txt", "--show-workflow", cwd=folder)
    assert SHOWN in good("runs", cwd=folder)


@pytest.mark.parametrize("cluster", ["inline", "local"])
def test_a_workflow_in_a_folder(folder: Path, cluster: str) -> None:
    inside = folder / NAME
    inside.mkdir()
    (inside / "pyproject.toml").touch()  # the cache is there, too
    (inside / "g.txt").write_text("1 2\n")
    (inside / "list.txt").write_text("2\n")
    text = "workflow: w\n" + STAGES.replace("FILE", "file: g.txt").replace("[1]", "{file: list.txt}")
    (inside / "w.yaml").write_text(text)
    said = good("run", "w.yaml", "--cluster", cluster, cwd=inside)
    assert f"/{SHOWN}/.gravel/runs/" in said
    assert newest(inside)["state"] == "done"
    assert "3 cached" in good("run", f"{NAME}/w.yaml", "--cache", f"{NAME}/.gravel", cwd=folder)
    assert "1 failed" not in good("cache", "verify", cwd=inside)


def test_patterns(folder: Path) -> None:
    (folder / "other.txt").write_text("1 3\n")
    text = "workflow: w\ndatasets: '*.txt'\n" + STAGES.replace("FILE", 'with: "${dataset}"')
    (folder / "w.yaml").write_text(text)
    good("run", "w.yaml", "--cluster", "inline", cwd=folder)
    assert newest(folder)["workflow"]["matrix"] == {"dataset": [SHOWN, "other"]}  # type: ignore[index]
    deep = folder / "dd" / NAME
    deep.mkdir(parents=True)
    (deep / "g.txt").write_text("1 4\n")
    (folder / "w.yaml").write_text(text.replace("*.txt", "dd/*/g.txt"))
    good("run", "w.yaml", "--cluster", "inline", cwd=folder)
    assert newest(folder)["workflow"]["matrix"] == {"dataset": [f"{SHOWN}/g"]}  # type: ignore[index]


def test_options_and_escapes(folder: Path) -> None:
    text = "workflow: w\nparameters: {file: g.txt}\n" + STAGES.replace("FILE", 'file: "${file}"')
    (folder / "w.yaml").write_text(text)
    good("run", "w.yaml", "--set", f"file={NAME}.txt", "--cluster", "inline", cwd=folder)
    (folder / "w.yaml").write_text(text.replace("g.txt", f'"{SHOWN}.txt"'))
    assert "3 cached" in good("run", "w.yaml", "--cluster", "inline", cwd=folder)
    done = command("run", os.fsdecode(b"gon\xe9.txt"), cwd=folder)
    assert done.returncode == 2
    assert "there is no file gon\\udce9.txt" in done.stderr


@pytest.mark.parametrize("suffix", ["txt.gz", "parquet", "npy", "npz"])
@pytest.mark.parametrize("cache", [False, None])
def test_python_reads_every_format(folder: Path, suffix: str, cache: bool | None) -> None:
    path = folder / f"{NAME}.{suffix}"
    plain = folder / f"plain.{suffix}"
    if suffix == "txt.gz":
        plain.write_bytes(gzip.compress(b"1 2\n2 3\n"))
    elif suffix == "parquet":
        parquet.write_table(pyarrow.table({"source": ["a", "b"], "target": ["b", "c"]}), plain)
    elif suffix == "npy":
        numpy.save(plain, numpy.array([[1, 2], [2, 3]]))
    else:
        numpy.savez(plain, source=[1, 2], target=[2, 3])
    plain.rename(path)
    graph = gravel.graph(path, cache=cache)  # type: ignore[arg-type]
    assert len(graph) == 3
    graph.save(folder / os.fsdecode(b"sav\xe9"))
    assert len(gravel.graph(folder / os.fsdecode(b"sav\xe9"))) == 3
    if suffix == "txt.gz":
        assert gravel.run(str(path), sources=[1])["bfs"].reached == 3
