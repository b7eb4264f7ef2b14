"""Results between a worker's answer and the cache: what is in memory, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.scheduler import cluster_start
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.node import RUNNING, Attempt, Node, ReadyQueue
from gravel.pipeline.scheduler.placement import Residency
from gravel.pipeline.scheduler.results import Results
from gravel.pipeline.store.committer import Committed
from gravel.pipeline.workers.protocol import Lost
from gravel.stages.stage import Extent, Need
from tests.pipeline.run_case import states
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run


def test_to_publish_leaves_all_other_events_for_later() -> None:
    events: SimpleQueue[object] = SimpleQueue()
    for event in (Lost("one"), Committed("a"), Lost("two")):
        events.put(event)
    done: list[object] = []
    results: Any = object.__new__(Results)
    cluster = SimpleNamespace(events=events)
    results._run = SimpleNamespace(cluster=cluster, put=events.put, nodes={"a": "node a"})
    results._published = lambda node, event: done.append((node, event))
    results.committer = SimpleNamespace(flush=lambda: done.append("flushed"))
    results.publish_all()
    assert done == ["flushed", ("node a", Committed("a"))]
    assert [events.get_nowait(), events.get_nowait()] == [Lost("one"), Lost("two")]
    assert events.empty()


def test_a_result_that_was_made_again_is_the_youngest_in_memory() -> None:
    def node(key: str) -> Node:
        return Node(stage_run(key, MAKE), 0, RUNNING, attempt=Attempt(1))

    environment: Any = SimpleNamespace(
        resident_bytes=1 << 30, capacity=SimpleNamespace(host_bytes=1 << 30), cluster="local"
    )
    residency, first, second, reader = Residency(environment), *map(node, "abr")
    for each in (first, second, first):
        residency.add(each)
        assert residency.written(each, 1)
    assert residency.first_to_leave(reader) is second


def test_what_ranks_make_stays_in_no_workers_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.pipeline.scheduler.placement.available_bytes", lambda: 1 << 30)
    environment: Any = SimpleNamespace(
        resident_bytes=1 << 30, capacity=SimpleNamespace(host_bytes=1 << 30), cluster="local"
    )
    residency, made = Residency(environment), Node(stage_run("a", MAKE), 0, RUNNING, attempt=Attempt(1))
    alone = Need(1, 0, (Extent("EdgeList", bytes=1 << 28),))
    assert residency.bytes_to_keep(made, alone) == 1 << 28
    assert residency.bytes_to_keep(made, replace(alone, workers=4)) == 0


def test_nodes_that_are_alike_are_taken_together_and_stay_ready() -> None:
    queue = ReadyQueue()
    nodes: list[Any] = [SimpleNamespace(position=at, depth=1, sources=()) for at in range(5)]
    for each in nodes:
        queue.add(each)
    assert queue.others_like(lambda node: True, 2) == nodes[:2]
    assert queue.others_like(lambda node: node.position != 3, 9) == nodes[:3]
    assert queue.nodes() == nodes


def test_a_run_that_is_interrupted_while_it_looks_up_says_so_of_every_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gravel.pipeline.scheduler.run.Resolver.resolve_ready", interrupt)
    plan = plan_of(stage_run("a", MAKE), stage_run("b", ADD, "a"))
    outcome = execute(plan, RunOptions(cache_root=tmp_path, cluster="inline", backend="cpu"))
    assert outcome.state == "interrupted"
    assert states(outcome) == {"a": "interrupted", "b": "interrupted"}


def test_the_folder_of_compiled_kernels_is_marked_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    folder = SimpleNamespace(
        write=lambda name, text: done.append((name, text)), close=lambda: done.append("closed")
    )
    monkeypatch.setattr(cluster_start, "_folder", lambda: folder)
    compiling: Any = object.__new__(cluster_start.Compiling)
    compiling._mark, compiling._keys = "searches-1", ("a", "b")
    compiling.process = SimpleNamespace(poll=lambda: 0)
    compiling.close(lambda key: key == "a")
    assert not done
    compiling.close(lambda key: True)
    assert done == [("searches-1", b""), "closed"]
