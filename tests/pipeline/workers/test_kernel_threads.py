"""Kernels of gravel's own stages use the threads that their run was given, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gravel.kernels import threads
from gravel.pipeline.cli import main
from gravel.pipeline.core.hardware import core_count
from gravel.pipeline.workers.dask_worker import pack, run_items
from gravel.stages.urls import shown

WORKFLOW = """
workflow: threads
stages:
  edges: {stage: ingest, source: {rmat: {scale: 5, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every number of threads that kernels were given."""
    found: list[int] = []
    monkeypatch.setattr(threads, "set_threads", found.append)
    return found


def test_a_stage_of_gravel_limits_the_threads_of_its_kernels(tmp_path: Path, asked: list[int]) -> None:
    file = tmp_path / "threads.yaml"
    file.write_text(WORKFLOW)
    options = ["--cache", str(tmp_path / "cache"), "--cluster", "inline", "--backend", "cpu"]
    outcome = CliRunner().invoke(main, ["run", str(file), *options])
    assert outcome.exit_code == 0, outcome.output
    assert set(asked) == {core_count()}


def test_an_item_that_is_a_function_of_gravel_runs_on_one_thread(tmp_path: Path, asked: list[int]) -> None:
    packed, _, _ = run_items(shown, pack(["a.txt"], tmp_path), tmp_path)
    answers = packed.unpack()
    assert answers == [(True, "a.txt")]
    assert asked == [1]
