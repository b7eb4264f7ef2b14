"""The kernels that verify searches, on emulated blocks: what they find is what the CPU's verifier finds."""

from __future__ import annotations

import itertools
import shutil
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.verify import Check, check_bfs
from gravel.kernels.verify.cuda import bfs, memory
from gravel.kernels.verify.cuda.memory import Batch
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.emulation.grid_kernels import on_device
from tests.kernels.cuda_case import LONG_PATH, names
from tests.kernels.verify_damage import DAMAGES, HUBS, ZOO, csr_of, damaged, search
from tests.parameters import slow_among
from tests.zoo import ZooGraph

GRID = next(graph for graph in ZOO if graph.name == "grid_13x17")
TAIL = next(graph for graph in ZOO if graph.name == "tail_on_clique")
SKEWED = next(graph for graph in ZOO if graph.name == "skewed_random")
ROOM = 1 << 40
FORMS = ((True, True), (True, False), (False, True))
"""Which of distance and predecessor an answer has."""


class Pool:
    """Memory of an emulated device: what is taken now, the most that was, and what there is."""

    def __init__(self) -> None:
        self.used = self.peak = 0
        self.limit = 1 << 40

    def taken(self, shape: Any, dtype: Any, value: int) -> Any:
        count = int(numpy.prod(shape))
        size = count * numpy.dtype(dtype).itemsize
        if self.used + size > self.limit:
            raise MemoryError(f"out of memory allocating {size:,} bytes")

        class Memory(bytearray):
            pass

        memory = Memory(bytes([value]) * size)
        self.used += size
        self.peak = max(self.peak, self.used)
        weakref.finalize(memory, self._give, size)
        array = numpy.frombuffer(memory, dtype) if size else numpy.empty(0, dtype)
        return array.reshape(shape).view(grid_kernels.Array)

    def _give(self, size: int) -> None:
        self.used -= size

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        pass


def emulate(monkeypatch: pytest.MonkeyPatch) -> Pool:
    if shutil.which("g++") is None:
        pytest.skip("emulated kernels are compiled with g++")
    fake: Any = numpy_as_cupy.module()
    fake.ascontiguousarray = lambda values: numpy.ascontiguousarray(values).view(grid_kernels.Array)
    fake.zeros_like = lambda values: numpy.zeros_like(values)
    pool = Pool()
    # What was never written must not look like zero.
    fake.empty = lambda shape, dtype: pool.taken(shape, dtype, 0x5A)
    fake.zeros = lambda shape, dtype: pool.taken(shape, dtype, 0)
    fake.get_default_memory_pool = lambda: pool
    fake.cuda.runtime = SimpleNamespace(memGetInfo=lambda: (pool.limit - pool.used, pool.limit))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr("gravel.kernels.verify.cuda.launch.load", grid_kernels.load)
    return pool


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


def check_all(
    csr: Any, source: int, answers: Any, form: tuple[bool, bool] = (True, True), **options: Any
) -> list[list[Check]]:
    """Check all answers as searches from one source, and hold them against the CPU's verifier."""
    given = [
        numpy.stack([answer[which] for answer in answers]) if form[which] else None for which in range(2)
    ]
    graph = {name: options.pop(name) for name in ("max_depth", "is_sorted") if name in options}
    symmetric = options.pop("symmetric", True)
    place = options.pop("place", lambda array: array)
    device = [None if array is None else place(array) for array in given]
    arrays = tuple(map(place, csr))
    found = list(
        bfs.check_searches(
            *arrays, [source] * len(answers), *device, symmetric=symmetric, room=ROOM, **graph, **options
        )
    )
    for number, checks in enumerate(found):
        one = [None if array is None else array[number] for array in given]
        assert checks == check_bfs(*csr, source, *one, symmetric=symmetric, **graph), number
    return found


def refused(checks: list[Check]) -> bool:
    return any(not check.passed for check in checks)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("graph", [*ZOO, HUBS], ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph: ZooGraph, symmetric: bool) -> None:
    csr = csr_of(graph, symmetric=symmetric)
    for source in sorted({0, graph.vertex_count // 2}):
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


@pytest.mark.parametrize("shape", slow_among(SHAPES, {*SHAPES} - {(1, 32), (2, 64), (16, 128)}), ids=str)
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


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "uint16", "uint32"])
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


def check_each_arc(csr: Any, hub: int, places: Any) -> None:
    """Search from single neighbours of a vertex: its predecessor is then to be found at one arc alone."""
    sources = csr[1][csr[0][hub] :][list(places)].tolist()
    labels = [numpy.stack(each) for each in zip(*(search(csr, source) for source in sources), strict=True)]
    for form in FORMS:
        given = [each if has else None for each, has in zip(labels, form, strict=True)]
        found = list(bfs.check_searches(*csr, sources, *given, symmetric=True, room=ROOM))
        assert not any(map(refused, found))
        # An unreached neighbour, or one too far away, at this arc alone.
        for wrong in (-1, 3):
            broken = [each.copy() if has else None for each, has in zip(labels, form, strict=True)]
            if broken[0] is None:
                continue
            others = numpy.roll(sources, 1)
            broken[0][numpy.arange(len(sources)), others] = wrong
            for number, checks in enumerate(
                bfs.check_searches(*csr, sources, *broken, symmetric=True, room=ROOM)
            ):
                one = [None if each is None else each[number] for each in broken]
                assert checks == check_bfs(*csr, sources[number], *one, symmetric=True)
                assert refused(checks)


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
        (found,) = bfs.check_searches(*csr, [0], given, symmetric=True, room=ROOM)
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


def test_arrays_on_the_device_are_used_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    csr = csr_of(SKEWED, symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]

    def refuse(*_: object) -> None:
        raise AssertionError("copied from the host")

    monkeypatch.setattr("gravel.kernels.verify.cuda.upload._contiguous", refuse)
    for form in FORMS:
        check_all(csr, 3, answers, form, place=on_device)


class Stored:
    """An array that is read in slices alone, as stored ones are."""

    def __init__(self, array: Any) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, wanted: Any) -> Any:
        return self._array[wanted].copy()


def test_stored_arrays_are_read_in_slices() -> None:
    csr = csr_of(GRID, symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]
    for form in FORMS:
        check_all(csr, 3, answers, form, place=Stored)


def test_large_arrays_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[int] = []

    class Host:
        def register(self, address: int, size: int) -> None:
            pinned.append(size)

        def unregister(self, address: int) -> None:
            pinned.pop()

    monkeypatch.setattr("gravel.kernels.placement.pinned.CudaHost", Host)
    monkeypatch.setattr("gravel.kernels.verify.cuda.upload.DIRECT_BYTES", 64)
    monkeypatch.setattr("gravel.kernels.verify.cuda.upload.STAGE_BYTES", 1 << 10)
    emulated: Any = sys.modules["cupy"]

    class Device:
        def __init__(self, number: int = 3) -> None:
            self.id = number
            assert number == 3

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(emulated.cuda, "Device", Device)
    csr = csr_of(SKEWED, symmetric=True)
    answers = [labels for _, labels in damaged(csr, 3, seed=9)]
    for form in FORMS:
        check_all(csr, 3, answers, form, place=Stored, threads=3)
    assert not pinned


def test_what_does_not_fit_is_refused_with_the_numbers() -> None:
    csr = csr_of(GRID, symmetric=True)
    d, p = search(csr, 0)
    with pytest.raises(MemoryError, match=r"needs [\d,]+ bytes at best, and 1,000 are free"):
        list(bfs.check_searches(*csr, [0], d[None], p[None], symmetric=True, room=1000))


def test_what_does_not_belong_to_the_graph_is_refused() -> None:
    csr = csr_of(GRID, symmetric=True)
    d, p = search(csr, 0)
    for labels, reason in (
        ((None, None), "neither"),
        ((d[None, :7], None), "distance has shape"),
        ((None, p[None].astype(float)), "labels are integers"),
    ):
        with pytest.raises(ValueError, match=reason):
            list(bfs.check_searches(*csr, [0], *labels, symmetric=True, room=ROOM))
    with pytest.raises(ValueError, match="source 221 is not in the graph"):
        list(bfs.check_searches(*csr, [221], d[None], symmetric=True, room=ROOM))


def test_batches_are_as_large_as_what_is_free() -> None:
    graph = memory.GraphSize(1 << 20, 1 << 24, 4)
    labels = memory.LabelSize(64, 4, 4)
    room, words = 1 << 34, []
    while (batch := memory.plan_searches(graph, labels, True, room)) is not None:
        assert batch.device_bytes <= room
        words.append((batch.words, batch.arcs))
        room = batch.device_bytes - (1 if batch.arcs is None else 1 << 22)
    assert [each for each, arcs in words if arcs is None] == [16, 8, 4, 2, 1]
    assert words[5][1] is not None
    assert memory.plan_searches(memory.GraphSize(1 << 31, 1, 4), labels, True, 1 << 60) is None
    # Rows that are on the device already are not cut.
    resident = memory.GraphSize(1 << 20, 1 << 24, 4, resident=True)
    batch = memory.plan_searches(resident, labels, True, 1 << 34)
    assert batch is not None
    assert batch.device_bytes < (1 << 34)


@pytest.mark.parametrize("arcs", [None, 2700], ids=["whole", "in parts"])
@pytest.mark.parametrize("searches", [1, 64])
@pytest.mark.parametrize("form", FORMS, ids=["both", "distance", "predecessor"])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_the_memory_is_what_is_stated(
    pool: Pool, form: tuple[bool, bool], searches: int, arcs: int | None, symmetric: bool
) -> None:
    csr = csr_of(HUBS, symmetric=symmetric)
    d, p = search(csr, 0)
    labels = [numpy.stack([each] * searches) if has else None for each, has in zip((d, p), form, strict=True)]
    # What the names of offenders take belongs to it.
    for array, wrong in zip(labels, (2, 7), strict=True):
        if array is not None:
            array[-1, 7] = wrong
    graph = memory.GraphSize(len(d), len(csr[1]), 4)
    sizes = memory.LabelSize(searches, *(4 * has for has in form))
    planned = memory.plan_searches(graph, sizes, symmetric, ROOM)
    assert planned is not None
    stated = memory.search_bytes(graph, sizes, symmetric, planned.words)
    stated += memory.graph_bytes(graph, arcs) - memory.MARGIN
    batch = Batch(planned.words, arcs, 0)
    list(bfs.check_searches(*csr, [0] * searches, *labels, symmetric=symmetric, room=ROOM, batch=batch))
    # The counts of each search and what lists of rows and offenders take.
    assert pool.peak <= stated + 400 * searches + 40_000
    # A part has fewer rows than there is room for.
    assert stated <= (1.2 if arcs is None else 1.4) * pool.peak
    assert pool.used == 0
