"""PageRank over ranks equals that of one place: every rank count, any order of messages, threads as ranks."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.pagerank import PageRank, pagerank
from gravel.kernels.partition import partition
from gravel.kernels.partition.pagerank import ScoresRank, Surfer, joined, scores_of_rank, scores_program
from gravel.stages.rank_group import run_in_threads
from tests.kernels.disorder import DisorderedNetwork
from tests.zoo import zoo

BY_NAME = {graph.name: graph for graph in zoo()}
RANKS = (1, 2, 3, 4, 7)


def in_one_place(offsets: Any, columns: Any, bound: float, chosen: Any) -> PageRank:
    n = len(offsets) - 1
    rows = columns_as_rows(*reversed_rows(offsets, columns, None)[:2])
    jumps = None if chosen is None else numpy.isin(numpy.arange(n), chosen).astype(numpy.float64)
    degrees = numpy.diff(offsets.astype(numpy.int64)).astype(numpy.float64)
    return pagerank(rows, degrees, tolerance=bound / n, max_iterations=500, personalization=jumps)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("name", ["skewed_random", "hub_and_chain", "path_33"])
def test_scores_and_iterations_are_those_of_one_place(name: str, symmetric: bool) -> None:
    offsets, columns = BY_NAME[name].csr(symmetric=symmetric)
    n = len(offsets) - 1
    for chosen in (None, numpy.array([0, n // 2])):
        expected = in_one_place(offsets, columns, 1e-9, chosen)
        for ranks in RANKS:
            whole = partition(offsets, columns, ranks=ranks, threshold=6)
            surfer = Surfer(0.85, 1e-9, chosen)
            states = [ScoresRank(whole.of_rank(rank), surfer) for rank in range(ranks)]
            run_in_lock_step(lambda end, states=states: scores_program(end, states[end.rank], 500), ranks)
            found = joined([state.all_scores() for state in states])
            numpy.testing.assert_allclose(found, expected.rank, atol=1e-14)
            assert {state.done for state in states} == {expected.iterations}
            numpy.testing.assert_allclose([s.residual for s in states], expected.residual, rtol=1e-4)


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_no_order_of_messages_changes_a_bit(ranks: int) -> None:
    offsets, columns = BY_NAME["skewed_random"].csr(symmetric=False)
    whole = partition(offsets, columns, ranks=ranks, threshold=6)

    def states() -> list[ScoresRank]:
        return [ScoresRank(whole.of_rank(rank), Surfer(0.85, 0.0)) for rank in range(ranks)]

    first = states()
    for until in (3, 8):  # in two calls
        run_in_threads(
            lambda group, rank, until=until: scores_of_rank(group, first[rank], until), list(range(ranks))
        )
    for seed in range(3):
        other = states()
        network = DisorderedNetwork(ranks, seed, hold=0.3 * seed)
        network.run(lambda end, other=other: scores_program(end, other[end.rank], 8))
        for one, two in zip(first, other, strict=True):
            assert one.done == two.done == 8
            assert one.residual == two.residual
            assert numpy.array_equal(one.all_scores(), two.all_scores())


def test_a_graph_without_arcs() -> None:
    whole = partition(numpy.zeros(6, numpy.int64), numpy.zeros(0, numpy.uint32), ranks=2, threshold=4)
    states = [ScoresRank(whole.of_rank(rank), Surfer(0.85, 1e-9)) for rank in range(2)]
    run_in_lock_step(lambda end: scores_program(end, states[end.rank], 9), 2)
    assert joined([state.all_scores() for state in states]).tolist() == pytest.approx([0.2] * 5)
    assert states[0].done == 1
