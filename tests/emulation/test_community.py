"""Community orders whose graphs stay on the host, on CPU threads: the numbers that the CPU finds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy
import pytest

from gravel.kernels.buffers import exact
from gravel.kernels.csr import Rows
from gravel.kernels.order.buffers import range_of_clusters
from gravel.kernels.order.community import community
from gravel.kernels.order.community import within as on_cpu_within
from gravel.kernels.order.community_ranges_cuda import cut_ranges
from gravel.kernels.order.community_tree import aggregate, contracted
from tests.emulation import strict_cupy
from tests.kernels.order.test_community import planted, with_hub
from tests.parameters import slow_among


class Pinned:
    """Pinned memory whose sizes in bytes are noted."""

    sizes: ClassVar[list[int]] = []

    def __init__(self, array: Any) -> None:
        self.array = array
        Pinned.sizes.append(array.nbytes)

    def view(self) -> Any:
        # As on a GPU, the memory itself and no copy of it.
        return strict_cupy.Array(self.array)


def sorted_rows(keys: Any, rows: int, bits: int, dtype: Any, *, keep_duplicates: bool) -> Rows:
    """What `gravel.kernels.csr.cuda` does, whose kernels want blocks of their own size."""
    assert not keep_duplicates
    distinct = numpy.unique(numpy.asarray(keys))
    offsets = numpy.searchsorted(distinct >> numpy.uint64(bits), numpy.arange(rows + 1, dtype=numpy.uint64))
    columns = distinct & numpy.uint64((1 << bits) - 1)
    return Rows(strict_cupy.on_device(offsets), strict_cupy.on_device(columns.astype(dtype)), 0)


@pytest.fixture(autouse=True)
def emulated(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.order.clusters_cuda.sorted_rows", sorted_rows)
    monkeypatch.setattr("gravel.kernels.order.community_ranges_cuda.pin", Pinned)
    Pinned.sizes.clear()


def on_device(graph: Any) -> tuple[Any, Any]:
    return strict_cupy.on_device(graph[0]), strict_cupy.on_device(graph[1])


GRAPHS = {"planted": lambda: planted(60, 30, 200, 400)[:2], "hub": lambda: with_hub(9)}
ROOMS = {"ranges": 40_000, "long_rows": 4_000, "whole": 1 << 30}


@pytest.mark.parametrize("room", slow_among(ROOMS, {"whole"}))
@pytest.mark.parametrize("name", GRAPHS)
def test_trees_of_merges_are_the_same(name: str, room: str) -> None:
    from gravel.kernels.order import community_tree_cuda

    graph = GRAPHS[name]()
    given = on_device(graph)
    found = community_tree_cuda.aggregate(*given, long_row=100, room=ROOMS[room])
    expected = aggregate(*graph)
    assert len(found) == len(expected) > 1
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(one, other)
    assert (Pinned.sizes != []) == (room != "whole")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_the_graph_of_clusters_is_built_in_ranges(weighted: bool, index: Any) -> None:
    from gravel.kernels.order import community_ranges_cuda
    from gravel.kernels.order.clusters_cuda import ClusterKernels

    offsets, columns = with_hub(9)
    columns = columns.astype(index)
    random = numpy.random.default_rng(3)
    clusters = 150
    cluster = random.integers(0, clusters, len(offsets) - 1).astype(index)
    cluster[:clusters] = numpy.arange(clusters)
    cluster[-1] = clusters - 1
    weights = random.integers(1, 9, len(columns)).astype(numpy.uint32)
    kernels = ClusterKernels(index)
    expected = numpy.zeros((clusters, clusters), numpy.int64)
    given = offsets, columns, weights if weighted else weights[:0]
    bounds, ends, sums = contracted(given, cluster, clusters)
    expected[numpy.repeat(numpy.arange(clusters), numpy.diff(bounds)), ends.astype(int)] = sums
    device = strict_cupy.on_device
    for room in (3_000, 20_000, 1 << 24):
        graph = device(offsets), device(columns), device(weights) if weighted else None
        made = community_ranges_cuda.contracted(kernels, graph, device(cluster), clusters, room)
        found = numpy.zeros_like(expected)
        row = numpy.repeat(numpy.arange(clusters), numpy.diff(made[0]))
        assert len(set(zip(row.tolist(), made[1].tolist(), strict=True))) == len(row)
        found[row, made[1].astype(int)] = made[2]
        numpy.testing.assert_array_equal(found, expected)
        assert (made[1].dtype, made[2].dtype) == (index, numpy.uint32)


def test_ranges_fit_their_room_and_hold_every_member_once() -> None:
    random = numpy.random.default_rng(1)
    sizes, lengths = random.integers(1, 9, 500), random.integers(0, 400, 500)
    lengths[77] = 100_000
    room = 200_000
    cuts = list(cut_ranges(sizes, lengths, room, "u4", "u4"))
    assert [first for first, *_ in cuts] == [0, *(last for _, last, *_ in cuts[:-1])]
    assert cuts[-1][1] == 500
    for first, last, begin, end, long in cuts:
        assert end - begin == sizes[first:last].sum()
        counts = int(lengths[first:last].sum()), int(sizes[first:last].sum())
        taken = exact(range_of_clusters(*counts, "u4", "u4"))
        assert long == (taken > room)
        assert not long or (first, last) == (77, 78)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hub", "planted"])
def test_the_order_is_the_same(name: str) -> None:
    from gravel.kernels.order import community_cuda

    graph = GRAPHS[name]()
    # The graph of the first clusters is on the host in both, the copy that is refined where it does not fit.
    for room, pinned in ((40_000, True), (3 * graph[1].nbytes, False)):
        Pinned.sizes.clear()
        found = community_cuda.community(*on_device(graph), room=room)
        numpy.testing.assert_array_equal(found, community(*graph))
        assert (graph[1].nbytes in Pinned.sizes) == pinned


@pytest.mark.parametrize("room", [1000, 1 << 30])
def test_arcs_within_communities_may_be_on_the_host(room: int) -> None:
    from gravel.kernels.order.community_tree_cuda import within

    offsets, columns, group = planted(60, 30, 200, 400)
    cluster = group.astype(numpy.uint32)
    found = within(*on_device((offsets, columns)), strict_cupy.on_device(cluster), room=room)
    for one, other in zip(found, on_cpu_within(offsets, columns, cluster), strict=True):
        numpy.testing.assert_array_equal(one, other)
    assert (Pinned.sizes != []) == (room == 1000)


def test_columns_of_another_type_are_refused() -> None:
    from gravel.kernels.order import community_cuda

    offsets, columns = with_hub(9)
    with pytest.raises(ValueError, match="columns in host memory are uint64; uint32 was expected"):
        community_cuda.community(*on_device((offsets, columns.astype(numpy.uint64))), room=1000)
