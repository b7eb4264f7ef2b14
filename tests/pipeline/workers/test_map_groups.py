"""Items of `context.map` that a worker takes together: in order, side by side, each with its own answer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gravel.pipeline.workers.on_worker import in_groups, run_items
from gravel.pipeline.workers.parcels import pack


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(3, [[0, 1, 2], [3, 4, 5], [6]]), (1, [[i] for i in range(7)]), (9, [list(range(7))])],
)
def test_groups_are_full_but_the_last(size: int, wanted: list[list[int]]) -> None:
    assert list(in_groups(range(7), size)) == wanted


def test_groups_are_taken_as_they_are_asked_for() -> None:
    items = iter(range(7))
    assert next(in_groups(items, 3)) == [0, 1, 2]
    assert next(items) == 3


def test_items_of_a_group_run_side_by_side(tmp_path: Path) -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(item: int) -> int:
        barrier.wait()
        return item * item

    packed, _, peak = run_items(meet, pack([1, 2, 3], tmp_path), tmp_path)
    answers = packed.unpack()
    assert answers == [(True, 1), (True, 4), (True, 9)]
    assert peak >= 0


def test_an_item_that_fails_is_told_apart_from_the_others(tmp_path: Path) -> None:
    def check(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item

    packed, _, _ = run_items(check, pack([1, 2, 3], tmp_path), tmp_path)
    answers = packed.unpack()
    assert [done for done, _ in answers] == [True, False, True]
    assert isinstance(answers[1][1], ValueError)
    assert [value for done, value in answers if done] == [1, 3]
