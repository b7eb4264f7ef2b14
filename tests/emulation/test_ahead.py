"""Whole workflows on an emulated GPU load and ask of CuPy what was compiled before the stages ran."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gravel.pipeline.core.devices import FAKE
from gravel.pipeline.scheduler.plan_kernels import made_by
from gravel.stages.kernels_ahead import kernels_ahead
from gravel.stages.operations_ahead import OPERATIONS, operations_ahead, run_ahead
from tests.emulation.whole_workflow import Asked, install, loaded, run
from tests.pipeline.test_cli import HEAVY, python

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")


def test_the_tables_have_what_workflows_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated = install(monkeypatch)
    operations: dict[str, set[Asked]] = {}
    for name, operation in OPERATIONS.items():
        run_ahead(name)
        operations[name], emulated.asked = emulated.asked, set()
        assert operations[name], operation
    useful: set[Asked] = set()
    for workflow, scale in (("quickstart", "8"), ("orderings", "7")):
        emulated.loaded.clear()
        emulated.asked.clear()
        made = made_by(run(workflow, tmp_path, scale=scale)).values()
        assert emulated.loaded
        assert emulated.loaded <= {loaded(*kernel) for each in made for kernel in kernels_ahead(each)}
        names = {name for each in made for name, _ in operations_ahead(each)}
        assert emulated.asked
        assert emulated.asked <= set().union(*(operations[name] for name in names))
        useful |= emulated.asked
    assert [name for name, asked in operations.items() if not asked & useful] == []


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
    for _ in range(2):  # the second may be answered from the cache of plans
        ended = python(code)
        assert "8 cached" in ended.stderr, ended.stderr
        assert "heavy: []" in ended.stderr
