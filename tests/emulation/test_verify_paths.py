"""The kernels that verify shortest paths, on emulated blocks: they find what the CPU's verifier finds."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.verify import Check
from gravel.kernels.verify.cuda import memory
from gravel.kernels.verify.cuda.memory import Batch, GraphSize, LabelSize, plan_paths
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.cuda.sssp import check_paths
from gravel.kernels.verify.sssp import check_sssp
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import ROOM, Pool, Stored, emulate, refused
from tests.kernels.sssp_case import WeightedGraph, random_graph, special, weighted
from tests.kernels.verify.sssp_damage import DAMAGES, answer, damaged, hub_graph

HUBS = [hub_graph(dtype) for dtype in (numpy.uint32, numpy.float32)]
SMALL = [*special(60)[:6], *special(60)[7:], *map(random_graph, range(0, 48, 8))]


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


def check_all(
    graph: WeightedGraph, source: int, answers: Any, *, tree: bool = True, place: Any = None, **options: Any
) -> list[list[Check]]:
    """Check answers as searches from one source, and hold each against the CPU's verifier."""
    place = place or (lambda array: array)
    distance = numpy.stack([d for d, _ in answers])
    predecessor = numpy.stack([p for _, p in answers]) if tree else None
    offsets, columns, weights = map(place, graph.rows)
    labels = place(distance), None if predecessor is None else place(predecessor)
    sources = [source] * len(answers)
    found = list(
        check_paths(offsets, columns, weights, sources, *labels, resources=Resources(ROOM, **options))
    )
    for number, checks in enumerate(found):
        above = None if predecessor is None else predecessor[number]
        assert checks == check_sssp(*graph.rows, source, distance[number], above), number
    return found


@pytest.mark.parametrize("graph", [*SMALL, *HUBS], ids=str)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: WeightedGraph) -> None:
    n = len(graph.row_offsets) - 1
    for source in sorted({0, n // 2}):
        named = list(damaged(graph, source, seed=n))
        answers = [labels for _, labels in named]
        found = check_all(graph, source, answers)
        assert not refused(found[0])
        assert not [
            name for (name, _), checks in zip(named[1:], found[1:], strict=True) if not refused(checks)
        ]
        check_all(graph, source, answers, tree=False)


def test_all_damages_are_there() -> None:
    seen = {name for graph in (*HUBS, random_graph(26)) for name, _ in damaged(graph, 0, seed=1)}
    assert seen - {""} == set(DAMAGES)


@pytest.mark.parametrize(
    ("columns", "weights", "distance"),
    [
        (numpy.uint32, numpy.int32, numpy.int32),
        (numpy.uint64, numpy.uint32, numpy.int64),
        (numpy.uint64, numpy.uint32, numpy.float64),
    ],
)
def test_every_type(columns: Any, weights: Any, distance: Any) -> None:
    made = random_graph(26)
    graph = WeightedGraph(
        "types",
        made.row_offsets,
        made.columns.astype(columns),
        (made.weights % 90).astype(weights),
        made.heads,
    )
    answers = [labels for _, labels in damaged(graph, 3, 5, distance)]
    assert answers[0][0].dtype == distance
    check_all(graph, 3, answers)
    check_all(graph, 3, [(d, p.astype(numpy.int64)) for d, p in answers], block=64)


@pytest.mark.parametrize("place", [on_device, Stored], ids=["on the device", "stored"])
def test_arrays_wherever_they_are(place: Any) -> None:
    graph = HUBS[place is Stored]
    check_all(graph, 0, [labels for _, labels in damaged(graph, 0, seed=2)], place=place)


def test_rows_that_come_in_parts() -> None:
    for graph, tree in zip(HUBS, (True, False), strict=True):
        answers = [labels for _, labels in damaged(graph, 0, seed=3)]
        check_all(graph, 0, answers, batch=Batch(0, 2600, 0), tree=tree)


def test_each_arc_of_a_long_row_counts() -> None:
    """The tail of an arc, found by that arc alone: one is too long, and one leads to an unreached vertex."""
    n = 2600
    pairs = [(0, v) for v in range(1, n)]
    graph = weighted("star", n, pairs, numpy.full(n - 1, 4, numpy.uint32))
    right = answer(graph, 0)
    answers = []
    for v in (1, 2, 31, 32, 33, 2047, 2048, 2049, 2050, 2081, n - 1):
        for value, above in ((5, 0), (-1, -1), (3, 0)):
            d, p = right[0].copy(), right[1].copy()
            d[v], p[v] = value, above
            answers.append((d, p))
    assert all(map(refused, check_all(graph, 0, answers)))


def test_memory_that_is_stated_is_enough(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LEAST_PART", 1)
    monkeypatch.setattr(memory, "MARGIN", 40_000)
    graph = HUBS[0]
    answers = [labels for _, labels in damaged(graph, 0, seed=4)]
    size = GraphSize(len(graph.row_offsets) - 1, len(graph.columns), 4)
    for labels, tree in ((LabelSize(9, 8, 4), True), (LabelSize(9, 8, 0), False)):
        whole = plan_paths(size, labels, 1 << 40)
        assert whole is not None
        assert whole.arcs is None
        parts = plan_paths(size, labels, whole.device_bytes - 1)
        for batch in filter(None, (whole, parts)):
            pool.peak = pool.used
            before = pool.used
            check_all(graph, 0, answers, tree=tree, batch=batch)
            assert pool.peak - before <= batch.device_bytes


def test_what_is_refused() -> None:
    graph = HUBS[0]
    n = len(graph.row_offsets) - 1
    d, p = (each[None] for each in answer(graph, 0))
    rows = graph.rows
    for arrays, sources, labels, message in (
        (rows, [n], (d, p), f"source {n} is not in the graph"),
        (rows, [0], (d[:, :3], p), f"distance has shape .*graph has {n} vertices"),
        (rows, [0], (d, p[:, :3]), "predecessor has shape"),
        ((*rows[:2], rows[2][:9]), [0], (d, p), "there are 9 weights"),
        ((*rows[:2], rows[2].astype(numpy.float64)), [0], (d, p), "weights are float64"),
        (rows, [0], (d.astype(numpy.float32), p), "distances are float32"),
        (rows, [0], (d, p.astype(numpy.float64)), "labels are integers"),
    ):
        with pytest.raises(ValueError, match=message):
            list(check_paths(*arrays, sources, *labels, resources=Resources(ROOM)))
    with pytest.raises(MemoryError, match=r"needs at least [\d,]+ bytes, and 1,000 are free"):
        list(check_paths(*rows, [0], d, p, resources=Resources(1000)))
