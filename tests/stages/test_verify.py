"""verify passes right traversals, names the faults of wrong ones, and says what it could not check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Graph, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.verify import STAGE, VerifyParameters, verify
from tests.stages.traverse_case import as_graph
from tests.zoo import scipy_components, scipy_distances, zoo

GRID = next(graph for graph in zoo() if graph.name == "grid_13x17")
SOURCES = (0, 100, 220)
AUTO = VerifyParameters()


def graph() -> Graph:
    return as_graph(*GRID.csr())


def traversal() -> Traversal:
    offsets, columns = GRID.csr()
    tails = numpy.repeat(numpy.arange(GRID.vertex_count, dtype=numpy.int32), numpy.diff(offsets))
    heads = columns.astype(int)
    distance = numpy.array([scipy_distances(offsets, columns, source) for source in SOURCES])
    predecessor = numpy.full_like(distance, -1)
    for hops, parents in zip(distance, predecessor, strict=True):
        tree = hops[heads] == hops[tails] + 1
        numpy.maximum.at(parents, heads[tree], tails[tree])
    return Traversal(
        algorithm="bfs",
        sources=numpy.array(SOURCES),
        distance=distance,
        predecessor=predecessor,
        vertex_count=GRID.vertex_count,
    )


def components(labels: numpy.ndarray) -> Traversal:
    return Traversal(algorithm="components", component=labels, vertex_count=GRID.vertex_count)


def run(result: Traversal, parameters: VerifyParameters = AUTO, **machine: Any) -> Any:
    facts = {"backend": "cpu", "threads": 2, "host_memory": 1 << 30, **machine}
    context = PlainContext(Machine(**facts))
    return verify(context, parameters, graph=graph(), traversal=result), context


def test_right_searches_are_recorded() -> None:
    checked, _ = run(traversal())
    assert checked.algorithm == "bfs"
    assert [record["check"] for record in checked.checks] == [
        "ranges",
        "source",
        "tree",
        "tree_levels",
        "edge_levels",
        "component",
        "tree_arcs",
    ]
    assert all(record["passed"] and record["searches"] == 3 for record in checked.checks)
    assert checked.skipped == []


@pytest.mark.parametrize(
    ("missing", "skipped"),
    [("predecessor", ["tree", "tree_levels", "tree_arcs"]), ("distance", ["tree_levels"])],
)
def test_skipped_checks_are_said(missing: str, skipped: list[str]) -> None:
    checked, _ = run(replace(traversal(), **{missing: None}))
    assert [record["check"] for record in checked.skipped] == skipped
    assert not {record["check"] for record in checked.checks} & set(skipped)


def test_a_wrong_search_fails_with_its_vertices() -> None:
    wrong = traversal()
    wrong.predecessor[1, 40] = 0
    with pytest.raises(
        VerificationFailed, match=r"search 2 of 3: tree_levels .* fails at 1 vertex"
    ) as failure:
        run(wrong)
    assert failure.value.vertices == (40,)
    wrong = traversal()
    wrong.distance[2, 0] = wrong.predecessor[2, 0] = -1
    with pytest.raises(VerificationFailed, match="search 3 of 3: component") as failure:
        run(wrong)
    assert failure.value.vertices == (1, 0, 17)


def test_components() -> None:
    labels = scipy_components(*GRID.csr()).astype(numpy.uint32)
    checked, _ = run(components(labels))
    assert [record["check"] for record in checked.checks] == [
        "ranges",
        "edges_agree",
        "smallest",
        "connected",
    ]
    labels[7] = 7
    with pytest.raises(VerificationFailed, match="the components: edges_agree") as failure:
        run(components(labels))
    assert 7 in failure.value.vertices


def test_records_say_where_checks_ran() -> None:
    checked, _ = run(traversal())
    assert {record["on"] for record in checked.checks} == {"cpu"}
    checked, _ = run(components(scipy_components(*GRID.csr()).astype(numpy.uint32)))
    assert {record["on"] for record in checked.checks} == {"cpu"}


def test_on_cpu_keeps_a_machine_with_a_gpu_off_it() -> None:
    checked, context = run(traversal(), VerifyParameters(on="cpu"), backend="cuda", device_memory=1 << 30)
    assert {record["on"] for record in checked.checks} == {"cpu"}
    assert context.messages == ["verifying on the CPU: `on: cpu` asks for it"]


def test_on_cuda_without_a_gpu_is_refused() -> None:
    with pytest.raises(StageError, match="`on: cuda` asks for a GPU, and this run is on the CPU") as refused:
        run(traversal(), VerifyParameters(on="cuda"))
    assert "--backend cuda" in str(refused.value.hint)
    cannot = STAGE.cannot_run(VerifyParameters(on="cuda"), "cpu")
    assert cannot is not None
    assert cannot.reason.startswith("needs a GPU: ")
    for on, backend in (("cuda", "cuda"), ("auto", "cpu"), ("cpu", "cpu")):
        assert STAGE.cannot_run(VerifyParameters(on=on), backend) is None


def needed(parameters: VerifyParameters, device_memory: int, searches: int = 64) -> Need:
    extent = Extent(kind="Graph", vertices=1 << 22, arcs=128 << 20)
    result = Extent(kind="Traversal", vertices=1 << 22, bytes=searches << 25, searches=searches)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 40, device_memory=device_memory)
    return STAGE.estimate(parameters, {"graph": (extent,), "traversal": (result,)}, machine)


def test_device_memory_is_what_fits() -> None:
    sizes = []
    for gib in (80, 1.5, 1, 0.75, 0.5):
        need = needed(VerifyParameters(), int(gib * 2**30))
        assert 0 < need.device_bytes <= gib * 2**30
        assert not need.note
        sizes.append(need.device_bytes)
    assert sizes == sorted(sizes, reverse=True)
    # The graph, 64 predecessors, a table of 64 bytes and four distances of each vertex.
    assert 1 << 29 < sizes[0] < 2.2e9


def test_plan_says_why_the_cpu_does_it() -> None:
    small = needed(VerifyParameters(), 1 << 27)
    assert small.device_bytes == 0
    assert small.note.startswith("on the CPU: verification needs 0.")
    assert "GiB of GPU memory, and 0.125 GiB are free" in small.note
    refused = needed(VerifyParameters(on="cuda"), 1 << 27)
    assert "leave `on` out" in refused.refusal
    asked = needed(VerifyParameters(on="cpu"), 80 << 30)
    assert (asked.device_bytes, asked.note) == (0, "on the CPU: `on: cpu` asks for it")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"vertex_count": 7}, "7 vertices and the graph 221"),
        ({"sources": None}, "does not say its sources"),
        ({"sources": numpy.array([0, 100, 221])}, "source 221 is not in the graph"),
        ({"distance": None, "predecessor": None}, "neither"),
        ({"algorithm": "components"}, "no component labels"),
    ],
)
def test_what_does_not_belong_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(StageError, match=reason) as refused:
        run(replace(traversal(), **change))
    assert not isinstance(refused.value, VerificationFailed)


def test_memory_does_not_grow_with_the_searches() -> None:
    extent = Extent(kind="Graph", vertices=1000, arcs=30_000)
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 30)

    def need(searches: int) -> int:
        result = Extent(kind="Traversal", vertices=1000, searches=searches)
        inputs = {"graph": (extent,), "traversal": (result,)}
        return STAGE.estimate(VerifyParameters(), inputs, machine).host_bytes

    assert need(1) == need(64) > 8 * 1000 + 4 * 30_000
