"""What the scheduler looks at grows with the edges of the plan, whatever its shape."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.scheduler import attempts
from gravel.pipeline.scheduler import nodes as nodes_module
from gravel.pipeline.scheduler import run as run_module
from gravel.pipeline.scheduler.node import DONE, KNOWN, WANTED, Node
from gravel.pipeline.scheduler.nodes import Nodes
from tests.pipeline.scheduler.test_driver import run
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run

MAX_GROWTH = 1.05
"""Of the reads of nodes' attributes for each edge and node, in a plan that is three times as large."""


def independent(size: int, **more: Any) -> list[StageRun]:
    return [stage_run(f"a{place}", MAKE, value=place, **more) for place in range(size)]


def chain(size: int, **more: Any) -> list[StageRun]:
    links = [stage_run(f"a{place}", ADD, f"a{place - 1}", value=place, **more) for place in range(1, size)]
    return [stage_run("a0", MAKE, value=1), *links]


def diamond(size: int, **more: Any) -> list[StageRun]:
    """One run that all others read, and one that reads them all."""
    middle = [stage_run(f"b{place}", ADD, "a", value=place, **more) for place in range(size - 2)]
    return [stage_run("a", MAKE), *middle, stage_run("c", ADD, *[run.key for run in middle])]


def unkept(size: int) -> list[StageRun]:
    """A chain of results in memory, of which only the last one is asked for."""
    return [*chain(size, keep=False)[:-1], stage_run(f"a{size - 1}", ADD, f"a{size - 2}")]


def failing(size: int) -> list[StageRun]:
    first = stage_run("a", MAKE, fail="stage")
    return [first, *[stage_run(f"b{place}", ADD, "a", value=place) for place in range(size - 1)]]


SHAPES = [independent, chain, diamond, unkept, failing]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Nodes]:
    """The nodes of every run."""
    found: list[Nodes] = []

    def nodes(plan: Plan) -> Nodes:
        found.append(Nodes(plan))
        return found[-1]

    monkeypatch.setattr(run_module, "Nodes", nodes)
    return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each attribute of a node is read, by anything."""
    found: Counter[str] = Counter()

    class Watched(Node):
        def __getattribute__(self, name: str) -> Any:
            found[name] += 1
            return super().__getattribute__(name)

    monkeypatch.setattr(nodes_module, "Node", Watched)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_each_edge_is_looked_at_a_few_times(tmp_path, made, reads, monkeypatch, shape) -> None:
    offers: list[str] = []
    begin = attempts.Attempts.begin

    def counted(self: attempts.Attempts, node: Any, others: int) -> bool:
        offers.append(node.key)
        return begin(self, node, others)

    monkeypatch.setattr(attempts.Attempts, "begin", counted)
    reads_an_edge = []
    for size in (20, 60):
        reads.clear()
        offers.clear()
        plan = plan_of(*shape(size))
        run(plan, tmp_path / str(size))
        reads_an_edge.append(reads.total() / sum(1 + len(each.upstream) for each in plan.runs.values()))
        assert len(offers) <= 2 * len(plan.runs)
        assert made[-1].unfinished == 0
    assert reads_an_edge[1] <= MAX_GROWTH * reads_an_edge[0]


def test_a_long_chain_of_results_in_memory_is_asked_for_at_once() -> None:
    nodes = Nodes(plan_of(*unkept(1500)))
    for node in nodes:
        nodes.identify(node, (node.key,))
        nodes.move(node, KNOWN)
    last = nodes["a1499"]
    nodes.move(last, WANTED)
    assert {node.state for node in nodes} == {WANTED}
    assert [node.key for node in nodes.ready.nodes()] == ["a0"]
    nodes.move(nodes["a0"], DONE)
    assert [node.key for node in nodes.ready.nodes()] == ["a1"]


def test_what_reads_results_in_memory_comes_first() -> None:
    runs = [
        stage_run("a", MAKE, keep=False),
        stage_run("b", MAKE, value=1),
        stage_run("c", ADD, "a"),
        stage_run("d", ADD, "c", "a"),
    ]
    nodes = Nodes(plan_of(*runs))
    for node in nodes:
        nodes.identify(node, (node.key,))
    nodes.move(nodes["a"], DONE)
    nodes.set_resident(nodes["a"], "here")
    nodes.move(nodes["c"], DONE)
    for key in "bd":
        nodes.move(nodes[key], WANTED)
    taken: list[str] = []

    def take(node: Any, others: int) -> None:
        taken.append(node.key)
        nodes.move(node, DONE)

    nodes.ready.offer(take, lambda: True, patient=False)
    assert taken == ["d", "b"]
    assert [node.key for node in nodes.unneeded()] == ["a"]


def test_a_lost_result_takes_its_readers_out_of_the_queue() -> None:
    nodes = Nodes(plan_of(stage_run("a", MAKE), stage_run("b", ADD, "a")))
    a, b = nodes["a"], nodes["b"]
    nodes.identify(a, ("x",))
    nodes.move(a, DONE)
    nodes.move(b, WANTED)
    assert nodes.ready.nodes() == [b]
    nodes.move(a, WANTED)
    assert nodes.ready.nodes() == [a]
    nodes.move(a, DONE)
    assert nodes.ready.nodes() == [b]


def test_a_node_that_reads_less_waits_for_the_rest_alone() -> None:
    nodes = Nodes(plan_of(stage_run("a", MAKE), stage_run("b", MAKE, value=1), stage_run("c", ADD, "a", "b")))
    a, b, c = (nodes[key] for key in "abc")
    nodes.identify(b, ("x",))
    nodes.move(b, DONE)
    assert list(nodes.to_identify()) == [a]
    nodes.rewire(c, stage_run("c", ADD, "b"))
    assert (c.sources, c.undone, c.unknown) == ((b,), 0, 0)
    assert (a.open, a.consumers, b.open, b.consumers) == (0, [], 1, [c])
    assert list(nodes.to_identify()) == [c], "all that its recipe asks for is known"
    nodes.move(c, WANTED)
    assert nodes.ready.nodes() == [c]
