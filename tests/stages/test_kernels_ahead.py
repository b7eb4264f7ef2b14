"""The kernels that are compiled before a stage runs, and how."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from gravel.kernels import cuda
from gravel.kernels.bfs.query import Query
from gravel.kernels.compile_time import COMPILE_TIME, count_cupy
from gravel.kernels.cuda.source import compiler_options, declared_variants, read_source
from gravel.kernels.partition import SearchOptions
from gravel.kernels.partition.cuda.memory import tree_of
from gravel.pipeline.core.hardware import Device
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.scheduler.cluster_start import plan_kernels
from gravel.pipeline.scheduler.machine import RunOptions, decide
from gravel.pipeline.workers.preload import compile_ahead
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages import kernel_names
from gravel.stages.kernels_ahead import kernels_ahead
from gravel.stages.stage import all_stages
from tests import forked
from tests.emulation import device_cupy

QUICKSTART = Path(__file__).parents[2] / "workflows" / "quickstart.yaml"

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("ingest", {"source": {"rmat": {"scale": 5}}}),
    ("ingest", {"source": {"path": {"vertices": 5}}}),
    ("ingest", {"file": "edges.txt"}),
    ("symmetrize", {}),
    *(("traverse", {"output": output, "sources": [1]}) for output in ("both", "distance", "predecessor")),
    ("traverse", {"algorithm": "components"}),
    ("traverse", {"algorithm": "shortest_paths", "sources": [1]}),
    ("traverse", {"sources": [1], "strategy": "direction_optimizing"}),
    ("verify", {}),
    *(("reorder", {"method": method}) for method in ("original", "degree", "rcm")),
    *(("partition", {"scheme": scheme}) for scheme in ("delegates", "striped")),
    ("subgraph", {"core": 2}),
    *(("compress", {"codec": codec}) for codec in ("csr", "varint", "blocks", "elias_fano", "auto")),
]

WORKFLOWS = QUICKSTART.parent


def test_shortest_paths_have_kernels_of_their_own() -> None:
    stages = all_stages()
    paths = stages["traverse"].parameters(algorithm="shortest_paths", sources=[1])
    found = kernels_ahead("verify", stages["verify"].parameters(), [("traverse", paths)])
    assert [path for path, _ in found][:2] == [
        f"kernels/verify/cuda/{name}.cu" for name in ("paths", "vertices")
    ]
    path, macros = found[0]
    assert compiler_options(read_source(path), macros)
    assert next(path for path, _ in kernels_ahead("traverse", paths)) == "kernels/sssp/cuda/delta_stepping.cu"
    dijkstra = stages["traverse"].parameters(algorithm="shortest_paths", strategy="dijkstra", sources=[1])
    assert kernels_ahead("traverse", dijkstra) == ()
    assert kernels_ahead("symmetrize", stages["symmetrize"].parameters(weights="sum")) == ()


@pytest.mark.parametrize(("stage", "asked"), ASKED, ids=str)
def test_each_is_a_variant_that_its_file_declares(stage: str, asked: dict[str, Any]) -> None:
    for path, macros in kernels_ahead(stage, all_stages()[stage].parameters(**asked)):
        if path.startswith(kernel_names.PREFIX):
            assert path.removeprefix(kernel_names.PREFIX) in kernel_names.OPERATIONS
            continue
        text = read_source(path)
        assert compiler_options(text, macros)
        for name, value in macros.items():
            assert value in declared_variants(text)[name]


@pytest.mark.parametrize(("codec", "layout"), [("varint", "varint"), ("csr", "csr"), ("auto", None)])
def test_subgraphs_read_the_layout_of_the_graph(codec: str, layout: str | None) -> None:
    stages = all_stages()
    packed = stages["compress"].parameters(codec=codec)
    found = kernels_ahead("subgraph", stages["subgraph"].parameters(core=1), [("compress", packed)])
    assert [macros["LAYOUT"] for _, macros in found] == ([] if layout is None else [layout])


@pytest.mark.parametrize("output", ["both", "distance"])
@pytest.mark.parametrize(
    ("behind", "tuning", "file"),
    [
        ([("partition", {})], {}, "ranks"),
        ([("partition", {})], {"predecessors": "smallest"}, "ranks"),
        ([("partition", {"scheme": "striped"})], {"local_duplicates": True}, "ranks_culled"),
        ([("compress", {"codec": "blocks"}), ("partition", {})], {}, "ranks_encoded"),
    ],
)
def test_ranks_have_kernels_of_their_own(
    behind: list[tuple[str, dict[str, Any]]], tuning: dict[str, Any], file: str, output: str
) -> None:
    stages = all_stages()
    made_by = [(stage, stages[stage].parameters(**asked)) for stage, asked in behind]
    asked = stages["traverse"].parameters(output=output, sources=[1], tuning=tuning)
    kernels = [each for each in kernels_ahead("traverse", asked, made_by) if each[0].endswith(".cu")]
    assert kernels[0][0] == f"kernels/partition/cuda/{file}.cu"
    assert kernels[0][1]["TREE"] == str(tree_of(SearchOptions(**tuning), Query(output=output)))
    for path, macros in kernels:
        declared = declared_variants(read_source(path))
        assert all(macros[name] in declared[name] for name in {**declared, **macros})


@pytest.mark.parametrize("measure", ["closeness", "harmonic", "eccentricity"])
def test_eccentricities_alone_have_bounds(measure: str) -> None:
    for vertices in ("all", {"random": 40}):
        asked = all_stages()["centrality"].parameters(measure=measure, vertices=vertices)
        files = {Path(path).stem for path, _ in kernels_ahead("centrality", asked)}
        assert ("bounds" in files) == (measure == "eccentricity" and vertices == "all")


def test_pagerank_has_kernels_of_its_own() -> None:
    asked = all_stages()["centrality"].parameters(measure="pagerank")
    for path, macros in kernels_ahead("centrality", asked):
        if path.startswith("kernels/pagerank/"):
            declared = declared_variants(read_source(path))
            assert declared.keys() == macros.keys()
            assert all(value in declared[name] for name, value in macros.items())
    files = {Path(path).stem for path, _ in kernels_ahead("centrality", asked)}
    assert {"columns", "commit"} <= files


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
    runtime = SimpleNamespace(deviceGetAttribute=lambda attribute, device: 1)
    on_gpu = SimpleNamespace(Device=lambda *number: device, runtime=runtime)
    fake = SimpleNamespace(RawModule=Module, cuda=on_gpu)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda, "_MODULES", {})
    monkeypatch.setattr(Module, "made", [])


def test_what_is_being_compiled_is_waited_for_and_the_wait_counts() -> None:
    before = COMPILE_TIME.seconds
    threads = compile_ahead(
        [("kernels/bfs/cuda/direction_optimizing.cu", {**U32, "TREE": "32", "DEFER_ROWS": "1"})]
    )
    while not Module.made:
        time.sleep(0.001)
    assert COMPILE_TIME.seconds == before
    module = cuda.load("kernels/bfs/cuda/direction_optimizing.cu", VERTEX="u32", TREE=32, DEFER_ROWS=1)
    assert COMPILE_TIME.seconds > before + 0.1
    for thread in threads:
        thread.join()
    assert Module.made == [module]
    assert (
        cuda.load("kernels/bfs/cuda/direction_optimizing.cu", VERTEX="u32", TREE=32, DEFER_ROWS=1) is module
    )


U32 = {"VERTEX": "u32"}

KINDS = """\
workflow: kinds
stages:
  edges: {stage: ingest, source: {rmat: {scale: 8, edge_factor: 16, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: degree}
  packed: {stage: compress, input: graph, codec: varint}
  blocks: {stage: compress, input: ordered, codec: blocks}
  elias_fano: {stage: compress, input: graph, codec: elias_fano}
  striped: {stage: partition, input: graph, scheme: striped, ranks: 2}
  parts: {stage: traverse, input: ordered, algorithm: components}
  parts_packed: {stage: traverse, input: packed, algorithm: components}
  checked: {stage: verify, graph: graph, traversal: parts}
  near: {stage: traverse, input: elias_fano, output: distance, sources: {random: 2}}
  both: {stage: traverse, input: blocks, sources: {random: 2}}
  again: {stage: verify, graph: graph, traversal: both}
  down: {stage: traverse, input: blocks, strategy: top_down, sources: {random: 2}}
  many: {stage: traverse, input: ordered, strategy: multi_source, sources: {random: 40}}
  many_packed: {stage: traverse, input: blocks, strategy: multi_source, output: distance}
  hops: {stage: traverse, input: graph, strategy: persistent, sources: {random: 2}}
  hops_packed: {stage: traverse, input: packed, strategy: persistent, output: distance, sources: {random: 2}}
"""

MEASURES = """\
workflow: measures
stages:
  edges: {stage: ingest, source: {rmat: {scale: 11, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  close: {stage: centrality, input: graph, measure: closeness}
  few: {stage: centrality, input: graph, measure: harmonic, vertices: {random: 40}}
  far: {stage: centrality, input: graph, measure: eccentricity}
  between: {stage: centrality, input: graph, measure: betweenness, sources: {random: 100}}
  edges_between: {stage: centrality, input: graph, measure: edge_betweenness, sources: {random: 20}}
"""

WRITTEN = {"kinds": KINDS, "measures": MEASURES}


def test_several_are_compiled_at_once_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2)
    monkeypatch.setattr(Module, "compile", lambda self: together.wait(10))
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(8))
    kernels = [("kernels/csr/build.cu", U32), ("kernels/level_statistics.cu", U32)]
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
        (
            "cuda",
            {
                *("direction_optimizing_encoded", "measure_rows", "bytes", "checkpoints", "relabel"),
                *("level_statistics", "wake"),
                *("rmat", "build", "renumber", "locality", "split", "distributor", "rows", "vertices"),
            },
        ),
    ):
        kernels = plan_kernels(plan, decide(RunOptions(tmp_path, backend=backend)))
        assert {Path(path).stem for path, _ in kernels if path.endswith(".cu")} == files
    assert kernels[0][0] == "kernels/bfs/cuda/direction_optimizing_encoded.cu"


@pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")
@pytest.mark.parametrize("workflow", ["quickstart", "orderings", *WRITTEN])
def test_what_stages_load_was_compiled_ahead(
    workflow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = WORKFLOWS / f"{workflow}.yaml"
    settings = {"scale": "8"}
    if workflow in WRITTEN:
        file, settings = tmp_path / f"{workflow}.yaml", {}
        file.write_text(WRITTEN[workflow])
    given = [f"{name}={value}" for name, value in settings.items()]
    command = ["-m", "tests.emulation.workflow_case", str(file), *given]
    done = forked.run(command, cwd=WORKFLOWS.parent, env=os.environ)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    gpu = (Device("0", "H100", 80 << 30, "GPU-0"),)
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: gpu)
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_spec", lambda name: True)
    plan = build_plan(load_workflow(file, settings))
    assert loaded.keys() == {key for key, run in plan.runs.items() if run.stage.name != "report"}
    ahead = plan_kernels(plan, decide(RunOptions(tmp_path, backend="cuda")))
    known = [[path, dict(macros)] for path, macros in ahead]
    for key, kernels in loaded.items():
        assert [each for each in kernels if each not in known] == [], key


def test_operations_of_cupy_are_called_on_few_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", device_cupy.module())
    named = {name for names in kernel_names.OF_STAGES.values() for name in names}
    assert named | {*kernel_names.RCM, *kernel_names.SHAPE} == kernel_names.OPERATIONS.keys()
    device_cupy.POOL.restart()
    before = device_cupy.POOL.total_bytes()
    for thread in compile_ahead(kernel_names.named(kernel_names.OPERATIONS)):
        thread.join()
    for name in kernel_names.OPERATIONS:
        kernel_names.run(kernel_names.PREFIX + name)  # what a thread would hide
    assert device_cupy.POOL.peak - before < 1 << 20


def test_what_is_compiled_ahead_is_nobodys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(name: str) -> None:
        with COMPILE_TIME.counted():
            time.sleep(0.05)
        raise RuntimeError("of no concern to others")

    monkeypatch.setattr(kernel_names, "run", run)
    before = COMPILE_TIME.seconds
    for thread in compile_ahead([*kernel_names.named(["sum of int64"]), ("kernels/csr/build.cu", U32)]):
        thread.join()
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


ENDING = """
import sys, time
from gravel.kernels import cuda
from gravel.pipeline.workers import preload

def slow(name, macros):
    print("begun", flush=True)
    time.sleep(0.5)
    print("compiled", flush=True)

cuda.load_ahead = slow
preload.compile_ahead([(f"kernels/{number}.cu", ()) for number in range(400)])
time.sleep(0.2)
"""


def test_a_process_that_ends_waits_for_kernels_that_are_being_compiled() -> None:
    """One run in 25 ended with signal 11: NVRTC was unloaded under a thread that compiled."""
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=True)
    told = done.stdout
    assert told.count("compiled") == told.count("begun")
    assert 0 < told.count("begun") < 400
