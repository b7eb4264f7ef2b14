"""Runs on one real GPU in this process: same results as with a worker, and nothing compiled but ahead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gravel.kernels import cuda
from gravel.pipeline.core.hardware import find_devices
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.scheduler.cluster_start import plan_kernels
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions, decide
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.workers.results_in_memory import RESIDENT
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.kernel_names import OPERATIONS, PREFIX
from gravel.stages.kernel_names import run as run_ahead

pytestmark = pytest.mark.gpu

WORKFLOWS = Path(__file__).parents[2] / "workflows"

WORKFLOW = """\
workflow: here
stages:
  edges: {stage: ingest, source: {rmat: {scale: 18, edge_factor: 16, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: {random: 4, seed: 7}, output: distance}
  check: {stage: verify, graph: graph, traversal: bfs}
"""


@pytest.fixture(autouse=True)
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert len(find_devices()) == 1


def run(folder: Path, cluster: str) -> RunOutcome:
    file = folder / "here.yaml"
    file.write_text(WORKFLOW)
    options = RunOptions(folder / cluster, cluster=cluster, profile=True)
    return execute(build_plan(load_workflow(file, {})), options)


def test_a_run_here_finds_what_a_worker_finds(tmp_path: Path) -> None:
    import cupy

    here, worker = run(tmp_path, "auto"), run(tmp_path, "cuda")
    assert here.record["cluster"].startswith("inline, in this process on ")
    assert worker.record["cluster"].startswith("cuda, 1 workers")
    assert (here.state, worker.state) == ("done", "done")
    for key in ("edges", "graph"):
        assert here.outputs(key) == worker.outputs(key)
    assert here.outputs("bfs")[0] == worker.outputs("bfs")[0]
    assert RESIDENT == {}
    assert cupy.get_default_memory_pool().total_bytes() < 64 << 20


@pytest.mark.parametrize("name", ["here", "quickstart", "orderings"])
def test_every_kernel_of_it_was_compiled_ahead(tmp_path, monkeypatch, name) -> None:
    file = WORKFLOWS / f"{name}.yaml"
    if name == "here":
        file = tmp_path / "here.yaml"
        file.write_text(WORKFLOW)
    monkeypatch.setattr(cuda, "_MODULES", {})
    plan = build_plan(load_workflow(file, {}))
    assert execute(plan, RunOptions(tmp_path / "cache", cluster="auto")).state == "done"
    ahead = {
        (path, tuple(sorted(macros.items())))
        for path, macros in plan_kernels(plan, decide(RunOptions(tmp_path)))
    }
    assert {(path, macros) for _, path, macros in cuda._MODULES} <= ahead


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_was_run_ahead_compiles_nothing_again(name, monkeypatch) -> None:
    from cupy.cuda import compiler

    run_ahead(PREFIX + name)
    compiled: list[object] = []
    # All that CuPy compiles goes through this function (versions 9 to 14).
    monkeypatch.setattr(
        compiler,
        "_compile_module_with_cache",
        lambda *given, **named: compiled.append(given),
    )
    run_ahead(PREFIX + name)
    assert not compiled
