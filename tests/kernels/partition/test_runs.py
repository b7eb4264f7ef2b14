"""Labels of ranks in the order of vertices: every vertex once, and every piece of an array by one rank."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition.runs import in_order_program, runs_of


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("vertices", [1, 5, 64, 1000, 4096])
@pytest.mark.parametrize("piece", [1, 16, 100])
def test_runs_cover_rows_and_no_piece_is_of_two_ranks(ranks: int, vertices: int, piece: int) -> None:
    owners: dict[int, int] = {}
    for row in range(5):
        covered = numpy.zeros(vertices, int)
        runs = runs_of(vertices, ranks, before=row * vertices, piece=piece)
        for rank, of_rank in enumerate(runs):
            for first, last in of_rank:
                covered[first:last] += 1
                for place in range(row * vertices + first, row * vertices + last):
                    assert owners.setdefault(place // piece, rank) == rank
        assert (covered == 1).all()


def test_long_rows_are_shared_evenly() -> None:
    runs = runs_of(100_000, 4, before=250_000, piece=100)
    sizes = [sum(last - first for first, last in of_rank) for of_rank in runs]
    assert max(sizes) - min(sizes) <= 200


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("vertices", [1, 5, 1000])
@pytest.mark.parametrize("step", [1, 16, 5000])
def test_values_come_in_the_order_of_vertices(ranks: int, vertices: int, step: int) -> None:
    whole = numpy.arange(vertices, dtype=numpy.int64) % 120
    found = numpy.full(vertices, -1, numpy.int8)

    def take(first: int, values: Any) -> None:
        assert len(values) <= step
        assert values.dtype == numpy.int8
        found[first : first + len(values)] = values

    runs = runs_of(vertices, ranks, before=0, piece=32)

    def program(end: Any) -> Any:
        own = whole[end.rank :: ranks].copy()
        return in_order_program(end, own, runs, take, dtype="int8", step=step)

    run_in_lock_step(program, ranks)
    assert numpy.array_equal(found, whole)
