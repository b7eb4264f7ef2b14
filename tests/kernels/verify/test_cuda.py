"""The GPU's verifier against the CPU's: right answers, and answers damaged in every way."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.verify import check_bfs, check_components, check_parts
from gravel.kernels.verify.cuda.memory import (
    Batch,
    GraphSize,
    LabelSize,
    plan_components,
    plan_searches,
)
from gravel.kernels.verify.cuda.resources import Resources
from tests.kernels.cuda_case import LONG_PATH, names, on_device, peak_of, rmat
from tests.kernels.verify.damage import HUBS, ZOO, csr_of, damaged, damaged_components, search
from tests.zoo import ZooGraph, scipy_components

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
ROOM = 8 << 30
FORMS = ((True, True), (True, False), (False, True))
GRAPHS = [*ZOO, HUBS, LONG_PATH, rmat(12)]
BLOCKS = (32, 64, 128, 256, 512)


def check_all(
    csr: Any, source: int, answers: Any, form: Any, *, place: Any = None, **options: Any
) -> list[bool]:
    """Check all answers as searches from one source against the CPU's verifier; tells which are right."""
    from gravel.kernels.verify.cuda.bfs import check_searches

    given = [numpy.stack([each[i] for each in answers]) if form[i] else None for i in range(2)]
    graph = {name: options.pop(name) for name in ("max_depth", "symmetric", "is_sorted") if name in options}
    sent = [each if place is None or each is None else place(each) for each in given]
    arrays = csr if place is None else tuple(map(place, csr))
    sources = [source] * len(answers)
    found = list(check_searches(*arrays, sources, *sent, resources=Resources(ROOM, **options), **graph))
    for number, checks in enumerate(found):
        one = [None if each is None else each[number] for each in given]
        assert checks == check_bfs(*csr, source, *one, **graph), number
    return [all(check.passed for check in checks) for checks in found]


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", GRAPHS, ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: ZooGraph, symmetric: bool) -> None:
    csr = csr_of(graph, symmetric=symmetric)
    for source in sorted({0, graph.vertex_count // 2}):
        named = list(damaged(csr, source, seed=graph.vertex_count))
        answers = [labels for _, labels in named]
        for form in FORMS:
            for place in (None, cupy.asarray):
                right = check_all(csr, source, answers, form, place=place, symmetric=symmetric)
                assert right[0]
                if form == (True, True):
                    assert not any(right[1:]), [name for name, _ in named]


@pytest.mark.parametrize("words", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_and_batch(words: int, block: int) -> None:
    for symmetric in (True, False):
        csr = csr_of(HUBS, symmetric=symmetric)
        answers = [labels for _, labels in damaged(csr, 3, seed=words)]
        answers = (answers * 3)[: 4 * words + 3]
        for form in FORMS:
            for arcs in (None, 2700):
                batch = Batch(words, arcs, 0)
                check_all(csr, 3, answers, form, symmetric=symmetric, block=block, batch=batch)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64"])
def test_labels_of_every_type_and_wide_columns(dtype: str) -> None:
    csr = csr_of(
        next(graph for graph in ZOO if graph.name == "tail_on_clique"), symmetric=True, index=numpy.uint64
    )
    narrow = numpy.iinfo(dtype)
    answers = []
    for _, (d, p) in damaged(csr, 3, seed=5):
        if all(narrow.min <= each.min() and each.max() <= narrow.max for each in (d, p)):
            answers.append((d.astype(dtype), p.astype("int64")))
    assert len(answers) > 5
    for form in FORMS:
        check_all(csr, 3, answers, form, symmetric=True)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("max_depth", [0, 1, 5, 300])
def test_max_depth(symmetric: bool, max_depth: int) -> None:
    csr = csr_of(next(graph for graph in ZOO if graph.name == "grid_13x17"), symmetric=symmetric)
    for depth in (None, max_depth):
        answers = [labels for _, labels in damaged(csr, 20, seed=2, max_depth=depth)]
        for form in FORMS:
            check_all(csr, 20, answers, form, symmetric=symmetric, max_depth=max_depth)


def test_levels_beyond_16_bits() -> None:
    n = 70_000
    ends = numpy.arange(n - 1, dtype=numpy.uint32)
    csr = csr_of(ZooGraph("path", n, ends, ends + 1), symmetric=True)
    distance, predecessor = search(csr, 0)
    wrong = distance.copy()
    wrong[n - 1] -= 1 << 16
    answers = [(distance, predecessor)] * 17 + [(wrong, predecessor)]
    for form in ((True, True), (True, False)):
        assert check_all(csr, 0, answers, form, symmetric=True) == [True] * 17 + [False]


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", GRAPHS, ids=names)
def test_components(graph: ZooGraph, symmetric: bool) -> None:
    from gravel.kernels.verify.cuda import components

    csr = csr_of(graph, symmetric=symmetric)
    for name, labels in damaged_components(scipy_components(*csr), seed=graph.vertex_count):
        expected = check_components(*csr, labels, symmetric=symmetric)
        parts = check_parts(*csr, labels, symmetric=symmetric)
        for block in BLOCKS:
            given = Resources(ROOM, block=block)
            for arrays in ((*csr, labels), on_device(*csr, labels)):
                assert components.check_components(*arrays, given, symmetric=symmetric) == expected, name
                assert components.check_parts(*arrays, given, symmetric=symmetric) == parts, name
        assert all(check.passed for check in expected) is (not name)


@pytest.mark.parametrize("searches", [1, 5, 64])
@pytest.mark.parametrize("scale", [15, 18])
def test_the_memory_is_what_is_stated(scale: int, searches: int) -> None:
    from gravel.kernels.verify.cuda.bfs import check_searches
    from gravel.kernels.verify.cuda.components import check_components as check

    csr = csr_of(rmat(scale, 8), symmetric=True)
    size = GraphSize(1 << scale, len(csr[1]), 4)
    d, p = search(csr, 1)
    batch = plan_searches(size, LabelSize(searches, 4, 4), True, ROOM)
    assert batch is not None
    labels = (numpy.stack([d] * searches), numpy.stack([p] * searches))
    found: list[Any] = []
    peak = peak_of(
        lambda: found.extend(
            check_searches(*csr, [1] * searches, *labels, symmetric=True, resources=Resources(ROOM))
        )
    )
    assert all(check.passed for checks in found for check in checks)
    assert peak <= batch.device_bytes <= 1.4 * peak + (8 << 20)
    labelled = scipy_components(*csr).astype(numpy.uint32)
    planned = plan_components(size, 4, ROOM)
    assert planned is not None
    peak = peak_of(lambda: check(*csr, labelled, Resources(ROOM), symmetric=True))
    assert peak <= planned.device_bytes <= 1.3 * peak + (8 << 20)


@pytest.mark.parametrize("pinned", [True, False])
def test_large_arrays_come_in_pieces(monkeypatch: pytest.MonkeyPatch, pinned: bool) -> None:
    from gravel.kernels.placement.pinned import PinnedRefused

    monkeypatch.setattr("gravel.kernels.verify.cuda.upload.DIRECT_BYTES", 64)
    monkeypatch.setattr("gravel.kernels.verify.cuda.upload.STAGE_BYTES", 1 << 12)
    if not pinned:

        def refuse(*_: object) -> None:
            raise PinnedRefused("not here")

        monkeypatch.setattr("gravel.kernels.verify.cuda.upload.pin", refuse)
    csr = csr_of(rmat(12), symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]
    for form in FORMS:
        for batch in (None, Batch(4, None, 0), Batch(4, 40_000, 0)):
            check_all(csr, 3, answers, form, symmetric=True, batch=batch, threads=5)


def test_the_stage_records_where_it_ran() -> None:
    from gravel.stages.artifacts import Traversal
    from gravel.stages.context import PlainContext
    from gravel.stages.errors import VerificationFailed
    from gravel.stages.stage import Machine
    from gravel.stages.verify import VerifyParameters, verify
    from tests.stages.traverse_case import as_graph

    csr = csr_of(rmat(16, 8), symmetric=True)
    n = len(csr[0]) - 1
    sources = numpy.arange(70)
    found = [search(csr, int(source)) for source in sources]
    distance, predecessor = (numpy.stack([each[i] for each in found]) for i in range(2))
    wrong = distance.copy()
    wrong[68, int(numpy.argmax(wrong[68]))] += 1
    machine = Machine(backend="cuda", threads=4, host_memory=1 << 40, device_memory=ROOM)
    for place in (numpy.asarray, cupy.asarray):
        offsets, columns = map(place, csr)
        graph = as_graph(offsets, columns)
        given = {"algorithm": "bfs", "sources": sources, "vertex_count": n, "predecessor": place(predecessor)}
        right = Traversal(distance=place(distance), **given)
        for on, device in (("auto", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")):
            checked = verify(PlainContext(machine), VerifyParameters(on=on), graph=graph, traversal=right)
            assert [(each["searches"], each["on"]) for each in checked.checks] == [(70, device)] * 7
        broken = Traversal(distance=place(wrong), **given)
        with pytest.raises(VerificationFailed, match="search 69 of 70: "):
            verify(PlainContext(machine), VerifyParameters(), graph=graph, traversal=broken)
