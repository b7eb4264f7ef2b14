"""`plan` says why a run that has a GPU searches on the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.drills.gravel import PROGRAM, call_inside

WORKFLOW = """\
workflow: where
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: 10}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  split: {{stage: partition, input: graph, ranks: 2}}
  bfs: {{stage: traverse, input: {0}, {1}}}
"""


@pytest.mark.parametrize(
    ("read", "more", "note"),
    [
        ("graph", "algorithm: bfs", ""),
        ("graph", "backend: cpu", "on the CPU: `backend: cpu` asks for it"),
        ("graph", "strategy: serial", "on the CPU: strategy serial has no CUDA form"),
        ("split", "algorithm: bfs", "on the CPU: ranks of a partition are; `backend: cuda` asks for GPUs"),
        ("split", "backend: cpu", "on the CPU: `backend: cpu` asks for it"),
        ("split", "backend: cuda", ""),
    ],
)
def test_a_search_on_the_cpu_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str, more: str, note: str
) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "2x16GiB")
    file = tmp_path / "where.yaml"
    file.write_text(WORKFLOW.format(read, more))
    cache = ["--cache", str(tmp_path / "cache")]
    planned = call_inside([*PROGRAM, "plan", str(file), "--json", "--backend", "cuda", *cache])
    assert planned.returncode == 0, planned.stderr
    notes = {stage["key"]: stage["note"] for stage in json.loads(planned.stdout)["stages"]}
    assert notes["bfs"] == note
    shown = call_inside([*PROGRAM, "plan", str(file), "--backend", "cuda", *cache])
    assert not note or note in shown.stdout + shown.stderr
