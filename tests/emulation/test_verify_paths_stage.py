"""verify of shortest paths on an emulated GPU: what it records, says and refuses, and its memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.verify.cuda import memory
from gravel.stages.artifacts import Graph, Traversal, Verification
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.stage import Extent, Machine
from gravel.stages.verify import STAGE, VerifyParameters, verify
from gravel.stages.verifying.device import checked_of
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import Pool, Stored, emulate
from tests.kernels.verify.sssp_damage import answer, damaged, hub_graph
from tests.stages.traverse_case import as_graph

ROOM = 1 << 30
SOURCES = (0, 7, 1)


def stored(dtype: Any) -> tuple[Graph, Traversal]:
    made = hub_graph(dtype)
    answers = [answer(made, source) for source in SOURCES]
    offsets, columns, weights = made.rows
    graph = as_graph(offsets, columns, symmetric=False, weights=weights)
    traversal = Traversal(
        algorithm="shortest_paths",
        sources=numpy.array(SOURCES),
        distance=numpy.stack([d for d, _ in answers]),
        predecessor=numpy.stack([p for _, p in answers]),
        vertex_count=graph.vertex_count,
    )
    return graph, traversal


GRAPH, PATHS = stored(numpy.uint32)
FLOATS = stored(numpy.float32)


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    monkeypatch.setattr(memory, "LEAST_PART", 1)
    monkeypatch.setattr(memory, "MARGIN", 40_000)
    return emulate(monkeypatch)


def run(
    graph: Graph, traversal: Traversal, room: int = ROOM, *, on: str = "auto", backend: str = "cuda"
) -> tuple[Verification, list[str]]:
    context = PlainContext(Machine(backend=backend, threads=2, host_memory=1 << 40, device_memory=room))
    found = verify(context, VerifyParameters(on=on), graph=graph, traversal=traversal)
    return found, context.messages


def without_on(found: Verification) -> Any:
    return [{key: value for key, value in record.items() if key != "on"} for record in found.checks]


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize(("graph", "traversal"), [(GRAPH, PATHS), FLOATS], ids=["integers", "floats"])
def test_the_gpu_records_what_the_cpu_does_and_where(graph: Graph, traversal: Traversal, tree: bool) -> None:
    asked = traversal if tree else replace(traversal, predecessor=None)
    expected, _ = run(graph, asked, backend="cpu")
    assert {record["on"] for record in expected.checks} == {"cpu"}
    for on in ("auto", "cuda"):
        found, messages = run(graph, asked, on=on)
        assert {record["on"] for record in found.checks} == {"cuda"}
        assert without_on(found) == without_on(expected)
        assert found.skipped == expected.skipped
        assert messages == ["verifying 3 searches by weights on the GPU, one at a time"]
    found, messages = run(graph, asked, on="cpu")
    assert found.checks == expected.checks


@pytest.mark.parametrize("place", [on_device, Stored], ids=["on the device", "stored"])
def test_arrays_wherever_they_are(place: Any) -> None:
    names = ("row_offsets", "column_indices", "weights")
    graph = replace(GRAPH, **{name: place(getattr(GRAPH, name)) for name in names})
    paths = replace(PATHS, distance=place(PATHS.distance), predecessor=place(PATHS.predecessor))
    assert run(graph, paths, on="cuda")[0].checks


def test_the_same_fault_is_told_in_the_same_words() -> None:
    for name, (d, p) in list(damaged(hub_graph(numpy.uint32), SOURCES[1], seed=8))[1:]:
        wrong = replace(PATHS, distance=PATHS.distance.copy(), predecessor=PATHS.predecessor.copy())
        wrong.distance[1], wrong.predecessor[1] = d, p
        told = []
        for backend in ("cpu", "cuda"):
            with pytest.raises(VerificationFailed, match="search 2 of 3: ") as failure:
                run(GRAPH, wrong, backend=backend)
            told.append((str(failure.value), failure.value.hint, failure.value.vertices))
        assert told[0] == told[1], name


def test_less_room_takes_the_rows_in_parts_and_then_the_cpu(pool: Pool) -> None:
    expected = without_on(run(GRAPH, PATHS, backend="cpu")[0])
    whole = checked_of(GRAPH, PATHS).planned(ROOM)
    assert whole is not None
    parts = whole.device_bytes - 10_000
    found, messages = run(GRAPH, PATHS, parts, on="cuda")
    assert without_on(found) == expected
    assert "arcs of the graph at a time" in messages[0]
    assert pool.peak <= parts
    found, messages = run(GRAPH, PATHS, 1 << 16)
    assert found.checks[0]["on"] == "cpu"
    assert messages[0].startswith("verifying on the CPU: verification needs")
    with pytest.raises(StageError, match="GiB of GPU memory"):
        run(GRAPH, PATHS, 1 << 16, on="cuda")


def test_the_plan_states_what_a_run_takes(pool: Pool) -> None:
    size = {"vertices": GRAPH.vertex_count, "arcs": GRAPH.arc_count, "weighted": True}
    labels = Extent(kind="Traversal", **size, searches=3, bytes=3 * 12 * GRAPH.vertex_count)
    inputs = {"graph": (Extent(kind="Graph", **size),), "traversal": (labels,)}
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 40, device_memory=ROOM)
    need = STAGE.estimate(VerifyParameters(), inputs, machine)
    run(GRAPH, PATHS)
    assert pool.peak <= need.device_bytes
    assert need.device_bytes - memory.MARGIN <= 1.3 * pool.peak
    refused = STAGE.estimate(VerifyParameters(on="cuda"), inputs, replace(machine, device_memory=1 << 16))
    assert "leave `on` out to verify on the CPU" in refused.refusal


def test_a_graph_without_weights_is_refused() -> None:
    for graph, traversal in ((replace(GRAPH, weights=None), PATHS), (GRAPH, replace(PATHS, distance=None))):
        with pytest.raises(StageError, match="the graph has no weights, by which") as refused:
            run(graph, traversal)
        assert not isinstance(refused.value, VerificationFailed)
