"""The table of a run: a row for each stage run with its axes, its state and the figures of its result."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.pipeline.cli_case import gravel


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.txt").write_text("1 2\n3 4\n4 5\n")
    (tmp_path / "d/b.txt").write_text("1\n")
    (tmp_path / "w.yaml").write_text(
        "datasets: d/*.txt\n"
        "stages:\n"
        '  edges: {stage: ingest, with: "${dataset}"}\n'
        "  graph: {stage: symmetrize, input: edges}\n"
        "  parts: {stage: traverse, input: graph, algorithm: components}\n"
        "  bfs: {stage: traverse, input: graph, sources: [1, 3]}\n"
    )
    assert gravel("run", "w.yaml", "--cluster", "inline").exit_code == 1
    return tmp_path


def test_rows_have_axes_states_and_figures(home: Path) -> None:
    done = gravel("runs", "last", "--to", "run.csv")
    assert done.stdout == "8 stage runs -> run.csv\n"
    with (home / "run.csv").open() as file:
        rows = {row["key"]: row for row in csv.DictReader(file)}
    failed, parts, bfs = (
        rows[f"{key}"] for key in ("edges[dataset=b]", "parts[dataset=a]", "bfs[dataset=a]")
    )
    assert (failed["dataset"], failed["stage"], failed["state"]) == ("b", "ingest", "failed")
    assert "b.txt:1" in failed["error"]
    assert (parts["components"], parts["largest"], parts["vertices"]) == ("2", "3", "5")
    assert (bfs["searches"], bfs["reached"], bfs["error"]) == ("2", "2.5", "")
    assert rows["graph[dataset=a]"]["arcs"] == "6"
    assert gravel("runs", "last", "--to", "run.csv").stdout.endswith("(unchanged)\n")


def test_parquet_has_null_where_there_is_no_value(home: Path) -> None:
    gravel("runs", "last", "--to", "run.parquet")
    table = pyarrow.parquet.read_table(home / "run.parquet").to_pydict()
    assert table["components"].count(None) == 7
    assert table["error"].count(None) == 7


def test_it_is_shown_and_printed_as_json() -> None:
    shown = gravel("runs", "last").stdout
    assert shown.splitlines()[0].split()[:4] == ["KEY", "DATASET", "STAGE", "STATE"]
    assert gravel("runs", "last", "--json").stdout.count('"key"') == 8


def test_what_is_refused(home: Path) -> None:
    done = gravel("runs", "--to", "x.csv")
    assert (done.exit_code, "gravel runs last --to run.csv" in done.stderr) == (2, True)
    done = gravel("runs", "last", "--to", "x.npz")
    assert (done.exit_code, "end the name in .csv or .parquet" in done.stderr) == (2, True)
    assert gravel("runs", "nothing", "--to", "x.csv").exit_code == 2
    assert not (home / "x.npz").exists()
