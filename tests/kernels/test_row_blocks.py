"""Ranges of rows cover every row once, balance work, and run in order of their results."""

from __future__ import annotations

import itertools
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.row_blocks import LEAST_WORK, even_blocks, row_blocks, run_blocks
from gravel.kernels.threads import thread_count


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0, 1, 5, 300, LEAST_WORK, 5 * LEAST_WORK]), max_size=60), st.integers(0, 9))
def test_blocks_cover_every_row_once(degrees: list[int], base: int) -> None:
    offsets = base + numpy.cumsum([0, *degrees])
    blocks = row_blocks(offsets)
    assert [row for first, last in blocks for row in range(first, last)] == list(range(len(degrees)))
    assert all(first < last for first, last in blocks)


@pytest.mark.parametrize("rows", [0, 1, 1000, 10**6])
def test_even_blocks_cover_every_row_once(rows: int) -> None:
    blocks = even_blocks(rows)
    assert sum(last - first for first, last in blocks) == rows
    assert all(a[1] == b[0] for a, b in itertools.pairwise(blocks))


def test_work_is_balanced() -> None:
    random = numpy.random.default_rng(0)
    offsets = numpy.concatenate(([0], numpy.cumsum(random.integers(0, 100, 200_000))))
    blocks = row_blocks(offsets)
    work = [last - first + offsets[last] - offsets[first] for first, last in blocks]
    assert len(blocks) == thread_count() * 8
    assert max(work) < 1.01 * sum(work) / len(work) + 101


def test_results_keep_the_order_and_failures_are_raised() -> None:
    threads = set()

    def double(first: int, last: int) -> int:
        threads.add(threading.get_ident())
        return 2 * first + last

    blocks = [(i, i + 1) for i in range(100)]
    assert run_blocks(double, blocks) == [3 * i + 1 for i in range(100)]
    assert len(threads) <= thread_count()
    with pytest.raises(ZeroDivisionError):
        run_blocks(lambda first, _: 1 // first, blocks)
