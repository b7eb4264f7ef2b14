"""Rank groups that take as many workers as there are: bounded by what is of use, by GPUs and by memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.core.memory import HOST_MEMORY
from gravel.pipeline.scheduler.node import Attempt
from gravel.pipeline.scheduler.placement import Placement
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.stages.stage import Need

GIB = 1 << 30


def placer(workers: int, *, backend: str = "cpu", host: int = 64 * GIB, cluster: str = "local") -> Placement:
    environment: Any = SimpleNamespace(
        capacity=SimpleNamespace(host_bytes=host, device_bytes=0, source="the machine's memory"),
        cluster=cluster,
        cores=8,
        backend_of=lambda stage: backend,
    )
    nodes: Any = SimpleNamespace(in_state=lambda *states: [])
    made = Placement(environment, nodes)
    device = {"device": "GPU", "device_bytes": 8 * GIB} if backend == "cuda" else {}
    made.set_worker_slots(WorkerSlot(name=str(number), cores=8, **device) for number in range(workers))
    return made


def node(*, timed: bool = True) -> Any:
    stage = SimpleNamespace(ranks=None, is_timed=lambda parameters: parameters.timed)
    run = SimpleNamespace(stage=stage, parameters=SimpleNamespace(timed=timed))
    return SimpleNamespace(run=run, sources=(), parameters=None, attempt=Attempt(0))


def flexible(**more: Any) -> Need:
    return Need(10 * GIB, more.pop("device", 0), (), workers=6, least_workers=2, **more)


@pytest.mark.parametrize(
    ("workers", "need", "members"),
    [
        (8, flexible(), 6),
        (4, flexible(), 4),
        (2, flexible(), 2),
        (1, flexible(), 0),
        (4, flexible(each_host_bytes=10 * GIB), 4),
        (8, flexible(each_host_bytes=20 * GIB), 3),
        (8, flexible(each_host_bytes=60 * GIB), 0),
        (4, Need(GIB, 0, (), workers=6), 0),
        (8, Need(GIB, 0, (), workers=6), 6),
    ],
)
def test_as_many_workers_as_are_of_use(workers: int, need: Need, members: int) -> None:
    made = placer(workers)
    choice = made.choose(node(), need, 0)
    assert choice is not None
    assert len(choice.rank_group) == members
    assert choice.threads == 8 // max(1, members)
    taken = made._bytes_by_host(need, choice.rank_group or (choice.worker_slot,))
    assert taken == {"": need.host_bytes + need.each_host_bytes * max(0, members - 1)}
    assert made.problem(node(), need) is None


def test_gpus_that_cannot_hold_the_graph_do_not_count() -> None:
    made = placer(4, backend="cuda")
    choice = made.choose(node(), flexible(device=4 * GIB), 0)
    assert choice is not None
    assert len(choice.rank_group) == 4
    told = made.problem(node(), flexible(device=9 * GIB))
    assert told is not None
    assert "9 GiB" in told


def test_one_process_has_no_rank_group() -> None:
    choice = placer(1, cluster="inline").choose(node(), flexible(each_host_bytes=10 * GIB), 0)
    assert choice is not None
    assert choice.rank_group == ()


@pytest.mark.parametrize(
    ("backend", "timed", "alone"), [("cpu", True, True), ("cpu", False, False), ("cuda", True, False)]
)
def test_what_is_timed_on_a_cpu_runs_alone(backend: str, timed: bool, alone: bool) -> None:
    made = placer(2, backend=backend)
    busy: Any = SimpleNamespace(in_state=lambda *states: [node(timed=False)])
    made._nodes = busy
    choice = made.choose(node(timed=timed), Need(GIB, 0, ()), 0)
    assert (choice is None) == alone


@pytest.mark.parametrize(("source", "free"), [("the machine's memory", 30), (HOST_MEMORY, 12)])
def test_each_host_has_its_own_memory(source: str, free: int) -> None:
    made = placer(0, host=12 * GIB)
    made._environment.capacity.source = source  # type: ignore[misc]
    made.set_worker_slots(WorkerSlot(name, host, host_bytes=30 * GIB) for name, host in ("ax", "bx", "cy"))
    busy: list[Any] = []
    made._nodes = SimpleNamespace(in_state=lambda *states: busy)  # type: ignore[assignment]
    assert made.free_host_bytes() == free * GIB
    need = Need(9 * GIB, 0, ())
    hosts = []
    for name in "pqrs":
        each = node(timed=False)
        each.key = name
        choice = made.choose(each, need, 0)
        if choice is None:
            break
        each.attempt = Attempt(1, need, worker_slot=choice.worker_slot)
        made.take(each)
        busy.append(each)
        hosts.append(made._hosts[choice.worker_slot])
    # Three slots: with 12 GiB a host takes one run of 9 GiB, with 30 GiB as many as it has slots.
    assert sorted(hosts) == (["x", "y"] if free == 12 else ["x", "x", "y"])
    made.release(busy.pop())
    assert made.choose(node(timed=False), need, 0) is not None


def test_the_worker_slot_that_was_used_last_is_used_again() -> None:
    made = placer(3)
    each, need = node(timed=False), Need(GIB, 0, ())
    each.key = "a"
    for name in "21":
        each.attempt = Attempt(1, need, worker_slot=name)
        made.take(each)
        made.release(each)
        choice = made.choose(node(timed=False), need, 0)
        assert choice is not None
        assert choice.worker_slot == name


def test_a_rank_group_takes_memory_where_its_members_are() -> None:
    made = placer(0, host=64 * GIB)
    made.set_worker_slots(WorkerSlot(name, host) for name, host in ("ax", "by", "cy"))
    taken = made._bytes_by_host(Need(10 * GIB, 0, (), each_host_bytes=2 * GIB), ("a", "b", "c"))
    assert taken == {"x": 10 * GIB, "y": 4 * GIB}
