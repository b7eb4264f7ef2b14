"""The workflow of a graph that only its ranks hold: its shape at full size, and the report of a small run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.cli import main
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow

WORKFLOW = Path(__file__).resolve().parents[2] / "workflows" / "distributed.yaml"


def test_a_small_run(tmp_path: Path) -> None:
    arguments = [str(WORKFLOW), "--cache", str(tmp_path), "--cluster", "inline", "--backend", "cpu"]
    with pytest.raises(SystemExit) as stop:
        main.main(["run", *arguments, "--set", "scale=7", "--set", "sources=3"])
    assert not stop.value.code
    (body,) = json.loads(next(tmp_path.glob("runs/*/report.json")).read_text())["reports"]
    sections = {section["title"]: section for section in body["sections"]}
    split = sections["Partitions"]
    assert dict(zip(split["columns"], split["rows"][0], strict=True))["ranks"] == 2
    searches = sections["Searches over ranks"]
    assert dict(zip(searches["columns"], searches["rows"][0], strict=True))["ranks"] == 2
    verified = sections["Verification"]
    told: list[dict[str, Any]] = [
        dict(zip(verified["columns"], row, strict=True)) for row in verified["rows"]
    ]
    assert len(told) == 7
    assert {row["searches"] for row in told} == {3}
    # Of a graph of 2,048 edges and searches of 128 vertices no array is left but the sources.
    stored = [path for path in tmp_path.rglob("*") if path.is_file() and "/c/" in path.as_posix()]
    assert sum(path.stat().st_size for path in stored) < 200


def test_its_full_size() -> None:
    workflow = load_workflow(WORKFLOW, {"scale": "31", "ranks": "8", "sources": "64"})
    runs: dict[str, Any] = dict(build_plan(workflow).runs)
    split = runs["split"]
    assert not split.keep
    assert split.parameters.source.rmat.scale == 31
    assert split.parameters.ranks == 8
    assert runs["bfs"].parameters.output == "checks"
    assert runs["bfs"].parameters.sources.random == 64
