"""The kernels that verify searches, on emulated blocks: what they find is what the CPU's verifier finds."""

from __future__ import annotations

import itertools

import numpy
import pytest

from gravel.kernels.verify import check_bfs
from gravel.kernels.verify.cuda import bfs
from gravel.kernels.verify.cuda.memory import Batch
from gravel.kernels.verify.cuda.resources import Resources
from tests.emulation import grid_kernels
from tests.emulation.verify_case import (
    FORMS,
    GRID,
    ROOM,
    SKEWED,
    TAIL,
    Pool,
    check_all,
    check_each_arc,
    emulate,
    refused,
)
from tests.kernels.cuda_case import LONG_PATH, names
from tests.kernels.verify.damage import DAMAGES, HUBS, ZOO, csr_of, damaged, search
from tests.parameters import slow_among
from tests.zoo import ZooGraph


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", [*ZOO, HUBS], ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: ZooGraph, symmetric: bool) -> None:
    csr = csr_of(graph, symmetric=symmetric)
    source = 0 if symmetric else graph.vertex_count // 2
    named = list(damaged(csr, source, seed=graph.vertex_count))
    answers = [labels for _, labels in named]
    for form in FORMS:
        found = check_all(csr, source, answers, form, symmetric=symmetric)
        assert not refused(found[0])
        if form == (True, True):
            both = zip(named[1:], found[1:], strict=True)
            assert not [name for (name, _), checks in both if not refused(checks)]


def test_all_damages_are_there() -> None:
    seen: set[str] = set()
    for graph in (SKEWED, GRID):
        seen |= {name for name, _ in damaged(csr_of(graph, symmetric=True), 0, seed=1)}
    assert seen - {""} == set(DAMAGES)


SHAPES = list(itertools.product((1, 2, 4, 8, 16), (32, 64, 128)))
"""Words of a vertex's labels and threads of a block."""


@pytest.mark.parametrize("shape", slow_among(SHAPES, {*SHAPES} - {(1, 32), (2, 64)}), ids=str)
def test_every_block_and_batch(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    words, block = shape
    monkeypatch.setattr(grid_kernels, "THREADS", 128)
    for symmetric in (True, False):
        csr = csr_of(SKEWED, symmetric=symmetric)
        answers = [labels for _, labels in damaged(csr, 3, seed=words)]
        # As many as do not fill the last batch.
        answers = (answers * 3)[: 4 * words + 3]
        for form in FORMS:
            options = {"symmetric": symmetric, "block": block, "batch": Batch(words, None, 0)}
            check_all(csr, 3, answers, form, **options)


DTYPES = ["int8", "int16", "int64", "uint8", "uint16", "uint32"]


@pytest.mark.parametrize("dtype", slow_among(DTYPES, {*DTYPES} - {"uint8"}))
def test_labels_of_every_type(dtype: str) -> None:
    csr = csr_of(TAIL, symmetric=True)
    named = list(damaged(csr, 3, seed=5))
    narrow = numpy.iinfo(dtype)
    for distance, predecessor in ((dtype, "int64"), ("int32", dtype)):
        answers = []
        for _, (d, p) in named:
            # What the type cannot tell, such as -1, it tells otherwise, and both have to say what is wrong.
            fits = all(narrow.min <= each.min() and each.max() <= narrow.max for each in (d, p))
            if not fits and "u" not in dtype:
                continue
            answers.append((d.astype(distance), p.astype(predecessor)))
        assert len(answers) > 5
        for form in FORMS:
            check_all(csr, 3, answers, form)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("max_depth", [0, 1, 5, 300])
def test_max_depth(symmetric: bool, max_depth: int) -> None:
    csr = csr_of(GRID, symmetric=symmetric)
    for depth in (None, max_depth):
        # The whole search is one that went too far.
        answers = [labels for _, labels in damaged(csr, 20, seed=2, max_depth=depth)]
        for form in FORMS:
            found = check_all(csr, 20, answers, form, symmetric=symmetric, max_depth=max_depth)
            assert refused(found[0]) is (depth is None and int(answers[0][0].max()) > max_depth)


def test_each_arc_of_a_row_counts() -> None:
    complete = next(graph for graph in ZOO if graph.name == "complete_40")
    check_each_arc(csr_of(complete, symmetric=True), 7, range(39))
    hubs = csr_of(HUBS, symmetric=True)
    assert hubs[0][1] == 2599
    check_each_arc(hubs, 0, (0, 1, 2, 31, 32, 63, 64, 2046, 2047, 2048, 2049, 2080, 2597, 2598))
    star = next(graph for graph in ZOO if graph.name == "star_last_hub")
    check_each_arc(csr_of(star, symmetric=True), 1999, (0, 1023, 1024, 1997, 1998))


def test_wide_and_unsorted_rows() -> None:
    offsets, columns = csr_of(SKEWED, symmetric=False, index=numpy.uint64)
    for low, high in itertools.pairwise(offsets):
        columns[low:high] = columns[low:high][::-1]
    answers = [labels for _, labels in damaged((offsets, columns), 7, seed=3)]
    for form in FORMS:
        check_all((offsets, columns), 7, answers, form, symmetric=False, is_sorted=False)


def test_deep_levels_take_wider_labels() -> None:
    csr = csr_of(LONG_PATH, symmetric=True)
    source = 0
    shallow = search(csr, source, 5)
    deep = search(csr, source)
    assert deep[0].max() > 255
    wrong = (deep[0].copy(), deep[1].copy())
    wrong[0][int(numpy.argmax(wrong[0]))] -= 256  # which a byte would not show
    answers = [shallow] * 9 + [deep] * 3 + [wrong] + [shallow] * 6
    for form in ((True, True), (True, False), (False, True)):
        found = check_all(csr, source, answers, form)
        assert [refused(checks) for checks in found] == [True] * 9 + [False] * 3 + [form[0]] + [True] * 6


@pytest.mark.parametrize("level", slow_among([254, 255, 65534, 65535], {65534}))
def test_a_level_at_the_edge_of_a_label(level: int) -> None:
    n = level + 2
    ends = numpy.arange(n - 1, dtype=numpy.uint32)
    csr = csr_of(ZooGraph("path", n, ends, ends + 1), symmetric=True)
    distance = numpy.arange(n, dtype=numpy.int32)
    short = numpy.where(distance > level, -1, distance).astype(numpy.int32)
    for answer, right in ((distance, True), (short, False)):
        given = numpy.stack([answer])
        (found,) = bfs.check_searches(*csr, [0], given, symmetric=True, resources=Resources(ROOM))
        assert found == check_bfs(*csr, 0, answer, symmetric=True)
        assert refused(found) is not right


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_rows_that_come_in_parts(symmetric: bool) -> None:
    csr = csr_of(HUBS, symmetric=symmetric)
    answers = [labels for _, labels in damaged(csr, 1, seed=4)][:9]
    for form in FORMS:
        check_all(csr, 1, answers, form, symmetric=symmetric, batch=Batch(1, 2700, 0))
    with pytest.raises(ValueError, match="row 0 has more arcs than the device has room for"):
        check_all(csr_of(HUBS, symmetric=True), 1, answers, batch=Batch(1, 2000, 0))
