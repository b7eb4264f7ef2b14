"""Stages that really run, on a few numbers: for tests of the executor and of clusters."""

from __future__ import annotations

import glob
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy

from gravel.pipeline.core.errors import Location
from gravel.pipeline.plan.model import InputRef, Plan, StageRun
from gravel.pipeline.workflow.model import Workflow
from gravel.stages.artifacts import EdgeList, Graph, Measurement, VertexIds
from gravel.stages.errors import StageError
from gravel.stages.rank_group import RankContext
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

AWAITED_SECONDS = 120.0
"""After which what a stage waits for counts as what never comes."""


class Tiny(Parameters):
    """What a tiny stage does besides adding numbers up.

    `marks` is a folder that notes every call, `awaits` a pattern of files, one of which must be there before
    the stage goes on.
    """

    value: int = 0
    marks: str = ""
    awaits: str = ""
    sleep: float = 0.0
    fail: str = ""
    once: str = ""
    ranks: int = 0
    items: int = 0
    linger: float = 0.0
    need: int = 1 << 20
    device: int = 0


def mark(parameters: Tiny, kind: str = "ran") -> int:
    """Note a call and return how many there were before."""
    if not parameters.marks:
        return 0
    folder = Path(parameters.marks)
    folder.mkdir(parents=True, exist_ok=True)
    before = len(list(folder.glob(f"{kind}-{parameters.value}-*")))
    (folder / f"{kind}-{parameters.value}-{time.time_ns()}-{os.getpid()}").touch()
    return before


def count(marks: Path, value: int, kind: str = "ran") -> int:
    """Return how often the stage with this value was called."""
    return len(list(marks.glob(f"{kind}-{value}-*")))


def begun(marks: Path, value: int) -> str:
    """Return the files that the stage with this value notes its calls in, as another one `awaits` them."""
    return f"{marks}/ran-{value}-*"


def await_files(parameters: Tiny) -> None:
    """Wait for what another stage or process does, however long that takes on a busy machine."""
    deadline = time.monotonic() + AWAITED_SECONDS
    while parameters.awaits and not glob.glob(parameters.awaits):  # noqa: PTH207
        if time.monotonic() > deadline:
            raise StageError(f"there never was a file {parameters.awaits}")
        time.sleep(0.01)


def square(item: int) -> int:
    """Work for `context.map`."""
    return item * item


def linger(item: tuple[str, float]) -> int:
    """Work for `context.map` that takes long; notes where."""
    folder, seconds = item
    (Path(folder) / f"item-{time.time_ns()}-{os.getpid()}").touch()
    time.sleep(seconds)
    return 1


def meet(context: RankContext, item: int) -> list[int]:
    """Work for `context.rank_group`: everybody learns everybody's item."""
    context.barrier()
    return context.all_gather(item * 10)


def dies_once(context: RankContext, item: str) -> list[int]:
    """Rank 1 kills its process the first time; the others wait for it."""
    if context.rank == 1 and item and not Path(item).exists():
        Path(item).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return context.all_gather(context.rank)


def misbehave(context: Any, parameters: Tiny) -> None:
    """Do what the parameters ask for."""
    before = mark(parameters)
    if parameters.once and before == 0:
        if parameters.once == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if parameters.once == "memory":
            raise MemoryError("pretended")
    await_files(parameters)
    deadline = time.monotonic() + parameters.sleep
    while time.monotonic() < deadline:
        context.progress(int(1000 * (parameters.sleep - deadline + time.monotonic())), None, "ms")
        time.sleep(0.01)
    if parameters.fail == "stage":
        raise StageError("it was told to fail", hint="tell it not to", vertices=[1])
    if parameters.fail == "bug":
        raise ZeroDivisionError("a defect")
    if parameters.fail == "die":
        context.log("about to die")
        os.kill(os.getpid(), signal.SIGKILL)


def make(context: Any, parameters: Tiny) -> tuple[EdgeList, VertexIds]:
    """Make three edges."""
    misbehave(context, parameters)
    context.log(f"made {parameters.value}")
    numbers = numpy.arange(3, dtype=numpy.uint32) + numpy.uint32(parameters.value)
    sink = context.sink("uint32")
    sink.append(numbers)
    edges = EdgeList(source=sink.close(), target=numbers, vertex_count=parameters.value + 3, undirected=False)
    return edges, VertexIds(first=10, vertex_count=parameters.value + 3)


def add(context: Any, parameters: Tiny, inputs: tuple[Any, ...]) -> Graph:
    """Add all inputs up, with the help of others where asked."""
    misbehave(context, parameters)
    total = parameters.value
    for each in inputs:
        array = each.source if isinstance(each, EdgeList) else each.row_offsets
        total += int(numpy.asarray(array[:]).astype(numpy.int64).sum())
    if parameters.linger:
        total += sum(context.map(linger, [(parameters.marks, parameters.linger)] * 4))
    if parameters.items:
        total += sum(context.map(square, range(parameters.items)))
    if parameters.ranks:
        flag = str(Path(parameters.marks) / "died") if parameters.once == "rank dies" else ""
        if flag:
            gathered = context.rank_group(dies_once, [flag] * parameters.ranks)
        else:
            gathered = context.rank_group(meet, list(range(parameters.ranks)))
        total += sum(gathered[-1])
    return graph_of(numpy.array([0, total], dtype=numpy.int64))


def graph_of(row_offsets: Any) -> Graph:
    """A graph that is nothing but an array."""
    about = {"vertex_count": 1, "arc_count": 0, "symmetric": True, "deduplicated": True}
    return Graph(row_offsets=row_offsets, column_indices=numpy.zeros(0, numpy.uint32), **about)


def measurement(context: Any, *searches: dict[str, Any]) -> Measurement:
    """What a stage noted, as the measurement of nothing."""
    about = {"algorithm": "none", "strategy": "none", "reason": "test", "hardware": "test"}
    backend = context.machine.backend
    return Measurement(**about, backend=backend, prepare_milliseconds=0.0, searches=list(searches))


def measure(context: Any, parameters: Tiny, inputs: tuple[Any, ...]) -> Measurement:
    """Note when it ran and with how many threads."""
    began = time.time()
    misbehave(context, parameters)
    return measurement(context, {"began": began, "ended": time.time(), "threads": context.machine.threads})


def devices(context: Any, parameters: Tiny, inputs: tuple[Any, ...]) -> Measurement:
    """Note which GPUs the worker sees, and when."""
    began = time.time()
    misbehave(context, parameters)
    seen = {"mask": os.environ.get("CUDA_VISIBLE_DEVICES"), "device_memory": context.machine.device_memory}
    return measurement(context, seen | {"began": began, "ended": time.time()})


def estimate(parameters: Tiny, extents: Any, machine: Machine) -> Need:
    """Need what the parameters say."""
    outputs = (Extent("Graph", vertices=1, bytes=16),)
    return Need(parameters.need, parameters.device if machine.backend == "cuda" else 0, outputs)


def estimate_two(parameters: Tiny, extents: Any, machine: Machine) -> Need:
    """The same for a stage with two outputs."""
    return Need(parameters.need, 0, (Extent("EdgeList", bytes=24), Extent("VertexIds")))


ANY = Slot(("EdgeList", "Graph", "Measurement"), "numbers", many=True)
MAKE = Stage("make", 1, "Makes.", Tiny, {}, ("EdgeList", "VertexIds"), make, estimate_two)
ADD = Stage(
    "add", 1, "Adds.", Tiny, {"inputs": ANY}, ("Graph",), add, estimate, ranks=lambda given: given.ranks
)
MEASURE = Stage(
    "measure", 1, "Measures.", Tiny, {"inputs": ANY}, ("Measurement",), measure, estimate, measures=True
)
DEVICES = Stage("devices", 1, "Looks.", Tiny, {"inputs": ANY}, ("Measurement",), devices, estimate, cuda=True)


def stage_run(
    key: str, stage: Stage, *inputs: str, keep: bool = True, forced: bool = False, **parameters: Any
) -> StageRun:
    """One run, its inputs given as keys (their first output is read)."""
    refs = {"inputs": tuple(InputRef(name, 0) for name in inputs)} if stage.inputs else {}
    given, place = stage.parameters(**parameters), Location("tiny.yaml", 1, 1)
    return StageRun(key, key.split("[")[0], stage, given, refs, {}, keep, forced, place)


def plan_of(*runs: StageRun) -> Plan:
    """A plan of these runs, all of them wanted."""
    workflow = Workflow("tiny", "", Path("tiny.yaml"), {}, {}, {})
    return Plan(workflow, {run.key: run for run in runs}, frozenset(run.key for run in runs))
