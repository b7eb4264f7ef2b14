"""The workflow of hardware counters on a machine that has none: bytes are counted, and the report says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gravel.pipeline.cli import main

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"

REQUIRED = """
workflow: required
stages:
  edges:  {stage: ingest, source: {rmat: {scale: 6, edge_factor: 4}}}
  graph:  {stage: symmetrize, input: edges}
  counts: {stage: counters, input: graph, strategy: top_down, tool: ncu}
"""


def gravel(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main.main(list(words))
    return int(stop.value.code or 0)


def test_bytes_are_counted_where_there_is_no_gpu(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    words = ("--cache", str(cache), "--backend", "cpu", "--cluster", "inline", "--set", "scale=8")
    assert gravel("run", str(WORKFLOWS / "counters.yaml"), *words) == 0
    (path,) = cache.glob("runs/*/report.json")
    (body,) = json.loads(path.read_text())["reports"]
    sections = {section["title"]: section for section in body["sections"]}
    table = sections["Hardware counters of searches"]
    rows = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
    top_down = rows["counted[way=cpu]"]
    assert top_down["bytes are"] == "counted"
    assert top_down["counted, B/arc"] > 4
    assert not any("DRAM" in name for name in table["columns"])
    assert "Counters were not read: the searches ran on the CPU" in table["about"]
    assert "needs a GPU" in str(sections["Not run on this machine"]["rows"])
    assert "counted" in path.with_name("report.html").read_text()


def test_a_tool_that_is_required_and_reads_nothing_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow = tmp_path / "required.yaml"
    workflow.write_text(REQUIRED)
    words = ("--cache", str(tmp_path / "cache"), "--backend", "cpu", "--cluster", "inline")
    assert gravel("run", str(workflow), *words) == 1
    said = "".join(capsys.readouterr())
    assert "counters were not read: the searches ran on the CPU" in said
    assert "tool: auto" in said
    assert "Traceback" not in said
