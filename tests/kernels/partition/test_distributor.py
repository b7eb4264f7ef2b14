"""The distributor fed by generators: bit by bit what the whole graph's partition is, in bounded memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy
import pytest

from gravel.kernels import csr
from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.generate import generate, size
from gravel.kernels.generate.slices import parts_of, slice_of
from gravel.kernels.partition import (
    PartitionedGraph,
    choose_threshold,
    partition,
    storage_of,
    take_census,
)
from gravel.kernels.partition.distributor.cpu import RankBuilder
from gravel.kernels.partition.distributor.program import EdgeSource, RankShare, distribute_program
from gravel.kernels.partition.layout import to_arrays
from gravel.kernels.partition.storage import storage
from tests.kernels.conformance import fetch

RMAT = {"edge_factor": 8, "seed": 5}
SOURCES = [
    EdgeSource("rmat", {"scale": 9, **RMAT}),
    EdgeSource("uniform", {"vertices": 300, "edges": 2000, "seed": 2}),
    EdgeSource("star", {"vertices": 130}),
    EdgeSource("grid", {"dims": [9, 7]}),
]


def whole_rows(source: EdgeSource) -> csr.Rows:
    edges = generate(source.name, **source.arguments)
    return csr.build(*edges, source.vertices)


def spread(
    source: EdgeSource, ranks: int, threshold: Any, part_edges: int = 1000, **made: Any
) -> list[RankShare]:
    """Let each rank make its share, by the builder of the CPU unless another is given."""
    builder = made.pop("builder", RankBuilder)
    return run_in_lock_step(
        lambda end: distribute_program(
            end, builder(source, ranks, end.rank, **made), threshold=threshold, part_edges=part_edges
        ),
        ranks,
    )


def assert_same(shares: list[RankShare], whole: PartitionedGraph) -> None:
    assert [share.part.rank for share in shares] == list(range(whole.ranks))
    for share, part in zip(shares, whole.parts, strict=True):
        assert numpy.array_equal(fetch(share.delegates), whole.delegates)
        assert share.delegates.dtype == whole.delegates.dtype
        assert (share.vertex_count, share.arc_count) == (whole.vertex_count, whole.arc_count)
        found, expected = to_arrays(share.part), to_arrays(part)
        for name, array in expected.items():
            assert numpy.array_equal(fetch(found[name]), array), name
            assert found[name].dtype == array.dtype, name


def check_census(source: EdgeSource, ranks: int, **made: Any) -> None:
    rows = whole_rows(source)
    expected = take_census(rows.row_offsets, rows.column_indices)
    for share in spread(source, ranks, lambda census: choose_threshold(census, ranks), **made):
        assert share.census is not None
        assert numpy.array_equal(share.census.of_degree, expected.of_degree)
        assert share.census.curve() == expected.curve()
        assert share.threshold == choose_threshold(expected, ranks)


@pytest.mark.parametrize("edges", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("ranks", [1, 3, 7])
def test_every_edge_is_in_one_part_of_one_rank(edges: int, ranks: int) -> None:
    seen: list[int] = []
    rounds = set()
    for rank in range(ranks):
        parts = parts_of(edges, ranks, rank, 9)
        first, last = slice_of(edges, ranks, rank)
        assert sum(count for _, count in parts) == last - first
        assert all(0 <= count <= 9 for _, count in parts)
        rounds.add(len(parts))
        seen += [edge for low, count in parts for edge in range(low, low + count)]
    assert seen == list(range(edges))
    assert len(rounds) == 1
    with pytest.raises(ValueError, match="holds none"):
        parts_of(edges, ranks, 0, 0)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_ranks_make_what_the_whole_graph_is_split_into(source: EdgeSource, ranks: int) -> None:
    rows = whole_rows(source)
    for threshold in (0, 3, 16, 10**6):
        shares = spread(source, ranks, threshold)
        whole = partition(rows.row_offsets, rows.column_indices, ranks=ranks, threshold=threshold)
        assert_same(shares, whole)
        told = storage_of(
            shares[0].sizes, vertex_count=source.vertices, delegate_count=len(shares[0].delegates)
        )
        assert told == storage(whole)


@pytest.mark.parametrize("scale", [1, 4, 7, 11])
def test_scales_and_parts_change_nothing(scale: int) -> None:
    source = EdgeSource("rmat", {"scale": scale, **RMAT})
    rows = whole_rows(source)
    whole = partition(rows.row_offsets, rows.column_indices, ranks=3, threshold=8)
    for part_edges in (97, 1 << 20):
        assert_same(spread(source, 3, 8, part_edges), whole)


def test_the_threshold_is_chosen_from_the_same_census() -> None:
    check_census(SOURCES[0], 4)


def test_a_graph_without_edges() -> None:
    for vertices in (0, 5):
        shares = spread(EdgeSource("empty", {"vertices": vertices}), 3, 4)
        assert [share.arc_count for share in shares] == [0, 0, 0]


def test_a_rank_never_makes_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCES[0]
    made: list[tuple[int, int]] = []

    def make(self: EdgeSource, first: int, count: int, backend: str = "cpu") -> Any:
        made.append((first, count))
        return generate(self.name, first=first, count=count, **self.arguments)

    monkeypatch.setattr(EdgeSource, "make", make)
    spread(source, 4, 8, part_edges=300)
    total = size(source.name, **source.arguments).edges
    assert max(count for _, count in made) <= 300
    # Once to count, and once to place.
    assert sum(count for _, count in made) == 2 * total


class Metered:
    """A rank's program, and its peak: what a step of it allocates, and its share of what all ranks hold.

    Ranks are alike and take turns, so that each holds about as much as any other when a step begins.
    """

    def __init__(self, program: Any, ranks: int) -> None:
        self._program, self._ranks = program, ranks
        self.peak = 0

    def run(self) -> Any:
        answer = None
        while True:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            try:
                ticket = self._program.send(answer)
            except StopIteration as ended:
                return ended.value
            finally:
                grown = tracemalloc.get_traced_memory()[1] - before
                self.peak = max(self.peak, before // self._ranks + grown)
            answer = yield ticket


def test_no_rank_takes_what_the_edges_take() -> None:
    ranks, source = 7, EdgeSource("rmat", {"scale": 14, "edge_factor": 128, "seed": 5})
    spread(source, 2, 8, part_edges=1 << 20)  # what compiles is not counted
    meters: list[Metered] = []

    def start(end: Any) -> Any:
        builder = RankBuilder(source, ranks, end.rank)
        program = distribute_program(end, builder, threshold=64, part_edges=1 << 13)
        meters.append(Metered(program, ranks))
        return meters[-1].run()

    tracemalloc.start()
    shares = run_in_lock_step(start, ranks)
    tracemalloc.stop()
    kept = [sum(array.nbytes for array in to_arrays(share.part).values()) for share in shares]
    # Sources and targets at 4 bytes each.
    edge_list = 8 * source.edges
    for meter, own in zip(meters, kept, strict=True):
        # What it keeps is a seventh of the rows; a smaller peak would say that nothing was measured.
        assert own < meter.peak < edge_list / 2


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [1, 2, 4, 7])
def test_ranks_on_a_gpu_make_what_those_on_the_cpu_do(ranks: int) -> None:
    from gravel.kernels.partition.distributor import cuda

    for source in (*SOURCES, EdgeSource("rmat", {"scale": 15, **RMAT})):
        rows = whole_rows(source)
        for threshold, part_edges, sizes in ((0, 1 << 20, {}), (16, 3000, {"sort_arcs": 5000, "block": 128})):
            whole = partition(rows.row_offsets, rows.column_indices, ranks=ranks, threshold=threshold)
            shares = spread(source, ranks, threshold, part_edges, builder=cuda.RankBuilder, **sizes)
            assert_same(shares, whole)
    check_census(EdgeSource("rmat", {"scale": 14, **RMAT}), 3, part_edges=1 << 20, builder=cuda.RankBuilder)
