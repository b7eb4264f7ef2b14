"""Items on threads: in order, a few ahead, errors where they are read; and who uses them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.threads import thread_count
from gravel.pipeline.workers.inline_cluster import InlineServices
from gravel.stages.context import PlainContext
from gravel.stages.threads import AHEAD, map_threads
from tests.emulation.verify_case import Stored
from tests.kernels.cuda_case import rmat
from tests.stages.preparing_case import divided, divided_on_cpu, graph_of, machine, placed, same_partition


def meet(barrier: threading.Barrier) -> int:
    """End when as many items run as the barrier waits for."""
    return barrier.wait(timeout=20)


def test_items_run_side_by_side_and_come_in_order() -> None:
    barrier = threading.Barrier(3)
    assert sorted(map_threads(meet, [barrier] * 3, 3)) == [0, 1, 2]

    def slow_first(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item

    assert list(map_threads(slow_first, range(20), 4)) == list(range(20))
    assert list(map_threads(slow_first, [], 4)) == []
    assert list(map_threads(slow_first, [3], 0)) == [3]


@pytest.mark.parametrize(("items", "threads"), [(0, 4), (1, 4), (5, 1)])
def test_what_threads_are_of_no_use_to_is_done_here(items: int, threads: int) -> None:
    here = threading.current_thread().name
    found = map_threads(lambda item: (item, threading.current_thread().name), range(items), threads)
    assert list(found) == [(item, here) for item in range(items)]


def test_few_items_are_taken_ahead() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(50):
            taken.append(item)
            yield item

    found = map_threads(lambda item: item, items(), 2)
    assert next(found) == 0
    assert len(taken) == 2 * AHEAD
    assert len(list(found)) == 49


def test_kernels_of_items_run_on_one_thread() -> None:
    assert set(map_threads(lambda _: thread_count(), range(4), 2)) == {1}


def test_errors_come_where_they_are_read() -> None:
    done = []

    def fail(item: int) -> int:
        if item == 1:
            raise ValueError("item 1")
        done.append(item)
        return item

    found = map_threads(fail, range(100), 1)
    assert next(found) == 0
    with pytest.raises(ValueError, match="item 1"):
        list(found)
    assert len(done) < 10


def test_an_inline_cluster_maps_on_threads() -> None:
    task: Any = SimpleNamespace(key="stage", machine=machine("cpu"), stage=SimpleNamespace(origin=None))
    services = InlineServices(task, None, lambda _: None)  # type: ignore[arg-type]
    assert sorted(services.map(meet, [threading.Barrier(2)] * 2)) == [0, 1]


class Counting(PlainContext):
    """A context that counts the items that it maps."""

    mapped = 0

    def map(self, function: Any, items: Any, *, on_reserved: bool = False) -> Iterator[Any]:
        for item in items:
            self.mapped += 1
            yield function(item)


@pytest.mark.parametrize("asked", [{"threshold": 5}, {"scheme": "striped"}], ids=["delegates", "striped"])
def test_graphs_in_memory_are_not_sent_to_workers(asked: dict[str, Any]) -> None:
    graph = graph_of(rmat(8))
    expected = divided_on_cpu(graph, ranks=2, **asked)
    for place, sent in ((numpy.asarray, False), (Stored, True)):
        context = Counting(machine("cpu"))
        same_partition(divided(context, placed(graph, place), ranks=2, **asked), expected)
        assert bool(context.mapped) is sent
