"""Which runs are carried out without workers."""

from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.scheduler.executing import execute
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.scheduler.small_runs import MAX_RUNS, without_workers
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.loading import load_workflow

SMALL = """\
workflow: small
matrix: {{factor: {factors}}}
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}, edge_factor: "${{factor}}", seed: 1}}}}}}
  graph: {{stage: symmetrize, input: edges{limit}}}
  bfs: {{stage: traverse, input: graph, algorithm: bfs, sources: {{random: 1, seed: 1}}}}
"""


def chosen(tmp_path: Path, options: dict[str, Any], **parts: str) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(**{"factors": "[8]", "scale": "6", "limit": ""} | parts))
    asked = RunOptions(cache_root=tmp_path / "cache", backend="cpu", **options)
    plan = build_plan(load_workflow(path, {}))
    return without_workers(decide(asked), plan, asked, Cache(asked.cache_root)).cluster


def test_a_small_run_needs_none(tmp_path: Path) -> None:
    assert chosen(tmp_path, {}) == "inline"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"cluster": "local"}, {}),
        ({"workers": 2}, {}),
        ({}, {"scale": "26"}),
        ({"host_memory": "300MiB"}, {"scale": "16"}),
        ({}, {"limit": ", time_limit: 1h"}),
        ({}, {"factors": str(list(range(1, MAX_RUNS)))}),
    ],
    ids=["local", "workers", "large", "little memory", "a time limit", "many"],
)
def test_other_runs_have_workers(tmp_path: Path, options: dict[str, Any], parts: dict[str, str]) -> None:
    assert chosen(tmp_path, options, **parts) == "local"


def test_the_record_says_what_ran(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(factors="[8]", scale="6", limit=""))
    outcome = execute(
        build_plan(load_workflow(path, {})), RunOptions(cache_root=tmp_path / "cache", backend="cpu")
    )
    assert outcome.state == "done"
    assert outcome.record["cluster"] == "inline, in this process"
