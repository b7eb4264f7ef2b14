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
from gravel.kernels.compile_time import COMPILE_TIME, count_cupy
from gravel.kernels.cuda.source import compiler_options, read_source
from gravel.pipeline.core.devices import Device
from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.scheduler.plan_kernels import made_by, plan_kernels
from gravel.pipeline.workers.loading import compile_ahead
from gravel.pipeline.workflow.loading import load_workflow
from gravel.stages import operations_ahead
from gravel.stages.kernels_ahead import Made, kernels_ahead
from gravel.stages.operations_ahead import OPERATIONS
from gravel.stages.stage import all_stages

WORKFLOWS = Path(__file__).parents[2] / "workflows"
QUICKSTART = WORKFLOWS / "quickstart.yaml"

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("ingest", {"source": {"rmat": {"scale": 5}}}),
    ("ingest", {"source": {"path": {"vertices": 5}}}),
    ("ingest", {"file": "edges.txt"}),
    ("symmetrize", {}),
    *(("reorder", {"method": method}) for method in ("original", "random", "degree", "rcm", "community")),
    *(("partition", {"ranks": 2, "scheme": scheme}) for scheme in ("delegates", "striped")),
    *(("compress", {"codec": codec}) for codec in ("csr", "varint", "blocks", "elias_fano", "auto")),
    *(("traverse", {"output": output, "sources": [1]}) for output in ("both", "distance", "predecessor")),
    ("traverse", {"algorithm": "components"}),
    ("traverse", {"sources": [1], "strategy": "direction_optimizing"}),
    ("verify", {}),
]


@pytest.mark.parametrize(("stage", "asked"), ASKED, ids=str)
def test_each_is_a_variant_that_its_file_declares(stage: str, asked: dict[str, Any]) -> None:
    are_declared(made(stage, **asked))


@pytest.mark.parametrize("codec", ["csr", "varint", "blocks", "elias_fano", "auto"])
def test_a_search_is_of_the_layout_that_its_graph_has(codec: str) -> None:
    ordered = made("reorder", method="degree")
    search = made("traverse", sources=[1], input=made("compress", codec=codec, input=ordered))
    are_declared(search)
    layouts = {macros.get("LAYOUT") for path, macros in kernels_ahead(search) if path.endswith("search.cu")}
    assert layouts == ({codec} if codec in ("varint", "blocks", "elias_fano") else set())
    assert (codec == "csr") == any("direction" in path for path, _ in kernels_ahead(search))


def made(stage: str, *, input: Made | None = None, **asked: Any) -> Made:  # noqa: A002
    inputs = {} if input is None else {"input": input}
    return Made(stage, all_stages()[stage].parameters(**asked), inputs)


def are_declared(of: Made) -> None:
    for path, macros in kernels_ahead(of):
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
    threads = compile_ahead([("kernels/bfs/direction_optimizing.cu", {**U32, "TREE": "32", "FAR_ROWS": "1"})])
    while not Module.made:
        time.sleep(0.001)
    assert COMPILE_TIME.seconds == before
    module = cuda.load("kernels/bfs/direction_optimizing.cu", VERTEX="u32", TREE=32, FAR_ROWS=1)
    assert COMPILE_TIME.seconds > before + 0.1
    for thread in threads:
        thread.join()
    assert Module.made == [module]
    assert cuda.load("kernels/bfs/direction_optimizing.cu", VERTEX="u32", TREE=32, FAR_ROWS=1) is module


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
    assert plan_kernels(plan, decide(RunOptions(tmp_path, backend="cpu"))) == ()
    kernels = plan_kernels(plan, decide(RunOptions(tmp_path, backend="cuda")))
    stems = [Path(path).stem for path, _ in kernels if path not in OPERATIONS]
    assert stems == [
        *("search", "rmat", "build", "renumber", "locality", "distributor", "split", "varint"),
        *("checkpoints", "relabel", "wake", "level_statistics", "rows", "vertices"),
    ]
    assert kernels[0][1]["LAYOUT"] == "varint"
    assert len({path for path, _ in kernels} & OPERATIONS.keys()) > 10


def test_every_operation_is_one_that_some_workflow_uses() -> None:
    names = set()
    for workflow in ("quickstart", "orderings"):
        plan = build_plan(load_workflow(WORKFLOWS / f"{workflow}.yaml", {}))
        for each in made_by(plan).values():
            names |= {name for name, _ in operations_ahead.operations_ahead(each)}
    assert names == set(OPERATIONS)


def test_operations_are_run_and_their_time_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(name: str) -> None:
        with COMPILE_TIME.counted():
            ran.append(name)
            time.sleep(0.05)
        raise RuntimeError("of no concern to others")

    monkeypatch.setattr(operations_ahead, "run_ahead", run)
    before = COMPILE_TIME.seconds
    for thread in compile_ahead([("diff int64", {}), ("find bool", {}), ("kernels/csr/build.cu", U32)]):
        thread.join()
    assert sorted(ran) == ["diff int64", "find bool"]
    assert len(Module.made) == 1
    assert COMPILE_TIME.seconds == before


def test_what_cupy_compiles_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = SimpleNamespace(_compile_module_with_cache=lambda source, *, wait: time.sleep(wait) or source)
    monkeypatch.setitem(sys.modules, "cupy.cuda.compiler", compiler)
    for _ in range(2):
        count_cupy()
    before = COMPILE_TIME.seconds
    assert compiler._compile_module_with_cache("text", wait=0.05) == "text"
    assert 0.05 <= COMPILE_TIME.seconds - before < 1
    assert not hasattr(compiler._compile_module_with_cache.__wrapped__, "__wrapped__")


@pytest.mark.parametrize("compiler", [None, SimpleNamespace()])
def test_another_cupy_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, compiler: Any) -> None:
    monkeypatch.setitem(sys.modules, "cupy.cuda.compiler", compiler)
    count_cupy()
