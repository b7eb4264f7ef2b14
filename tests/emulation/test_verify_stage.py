"""verify on an emulated GPU: what it records, what it does where memory is short, and what it refuses."""

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
from tests.kernels.verify.damage import HUBS, csr_of, damaged, search
from tests.stages.traverse_case import as_graph
from tests.zoo import scipy_components

SYMMETRIC = csr_of(HUBS, symmetric=True)
SOURCES = (0, 2500, 5, 4600, 1)
ANSWERS = [search(SYMMETRIC, source) for source in SOURCES]
GRAPH = as_graph(*SYMMETRIC)
SEARCHES = Traversal(
    algorithm="bfs",
    sources=numpy.array(SOURCES),
    distance=numpy.stack([d for d, _ in ANSWERS]),
    predecessor=numpy.stack([p for _, p in ANSWERS]),
    vertex_count=HUBS.vertex_count,
)
LABELS = scipy_components(*SYMMETRIC).astype(numpy.uint32)
COMPONENTS = Traversal(algorithm="components", component=LABELS, vertex_count=HUBS.vertex_count)
ROOM = 1 << 30


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    # A graph of these tests has fewer arcs than the smallest part of a real one.
    monkeypatch.setattr(memory, "LEAST_PART", 1)
    return emulate(monkeypatch)


def run(
    traversal: Traversal, room: int = ROOM, *, on: str = "auto", graph: Graph = GRAPH, host: int = 1 << 40
) -> tuple[Verification, list[str]]:
    context = PlainContext(Machine(backend="cuda", threads=2, host_memory=host, device_memory=room))
    found = verify(context, VerifyParameters(on=on), graph=graph, traversal=traversal)
    return found, context.messages


def on_cpu(traversal: Traversal) -> Verification:
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 40))
    return verify(context, VerifyParameters(), graph=GRAPH, traversal=traversal)


def without_on(found: Verification) -> Any:
    return [{key: value for key, value in record.items() if key != "on"} for record in found.checks]


def device_bytes(traversal: Traversal) -> int:
    batch = checked_of(GRAPH, traversal).planned(ROOM)
    assert batch is not None
    return batch.device_bytes


@pytest.mark.parametrize(
    "traversal",
    [
        SEARCHES,
        replace(SEARCHES, predecessor=None),
        replace(SEARCHES, distance=None),
        COMPONENTS,
        replace(COMPONENTS, converged=False),
    ],
    ids=["both", "distance", "predecessor", "components", "parts"],
)
def test_the_gpu_records_what_the_cpu_does_and_where(traversal: Traversal) -> None:
    expected = on_cpu(traversal)
    for on in ("auto", "cuda"):
        found, messages = run(traversal, on=on)
        assert {record["on"] for record in found.checks} == {"cuda"}
        assert {record["on"] for record in expected.checks} == {"cpu"}
        assert without_on(found) == without_on(expected)
        assert found.skipped == expected.skipped
        assert len(messages) == 1
        assert "on the GPU" in messages[0]


@pytest.mark.parametrize("place", [on_device, Stored], ids=["on the device", "stored"])
def test_arrays_wherever_they_are(place: Any) -> None:
    graph = replace(GRAPH, row_offsets=place(GRAPH.row_offsets), column_indices=place(GRAPH.column_indices))
    sources, distance = (place(each) for each in (SEARCHES.sources, SEARCHES.distance))
    searches = replace(SEARCHES, sources=on_device(SEARCHES.sources), distance=distance)
    searches = replace(searches, predecessor=place(SEARCHES.predecessor))
    assert run(searches, graph=graph)[0].checks
    assert run(replace(COMPONENTS, component=place(LABELS)), graph=graph)[0].checks
    if place is on_device:
        # `on: cpu` takes them as well.
        assert run(replace(searches, sources=sources), graph=graph, on="cpu")[0].checks[0]["on"] == "cpu"


def test_the_same_fault_is_told_in_the_same_words() -> None:
    for name, (d, p) in list(damaged(SYMMETRIC, SOURCES[2], seed=8))[1:]:
        wrong = replace(SEARCHES, distance=SEARCHES.distance.copy(), predecessor=SEARCHES.predecessor.copy())
        wrong.distance[2], wrong.predecessor[2] = d, p
        told = []
        for check in (on_cpu, run):
            with pytest.raises(VerificationFailed, match="search 3 of 5: ") as failure:
                check(wrong)
            told.append((str(failure.value), failure.value.hint, failure.value.vertices))
        assert told[0] == told[1], name


def test_wrong_components_fail_with_their_vertices() -> None:
    labels = LABELS.copy()
    labels[4900] = 0
    with pytest.raises(VerificationFailed, match="the components: connected") as failure:
        run(replace(COMPONENTS, component=labels))
    assert failure.value.vertices == (4900,)


def test_smaller_batches_and_parts_of_the_graph_where_there_is_less_room(pool: Pool) -> None:
    expected = without_on(on_cpu(SEARCHES))
    room, told = device_bytes(SEARCHES), set()
    while checked_of(GRAPH, SEARCHES).planned(room) is not None:
        found, messages = run(SEARCHES, room, on="cuda")
        assert without_on(found) == expected
        assert pool.peak <= room
        pool.peak = 0
        told.add(messages[0])
        room -= 14_000
    with pytest.raises(StageError, match="GiB of GPU memory"):
        run(SEARCHES, room, on="cuda")
    assert "verifying 5 searches on the GPU, 5 at a time" in told
    assert "verifying 5 searches on the GPU, 4 at a time" in told
    assert any("arcs of the graph at a time" in message for message in told)


@pytest.mark.parametrize("traversal", [SEARCHES, COMPONENTS], ids=["searches", "components"])
def test_what_does_not_fit_goes_to_the_cpu_and_is_said(traversal: Traversal) -> None:
    found, messages = run(traversal, 1 << 20)
    assert {record["on"] for record in found.checks} == {"cpu"}
    assert messages[0].startswith("verifying on the CPU: verification needs 0.00")
    assert "GiB of GPU memory, and 0.000977 GiB are free" in messages[0]
    with pytest.raises(StageError, match="GiB of GPU memory") as refused:
        run(traversal, 1 << 20, on="cuda")
    assert refused.value.hint == "leave `on` out to verify on the CPU"
    with pytest.raises(StageError, match="bytes of host memory, and there are 1,000"):
        run(traversal, 1 << 20, host=1000)


def test_only_what_is_free_now_is_taken(pool: Pool) -> None:
    """Another program may have most of the GPU."""
    pool.limit = device_bytes(SEARCHES) - 30_000
    found, messages = run(SEARCHES, on="cuda")
    assert found.checks[0]["on"] == "cuda"
    assert pool.peak <= pool.limit
    assert "4 at a time" in messages[0]


def test_memory_that_runs_out_meanwhile_is_done_without(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program takes memory after it was looked at: the checks begin again with less, or elsewhere."""
    monkeypatch.setattr("gravel.kernels.cuda.room.free_bytes", lambda: ROOM)
    monkeypatch.setattr(memory, "MARGIN", 0)
    pool.limit = device_bytes(SEARCHES) // 2
    found, messages = run(SEARCHES)
    assert without_on(found) == without_on(on_cpu(SEARCHES))
    assert "GPU memory ran out (out of memory allocating" in messages[1]
    assert messages[-1].startswith(("verifying 5 searches on the GPU", "verifying on the CPU"))
    pool.limit = 1000
    found, messages = run(SEARCHES)
    assert found.checks[0]["on"] == "cpu"
    assert messages[-1].startswith("verifying on the CPU: verification needs")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"vertex_count": 7}, "7 vertices and the graph 5000"),
        ({"sources": None}, "does not say its sources"),
        ({"sources": numpy.array([0, 1, 2, 3, 5000])}, "source 5000 is not in the graph"),
        ({"distance": None, "predecessor": None}, "neither"),
        ({"distance": SEARCHES.distance[:, :7]}, "distance has shape"),
        ({"algorithm": "components"}, "no component labels"),
    ],
)
def test_what_does_not_belong_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(StageError, match=reason) as refused:
        run(replace(SEARCHES, **change))
    assert not isinstance(refused.value, VerificationFailed)


@pytest.mark.parametrize("traversal", [SEARCHES, COMPONENTS], ids=["searches", "components"])
def test_the_plan_states_what_a_run_takes(pool: Pool, traversal: Traversal) -> None:
    size = {"vertices": GRAPH.vertex_count, "arcs": GRAPH.arc_count}
    searches = 0 if traversal is COMPONENTS else len(SOURCES)
    each = 4 if traversal is COMPONENTS else 8 * searches
    labels = Extent(kind="Traversal", **size, searches=searches, bytes=each * GRAPH.vertex_count)
    inputs = {"graph": (Extent(kind="Graph", **size),), "traversal": (labels,)}
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 40, device_memory=ROOM)
    need = STAGE.estimate(VerifyParameters(), inputs, machine)
    assert need.device_bytes == device_bytes(traversal)
    run(traversal)
    assert pool.peak <= need.device_bytes
    assert need.device_bytes - memory.MARGIN <= 1.3 * pool.peak
