"""Items of `context.map` on threads of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from gravel.pipeline.workers.map_threads import AHEAD, map_in_threads


def where(item: int) -> tuple[int, str]:
    time.sleep(0.01 * (item % 3))
    return item, threading.current_thread().name


def test_several_go_to_threads_and_come_in_order() -> None:
    found = list(map_in_threads(where, range(9), 3))
    assert [item for item, _ in found] == list(range(9))
    assert all(name.startswith("gravel-map") for _, name in found)


@pytest.mark.parametrize(("items", "threads"), [(0, 4), (1, 4), (5, 1)])
def test_what_threads_are_of_no_use_to_is_done_here(items: int, threads: int) -> None:
    name = threading.current_thread().name
    assert list(map_in_threads(where, range(items), threads)) == [(item, name) for item in range(items)]


def test_no_more_are_taken_than_are_worked_on_soon() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    results = map_in_threads(where, items(), 2)
    next(results)
    assert len(taken) <= 2 * AHEAD + 1
    results.close()  # type: ignore[attr-defined]


def test_an_error_of_an_item_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda item: 1 // item, range(4), 2))
