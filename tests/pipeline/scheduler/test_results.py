"""Results between a worker's answer and the cache: what is in memory, and what is said of it."""

from __future__ import annotations

from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

from gravel.pipeline.scheduler.residency import Residency
from gravel.pipeline.scheduler.results import Results
from gravel.pipeline.store.committer import Committed
from gravel.pipeline.workers.protocol import Lost


def test_to_publish_leaves_all_other_events_for_later() -> None:
    events: SimpleQueue[object] = SimpleQueue()
    for event in (Lost("one"), Committed("a"), Lost("two")):
        events.put(event)
    published: list[tuple[str, object]] = []
    results: Any = object.__new__(Results)
    results._run = SimpleNamespace(cluster=SimpleNamespace(events=events), nodes={"a": "node a"})
    results.published = lambda node, event: published.append((node, event))
    results.committer = SimpleNamespace(flush=lambda: None)
    results.publish_all()
    assert published == [("node a", Committed("a"))]
    assert [events.get_nowait(), events.get_nowait()] == [Lost("one"), Lost("two")]
    assert events.empty()


def test_a_result_that_was_made_again_is_the_youngest_in_memory() -> None:
    def node(key: str) -> Any:
        run = SimpleNamespace(keep=True)
        return SimpleNamespace(key=key, run=run, attempt=SimpleNamespace(number=1), consumers=(), sources=())

    residency, first, second, reader = Residency(1 << 30, 1 << 30, is_local=True), *map(node, "abr")
    for each in (first, second, first):
        residency.add(each)
        assert residency.written(each, 1)
    assert residency.first_to_leave(reader) is second
