"""The kernels that are compiled before a stage runs, and how."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from gravel.kernels import cuda
from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.cuda.source import compiler_options, read_source
from gravel.pipeline.core.devices import Device
from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.scheduler.plan_kernels import plan_kernels
from gravel.pipeline.workers.loading import compile_ahead
from gravel.pipeline.workflow.loading import load_workflow
from gravel.stages.kernels_ahead import kernels_ahead
from gravel.stages.stage import all_stages

QUICKSTART = Path(__file__).parents[2] / "workflows" / "quickstart.yaml"

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("ingest", {"source": {"rmat": {"scale": 5}}}),
    ("ingest", {"source": {"path": {"vertices": 5}}}),
    ("ingest", {"file": "edges.txt"}),
    ("symmetrize", {}),
    *(("traverse", {"output": output, "sources": [1]}) for output in ("both", "distance", "predecessor")),
    ("traverse", {"algorithm": "components"}),
    ("traverse", {"sources": [1], "strategy": "direction_optimizing"}),
    ("verify", {}),
]


@pytest.mark.parametrize(("stage", "asked"), ASKED, ids=str)
def test_each_is_a_variant_that_its_file_declares(stage: str, asked: dict[str, Any]) -> None:
    for path, macros in kernels_ahead(stage, all_stages()[stage].parameters(**asked)):
        text = read_source(path)
        assert compiler_options(text, macros)
        for name, value in macros.items():
            [declared] = [line for line in text.splitlines() if line.startswith(f"// variants {name}:")]
            assert value in declared.split(":")[1].split()


class Module:
    """A module that takes a while to compile."""

    made: ClassVar[list[Module]] = []
    seconds = 0.2

    def __init__(self, **_: object) -> None:
        self.made.append(self)

    def compile(self) -> None:
        time.sleep(self.seconds)


@pytest.fixture(autouse=True)
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimpleNamespace(id=0, compute_capability="90")
    fake = SimpleNamespace(RawModule=Module, cuda=SimpleNamespace(Device=lambda *number: device))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda, "_MODULES", {})
    monkeypatch.setattr(Module, "made", [])


def test_what_is_being_compiled_is_waited_for_and_the_wait_counts() -> None:
    before = COMPILE_TIME.seconds
    threads = compile_ahead(
        [("kernels/bfs/direction_optimizing.cu", {**U32, "TREE": "32", "DEFER_ROWS": "1"})]
    )
    while not Module.made:
        time.sleep(0.001)
    assert COMPILE_TIME.seconds == before
    module = cuda.load("kernels/bfs/direction_optimizing.cu", VERTEX="u32", TREE=32, DEFER_ROWS=1)
    assert COMPILE_TIME.seconds > before + 0.1
    for thread in threads:
        thread.join()
    assert Module.made == [module]
    assert cuda.load("kernels/bfs/direction_optimizing.cu", VERTEX="u32", TREE=32, DEFER_ROWS=1) is module


U32 = {"VERTEX": "u32"}


def test_several_are_compiled_at_once_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2)
    monkeypatch.setattr(Module, "compile", lambda self: together.wait(10))
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(8))
    kernels = [("kernels/csr/build.cu", U32), ("kernels/bfs/shape.cu", U32)]
    for thread in compile_ahead([*kernels, *kernels]):
        thread.join()
    assert len(Module.made) == 2
    assert not together.broken


def test_one_that_does_not_compile_is_left_to_its_stage() -> None:
    for thread in compile_ahead([("kernels/none.cu", {}), ("kernels/csr/build.cu", U32)]):
        thread.join()
    assert len(Module.made) == 1
    with pytest.raises(FileNotFoundError):
        cuda.load("kernels/none.cu")


def test_a_plan_compiles_what_its_stages_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Device("0", "H100", 80 << 30, "GPU-0"),)
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: found)
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_spec", lambda name: True)
    plan = build_plan(load_workflow(QUICKSTART, {}))
    for backend, files in (
        ("cpu", set()),
        ("cuda", {"rmat", "build", "direction_optimizing", "shape", "far_rows", "rows", "vertices"}),
    ):
        kernels = plan_kernels(plan, decide(RunOptions(tmp_path, backend=backend)))
        assert {Path(path).stem for path, _ in kernels} == files
