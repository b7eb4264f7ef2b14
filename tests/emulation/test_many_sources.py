"""Searches from many sources at once, with CUDA kernels compiled for the CPU."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.buffers import exact
from gravel.kernels.distances import bit_parallel_cuda, independent_cuda, many
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.buffers import own_searches
from gravel.kernels.distances.eccentricity import GOALS, eccentricities
from gravel.kernels.distances.many import aggregate, aggregate_rows
from gravel.kernels.distances.outputs_cuda import Outputs
from tests.emulation.strict_cupy import encoded, held, on_device
from tests.kernels.distances.test_many import ascending, check, random_rows
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("on_cpu")


def found_there(rows, sources, **asked):
    return aggregate(*map(on_device, rows), sources, **asked)


@pytest.mark.parametrize(("batch", "share"), [(64, 0), (256, 0), (256, 16), (256, 1 << 60), (1024, 1 << 60)])
def test_a_bit_for_each_source(batch, share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    for seed, piece in enumerate([3, 256, 256, 3]):
        monkeypatch.setattr(bit_parallel_cuda, "PIECE", piece)
        rows = random_rows(seed)
        n = len(rows[0]) - 1
        sources = numpy.random.default_rng(seed).integers(0, n, batch - 7)
        asked = {"levels": seed % 3, "vertices": seed % 2 == 0, "max_depth": 3 if seed == 3 else None}
        found = found_there(rows, sources, symmetric=True, independent=False, batch=batch, **asked)
        check(found, rows, sources, **asked)


@pytest.mark.parametrize("batch", [2048, 4096])
def test_several_words_of_a_lane(batch):
    rows = random_rows(99, vertices=150)
    sources = numpy.random.default_rng(1).integers(0, 150, batch - 100)
    asked = {"levels": 2, "vertices": True}
    check(
        found_there(rows, sources, symmetric=True, independent=False, batch=batch, **asked),
        rows,
        sources,
        **asked,
    )


@pytest.mark.parametrize("share", [0, 1 << 60], ids=["push", "pull"])
def test_the_farthest_source_of_a_vertex_may_be_in_any_batch(share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    rows = random_rows(99, vertices=300)
    sources = numpy.random.default_rng(1).integers(0, 300, 500)
    found = found_there(rows, sources, symmetric=True, independent=False, batch=64, vertices=True)
    check(found, rows, sources, vertices=True)


def test_alternating_directions_leave_nothing_behind(monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PIECE", 5)

    class Alternating(int):
        """Says push and pull in turn."""

        calls = 0

        def __rmul__(self, arcs):
            Alternating.calls += 1
            return (1 << 60) if Alternating.calls % 2 else 0

    alternating = Alternating()
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", alternating)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", alternating)
    for seed in range(6):
        rows = random_rows(seed, vertices=300)
        sources = numpy.random.default_rng(seed).integers(0, 300, 200)
        found = found_there(rows, sources, symmetric=True, independent=False, batch=64)
        check(found, rows, sources)
    assert Alternating.calls > 20


@pytest.mark.parametrize(("batch", "share"), [(64, 0), (64, 1 << 60), (256, 16), (256, 1 << 60)])
def test_a_search_that_ends_early_leaves_nothing_behind(share, batch, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PIECE", 5)
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    rows = random_rows(99, vertices=300)
    searches = many.prepare(
        *map(on_device, rows), symmetric=True, sources=batch, batch=batch, independent=False
    )
    drawn = numpy.random.default_rng(2)
    kernels = dict(searches._kernels)
    for depth in (1, 2, None, 0, None):
        sources = drawn.integers(0, 300, batch)
        found = Aggregates.empty(batch)
        searches.run(sources, found, max_depth=depth)
        check(found, rows, sources, max_depth=depth)
        assert searches.link_bytes == 0
        if share > 16:  # what a piece of a long row gained is there, and not marked
            searches._kernels["commit_hubs"] = interrupted
            with pytest.raises(KeyboardInterrupt):
                searches.run(sources, Aggregates.empty(batch))
            searches._kernels.update(kernels)


def interrupted(*launched):
    raise KeyboardInterrupt


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_every_small_graph(independent, symmetric):
    for graph in zoo():
        if not 0 < graph.vertex_count < 500:
            continue
        for index in (numpy.uint32, numpy.uint64):
            rows = graph.csr(symmetric=symmetric, index=index)
            sources = numpy.random.default_rng(3).integers(0, graph.vertex_count, 70)
            asked = {"levels": 3, "vertices": True}
            found = found_there(rows, sources, symmetric=symmetric, independent=independent, **asked)
            check(found, rows, sources, **asked)


@pytest.mark.parametrize(("room", "shared"), [(1, True), (7, False), (4096, True)])
def test_frontiers_beyond_shared_memory(shared, room, monkeypatch):
    def plan(bits, item):
        return 2 * room * item + (bits if shared else 0), 64, room, shared

    monkeypatch.setattr(independent_cuda, "shared_plan", plan)
    for seed in range(4):
        rows = random_rows(seed, symmetric=seed % 2 == 0, vertices=300)
        sources = numpy.random.default_rng(seed).integers(0, 300, 40)
        asked = {"levels": seed, "vertices": seed < 2, "max_depth": 2 if seed == 3 else None}
        found = found_there(rows, sources, symmetric=seed % 2 == 0, independent=True, **asked)
        check(found, rows, sources, **asked)


@pytest.mark.parametrize(("share", "shared"), [(1, True), (3, False), (16, True), (1 << 20, False)])
def test_a_search_that_needs_a_longer_queue_runs_again(share, shared, monkeypatch):
    def plan(bits, item):
        return 2 * item + (bits if shared else 0), 64, 1, shared

    monkeypatch.setattr(independent_cuda, "shared_plan", plan)
    monkeypatch.setattr(independent_cuda, "QUEUE_SHARE", share)
    reruns: list[bool] = []
    search = independent_cuda.Independent._search

    def counted(self, sources, into, blocks, capacity):
        reruns.append(capacity > self._capacity)
        return search(self, sources, into, blocks, capacity)

    monkeypatch.setattr(independent_cuda.Independent, "_search", counted)
    for seed in range(4):
        rows = random_rows(seed, symmetric=seed % 2 == 0, vertices=300)
        sources = numpy.random.default_rng(seed).integers(0, 300, 40)
        asked = {"levels": seed, "max_depth": 2 if seed == 3 else None}
        found = found_there(rows, sources, symmetric=seed % 2 == 0, independent=True, **asked)
        check(found, rows, sources, **asked)
        before = sum(reruns)
        asked["vertices"] = True
        found = found_there(rows, sources, symmetric=seed % 2 == 0, independent=True, **asked)
        check(found, rows, sources, **asked)
        assert sum(reruns) == before
    assert any(reruns) == (share > 1)


@pytest.mark.parametrize(("share", "again"), [(3, False), (4, True)])
def test_two_frontiers_share_a_queue(share, again, monkeypatch):
    monkeypatch.setattr(independent_cuda, "shared_plan", lambda bits, item: (2 * item, 64, 1, False))
    monkeypatch.setattr(independent_cuda, "QUEUE_SHARE", share)
    counted: list[int] = []
    search = independent_cuda.Independent._search

    def noted(self, sources, into, blocks, capacity):
        counted.append(capacity)
        return search(self, sources, into, blocks, capacity)

    monkeypatch.setattr(independent_cuda.Independent, "_search", noted)
    # A hundred paths of six from one vertex: of two levels 99 vertices each are beyond the room.
    ends = numpy.arange(1, 601)
    before = numpy.maximum(0, ends - 100)
    source, target = numpy.append(ends, before), numpy.append(before, ends)
    order = numpy.lexsort((target, source))
    offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(source))]).astype(numpy.int64)
    rows = offsets, target[order].astype(numpy.uint32)
    found = found_there(rows, numpy.array([0]), symmetric=True, independent=True, levels=7)
    check(found, rows, numpy.array([0]), levels=7)
    assert counted == ([151, 601] if again else [201])


@pytest.mark.parametrize(
    ("layout", "shared"),
    [("csr", False), ("csr", True), ("varint", False), ("blocks", True), ("elias_fano", False)],
)
def test_rows_as_long_as_a_record_and_longer(layout, shared, monkeypatch):
    def plan(bits, item):
        return 2 * 16 * item + (bits if shared else 0), 64, 16, shared

    monkeypatch.setattr(independent_cuda, "shared_plan", plan)
    # Row v has v neighbours, itself among them in every second row; the last ones have none.
    degrees = numpy.concatenate([numpy.arange(80), numpy.zeros(30, int)])
    drawn = numpy.random.default_rng(5)
    rows = [numpy.sort(drawn.permutation(110)[:degree]) for degree in degrees]
    for v in range(2, 80, 2):
        rows[v][0] = v
        rows[v] = numpy.unique(rows[v])
    offsets = numpy.concatenate([[0], numpy.cumsum([len(row) for row in rows])]).astype(numpy.int64)
    columns = numpy.concatenate(rows).astype(numpy.uint32)
    there = encoded(layout, (offsets, columns))
    asked = {"levels": 3, "vertices": True}
    sources = numpy.arange(110)
    found = aggregate_rows(there, sources, symmetric=False, independent=True, **asked)
    check(found, (offsets, columns), sources, **asked)


def test_bits_are_in_shared_memory_where_they_fit(monkeypatch):
    monkeypatch.setattr(independent_cuda, "shared_bytes", lambda: 227 << 10)
    for vertices, block, there in ((1 << 10, 512, True), (1_524_453, 1024, True), (1 << 22, 512, False)):
        bits = 4 * -(-vertices // 32)
        shared, threads, room, in_shared = independent_cuda.shared_plan(bits, 4)
        assert (threads, in_shared) == (block, there)
        assert shared == 8 * room + (bits if there else 0) <= (227 << 10) - independent_cuda.STATIC_SHARED
        assert room >= independent_cuda.LEAST_ROOM
    whole = (227 << 10) - independent_cuda.STATIC_SHARED
    for item in (4, 8):
        least = 2 * item * independent_cuda.LEAST_ROOM
        shared, _, room, there = independent_cuda.shared_plan(whole - least, item)
        assert (shared, room, there) == (whole, independent_cuda.LEAST_ROOM, True)


def test_the_search_that_tells_deep_graphs_counts_for_no_vertex():
    rows = random_rows(2, vertices=300)
    sources = numpy.arange(70)
    check(found_there(rows, sources, symmetric=True, vertices=True), rows, sources, vertices=True)


def test_a_road_gets_blocks_of_its_own():
    side = 90
    ends = [(i, i + 1) for i in range(side * side) if (i + 1) % side]
    ends += [(i, i + side) for i in range(side * (side - 1))]
    both = numpy.concatenate([numpy.array(ends), numpy.array(ends)[:, ::-1]])
    both = both[numpy.lexsort((both[:, 1], both[:, 0]))]
    offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(both[:, 0], minlength=side * side))])
    rows = offsets.astype(numpy.int64), both[:, 1].astype(numpy.uint32)
    there = tuple(map(on_device, rows))
    assert many.prepare(*there, symmetric=True, sources=3).independent
    for sources, blocks in ((1, 1), (2, 2), (5, 2)):  # two run at the same time
        assert many.prepare(*there, symmetric=True, sources=sources, independent=True).blocks == blocks
    least = many.prepare(*there, symmetric=True, sources=1, independent=True).bytes
    for memory, blocks in ((2 * least, 2), (least, 1)):
        narrow = many.prepare(*there, symmetric=True, sources=3, memory=memory, independent=True)
        assert (narrow.blocks, narrow.bytes <= memory) == (blocks, True)
    with pytest.raises(ValueError, match=f"1 searches at once take {least:,} bytes"):
        many.prepare(*there, symmetric=True, sources=3, memory=least - 1, independent=True)
    small = tuple(map(on_device, random_rows(5, vertices=400)))
    assert not many.prepare(*small, symmetric=True, sources=3).independent
    sources = numpy.array([0, 4000, 8099])
    check(found_there(rows, sources, symmetric=True, independent=True), rows, sources)


def test_memory_narrows_a_batch():
    rows = tuple(map(on_device, random_rows(7, vertices=1000)))
    wide = many.prepare(*rows, symmetric=True, sources=10_000, independent=False)
    assert wide.batch == 1024
    # Marks of parts, words of live sources and what a level counts are a few bytes more.
    for levels, vertices in ((0, False), (3, True)):
        each = many.prepare(
            *rows, symmetric=True, sources=700, independent=False, levels=levels, vertices=vertices
        )
        taken = held(each, *rows) + held(each._pieces) + held(each._outputs)
        assert each.bytes <= taken <= each.bytes + 4 * each.words + 100
    less = many.prepare(*rows, symmetric=True, sources=10_000, memory=wide.bytes - 1, independent=False)
    assert less.batch == 256
    with pytest.raises(ValueError, match=r"64 searches at once take [0-9,]+ bytes beside the graph"):
        many.prepare(*rows, symmetric=True, sources=10_000, memory=1000, independent=False)


@pytest.mark.parametrize("seed", [1, 5, 8])
def test_eccentricities(seed):
    rows = ascending(random_rows(seed, vertices=120))
    for goal in GOALS:
        expected = eccentricities(*rows, goal, in_parts=True)
        found = eccentricities(*map(on_device, rows), goal, in_parts=True)
        if goal in ("all", "diameter", "periphery"):
            assert found.max() == expected.max()
        else:
            assert found.min() == expected.min()
        if goal == "all":
            numpy.testing.assert_array_equal(found.get(), expected)
    assert eccentricities(*map(on_device, rows)) is None


@pytest.mark.parametrize("arcs", [63, 64, 65, 200])
def test_rows_that_a_lane_reads_alone_or_with_its_warp(arcs):
    columns = numpy.concatenate([numpy.arange(1, arcs + 1), numpy.zeros(arcs, int)]).astype(numpy.uint32)
    offsets = numpy.concatenate([[0], arcs + numpy.arange(arcs + 1)]).astype(numpy.int64)
    sources = numpy.array([0, 1, arcs])
    found = found_there((offsets, columns), sources, symmetric=True, independent=True, vertices=True)
    check(found, (offsets, columns), sources, vertices=True)


@pytest.mark.parametrize(("piece", "share"), [(256, 0), (1 << 20, 0), (256, 1 << 60)])
def test_a_lane_counts_more_rows_than_its_counters_hold(piece, share, monkeypatch):
    monkeypatch.setattr(bit_parallel_cuda, "PIECE", piece)
    monkeypatch.setattr(bit_parallel_cuda, "PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "GROWING_PUSH_SHARE", share)
    monkeypatch.setattr(bit_parallel_cuda, "FEW_BLOCKS", 1)
    leaves = 9000
    columns = numpy.concatenate([numpy.arange(1, leaves + 1), numpy.zeros(leaves, int)]).astype(numpy.uint32)
    offsets = numpy.concatenate([[0], leaves + numpy.arange(leaves + 1)]).astype(numpy.int64)
    sources = numpy.concatenate([numpy.arange(40), numpy.arange(leaves - 20, leaves + 1)])
    found = found_there(
        (offsets, columns), sources, symmetric=True, independent=False, batch=64, vertices=True
    )
    check(found, (offsets, columns), sources, vertices=True)


@pytest.mark.parametrize("shared", [False, True], ids=["bits in device memory", "in shared memory"])
def test_bytes_of_searches_of_their_own(shared, monkeypatch):
    def plan(bits, item):
        return 2 * 16 * item + (bits if shared else 0), 64, 16, shared

    monkeypatch.setattr(independent_cuda, "shared_plan", plan)
    rows = tuple(map(on_device, random_rows(3, vertices=1000)))
    for sources in (1, 2):
        searches = many.prepare(*rows, symmetric=True, sources=sources, independent=True)
        stated = exact(own_searches(1000, 4, sources, bits=not shared))
        stated += Outputs.bytes(independent_cuda.ROUNDS * sources, 0, None)
        assert searches.blocks == sources
        assert searches.bytes == stated
        arrays = (searches._records, searches._queues, searches._visited)
        outputs = Outputs.bytes(independent_cuda.ROUNDS * sources, 0, None)
        assert sum(each.nbytes for each in arrays) == stated - outputs
