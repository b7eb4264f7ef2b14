"""Components over ranks equal one rank's: every rank count, any order of messages, threads as ranks, GPUs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition import PartitionedGraph, components_of_rank, partition
from gravel.kernels.partition.components import ComponentsRank, components, components_program
from gravel.stages.rank_group import run_in_threads
from tests.kernels.cuda_case import ZOO, fast_csr, names, rmat
from tests.kernels.disorder import DisorderedNetwork
from tests.zoo import scipy_components, zoo

BY_NAME = {graph.name: graph for graph in zoo()}
RANKS = (1, 2, 3, 4, 7)


def states(whole: PartitionedGraph, symmetric: bool, messages: int = 0) -> list[ComponentsRank]:
    return [
        ComponentsRank(whole.of_rank(rank), symmetric=symmetric, messages=messages)
        for rank in range(whole.ranks)
    ]


def shuffled_path(n: int) -> tuple[Any, Any]:
    """A path whose vertices are numbered at random, so that labels have far to go."""
    order = numpy.random.default_rng(3).permutation(n)
    pairs = numpy.stack((order[:-1], order[1:]))
    tails, heads = numpy.concatenate((pairs, pairs[::-1]), axis=1)
    rows = numpy.lexsort((heads, tails))
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(tails, minlength=n), out=offsets[1:])
    return offsets, heads[rows].astype(numpy.uint32)


@pytest.mark.parametrize(
    "name", ["skewed_random", "hub_and_chain", "tail_on_clique", "grid_13x17", "cycle_64"]
)
def test_messages_may_overtake_each_other(name: str) -> None:
    cases = itertools.product((True, False), RANKS, (0, 6, 10**6))
    for seed, (symmetric, ranks, threshold) in enumerate(cases):
        offsets, columns = BY_NAME[name].csr(symmetric=symmetric)
        wanted = scipy_components(offsets, columns)
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        way = (seed + seed // 3) % 3  # each meets each threshold
        ready = states(whole, symmetric, (0, 1, 5)[way])
        network = DisorderedNetwork(ranks, seed, hold=0.3 * way)
        found = network.run(lambda end, ready=ready: components_program(end, ready[end.rank]))
        for rank, mine in enumerate(found):
            assert numpy.array_equal(mine.component, wanted[rank::ranks])
            assert mine.component.dtype == columns.dtype
        assert len({mine.rounds for mine in found}) == 1


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_that_are_threads_find_the_same(ranks: int) -> None:
    offsets, columns = shuffled_path(2000)
    whole = partition(offsets, columns, ranks=ranks, threshold=4)
    ready = states(whole, True)
    found = run_in_threads(lambda group, rank: components_of_rank(group, ready[rank]), list(range(ranks)))
    for mine in found:
        assert not mine.component.any()
        # Labels are replaced by labels' labels: rounds grow with the logarithm of the path.
        assert mine.rounds <= 20
        assert (mine.rounds >= 3) == (ranks > 1)
        assert mine.delegate_bytes == 0
        assert (mine.vertex_bytes > 0) == (ranks > 1)
    assert len({mine.rounds for mine in found}) == 1


def test_arcs_of_the_largest_component_are_not_sent() -> None:
    offsets, columns = fast_csr(rmat(12), symmetric=True)
    whole = partition(offsets, columns, ranks=4, threshold=10**6)
    ready = states(whole, True)
    found = run_in_lock_step(lambda end: components_program(end, ready[end.rank]), 4)
    assert sum(mine.vertex_bytes for mine in found) < len(columns)


def test_no_rank_has_more_under_way_than_is_stated() -> None:
    """All unions of a star lead to one vertex, and so to one rank."""
    offsets, columns = BY_NAME["star_last_hub"].csr()
    whole = partition(offsets, columns, ranks=3, threshold=10**6)
    ready, came = states(whole, True, 4), []
    for state in ready:
        unite = state.unite
        state.unite = lambda pairs, unite=unite: came.append(len(pairs.places)) or unite(pairs)
    found = run_in_lock_step(lambda end: components_program(end, ready[end.rank]), 3)
    assert not any(mine.component.any() for mine in found)
    assert 0 < max(came) <= 4


def test_no_vertex_at_all() -> None:
    offsets, columns = numpy.zeros(1, numpy.int64), numpy.empty(0, numpy.uint32)
    for ranks in (1, 3):
        found = components(partition(offsets, columns, ranks=ranks, threshold=3), symmetric=True)
        assert len(found.component) == 0


def found_by(whole: Any, **choices: Any) -> Any:
    from gravel.kernels.partition.cuda.components import CudaComponents

    return CudaComponents(whole, time_limit=5.0, **choices)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_ranks_of_one_gpu_find_what_scipy_does(graph: Any) -> None:
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        wanted = scipy_components(offsets, columns)
        for ranks, threshold in itertools.product((1, 2, 3, 4, 7), (0, 3, 10**6)):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            assert numpy.array_equal(found_by(whole, symmetric=symmetric).run().component.get(), wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_large_graphs_again_and_again(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = fast_csr(rmat(16), symmetric=True, index=index)
    wanted = scipy_components(offsets, columns)
    for wide, ranks, threshold in ((1 << 32, 1, 64), (1 << 32, 4, 64), (1, 3, 0), (1, 2, 10**6)):
        monkeypatch.setattr("gravel.kernels.partition.cuda.components.WIDE", wide)
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        assert numpy.array_equal(components(whole, symmetric=True).component, wanted)
        for symmetric in (True, False):
            search = found_by(whole, symmetric=symmetric)
            for _ in range(5):
                assert numpy.array_equal(search.run().component.get(), wanted)
            assert search.rounds_run[0].rounds <= 8


@pytest.mark.gpu
def test_long_paths_take_few_rounds() -> None:
    whole = partition(*shuffled_path(1 << 18), ranks=4, threshold=4)
    search = found_by(whole, symmetric=True)
    assert not search.run().component.any()
    assert search.rounds_run[0].rounds <= 30


@pytest.mark.gpu
def test_all_devices_of_this_host() -> None:
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip("one GPU")
    offsets, columns = fast_csr(rmat(16), symmetric=True)
    whole = partition(offsets, columns, ranks=2 * count, threshold=64)
    search = found_by(whole, symmetric=True, devices=range(count))
    for _ in range(5):
        assert numpy.array_equal(search.run().component.get(), scipy_components(offsets, columns))
