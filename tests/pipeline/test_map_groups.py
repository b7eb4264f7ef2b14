"""Items of `context.map` that a worker takes together: in order, side by side, each with its own answer."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.partition.census import capped
from gravel.pipeline.workers import on_worker
from gravel.pipeline.workers.on_worker import in_groups, run_items, sent_bytes


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


@pytest.mark.parametrize(
    ("size", "hosts", "function", "stays"),
    [
        (1 << 17, ("a", "a"), capped, True),
        (1 << 16, ("a", "a"), capped, False),
        (1 << 17, ("a", "b"), capped, False),
        (1 << 17, ("a", "a"), numpy.sum, False),
        (1, ("a",), capped, True),
    ],
)
def test_large_items_stay_on_their_host(
    monkeypatch: pytest.MonkeyPatch, size: int, hosts: tuple[str, ...], function: Any, stays: bool
) -> None:
    sent: list[Any] = []

    class Client:
        def scheduler_info(self) -> Any:
            return {"workers": {str(place): {"host": host} for place, host in enumerate(hosts)}}

        def submit(self, run: Any, function: Any, group: Any, **_: Any) -> Any:
            sent.extend(group)
            return SimpleNamespace(result=lambda: run(function, group))

    monkeypatch.setattr("distributed.get_client", Client)
    services = on_worker.DaskServices.__new__(on_worker.DaskServices)
    services._task = SimpleNamespace(machine=SimpleNamespace(threads=2), run="run", key="key")  # type: ignore[assignment]
    services._peaks = {}
    items = [numpy.arange(size) + place for place in range(3)]
    answers = list(services.map(function, iter(items)))
    assert all(numpy.array_equal(mine, function(item)) for mine, item in zip(answers, items, strict=True))
    assert len(sent) == (0 if stays else 3)


def test_what_is_sent_with_an_item_is_its_arrays() -> None:
    numbers = numpy.arange(1000)
    assert sent_bytes((numbers, {"more": numbers[:500]})) == 12000
    assert sent_bytes("text") == sent_bytes(lambda: None) == 0


def test_items_of_a_group_run_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(item: int) -> int:
        barrier.wait()
        return item * item

    answers, _, peak = run_items(meet, [1, 2, 3])
    assert answers == [(True, 1), (True, 4), (True, 9)]
    assert peak >= 0


def test_an_item_that_fails_is_told_apart_from_the_others() -> None:
    def check(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item

    answers, _, _ = run_items(check, [1, 2, 3])
    assert [done for done, _ in answers] == [True, False, True]
    assert isinstance(answers[1][1], ValueError)
    assert [value for done, value in answers if done] == [1, 3]
