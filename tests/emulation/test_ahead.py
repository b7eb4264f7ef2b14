"""Whole workflows on an emulated GPU: what they ask of CuPy was compiled ahead; cached, they load little."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.hardware import FAKE, Device
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler.cluster_start import plan_kernels
from gravel.pipeline.scheduler.machine import RunOptions, decide
from gravel.stages.kernel_names import OPERATIONS, PREFIX
from gravel.stages.kernel_names import run as run_ahead
from tests.emulation.whole_workflow import LoadedKernel, install, run
from tests.pipeline.cli_case import HEAVY, python


def test_the_table_has_what_workflows_ask_of_cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = (Device("0", "H100", 80 << 30, "GPU-0"),)
    found: list[tuple[Plan, set[LoadedKernel]]] = []
    operations: dict[str, set[LoadedKernel]] = {}
    with monkeypatch.context() as patch:
        emulated = install(patch)
        for name in OPERATIONS:
            emulated.asked.clear()
            run_ahead(PREFIX + name)
            operations[PREFIX + name] = set(emulated.asked)
        for workflow, scale in (("quickstart", "8"), ("orderings", "7")):
            emulated.asked.clear()
            found.append((run(workflow, tmp_path, scale=scale), set(emulated.asked)))
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: gpu)
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_spec", lambda name: True)
    for plan, asked in found:
        names = [name for name, _ in plan_kernels(plan, decide(RunOptions(tmp_path, backend="cuda")))]
        assert asked
        assert asked <= set().union(*(operations[name] for name in names if name in operations))
    useful = set().union(*(asked for _, asked in found))
    assert [name for name, asked in operations.items() if asked and not asked & useful] == []


def test_a_cached_run_on_a_gpu_imports_nothing_heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        install(patch)
        run("quickstart", tmp_path, scale="8")
    monkeypatch.setenv(FAKE, "1x80GiB")
    code = f"""\
import sys
from gravel.pipeline.cli import main
try:
    main(["run", "workflows/quickstart.yaml", "--set", "scale=8", "--cache", {str(tmp_path)!r}])
finally:
    print("heavy:", sorted({{name.split(".")[0] for name in sys.modules}} & {HEAVY!r}), file=sys.stderr)
"""
    ended = python(code)
    assert "8 cached" in ended.stderr, ended.stderr
    assert "heavy: []" in ended.stderr
