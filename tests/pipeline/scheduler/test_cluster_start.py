"""Which searches of a plan are compiled beside the stages before them."""

import signal
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.plan.status import plan_extents
from gravel.pipeline.scheduler.cluster_start import compile_ahead, search_job
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.sizes import Machine, Need

QUICKSTART = Path(__file__).parents[3] / "workflows/quickstart.yaml"
MACHINE = Machine("cpu", 2, 8 << 30)


def _environment(cluster: str = "local", backend: str = "cpu", cores: int = 2) -> Any:
    return SimpleNamespace(cluster=cluster, backend=backend, cores=cores, backend_of=lambda stage: backend)


def _quickstart() -> tuple[Plan, Mapping[str, Need]]:
    plan = build_plan(load_workflow(QUICKSTART, {}))
    return plan, plan_extents(plan, None, MACHINE)


def test_the_search_of_the_quickstart_is_compiled_ahead() -> None:
    plan, needs = _quickstart()
    jobs = {key: search_job(plan, key, needs, _environment()) for key in plan.runs}
    assert {key for key, job in jobs.items() if job is not None} == {"bfs"}
    job = {"layout": "varint", "strategy": "auto", "output": "both", "symmetric": True, "max_depth": None}
    assert jobs["bfs"] == job
    assert search_job(plan, "bfs", needs, _environment("inline", "cuda")) is None


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Compiles ahead what runs of the quickstart need, into a folder of its own."""
    monkeypatch.setenv("GRAVEL_COMPILED", str(tmp_path / "compiled"))
    plan, needs = _quickstart()
    return lambda runs=plan.runs, **setting: compile_ahead(plan, runs, needs, _environment(**setting))


@pytest.mark.parametrize("setting", [{"cluster": "tcp://there:1"}, {"cluster": "cuda"}, {"cores": 1}])
def test_nothing_is_started_where_it_does_not_help(ahead: Any, setting: dict[str, Any]) -> None:
    assert ahead(**setting) is None


@pytest.mark.slow
def test_what_was_compiled_is_not_started_again(ahead: Any) -> None:
    assert ahead(["edges", "graph"]) is None
    assert ahead().process.wait() == 0
    assert ahead() is None


@pytest.mark.parametrize("is_done", [True, False])
def test_a_run_that_ends_early_ends_the_compiling(ahead: Any, is_done: bool) -> None:
    compiling = ahead()
    asked: list[str] = []
    compiling.close(lambda key: bool(asked.append(key)) or is_done)
    assert compiling.process.returncode == -signal.SIGKILL
    assert asked == ["bfs"]
    # What the search itself compiled need not be compiled ahead again.
    again = ahead()
    assert (again is None) == is_done
    if again is not None:
        again.close(lambda key: False)


def test_what_cannot_be_compiled_ahead_is_not_tried_again(ahead: Any, monkeypatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    compiling = ahead()
    assert compiling.process.wait() == 1
    compiling.close(lambda key: True)
    assert ahead() is None
