"""What becomes of a stage run whose input turns out damaged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from gravel.pipeline.scheduler.node import DONE, FAILED, RUNNING, SKIPPED, WAITING, WANTED
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.run import MAX_DAMAGES, Resolver
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run

DAMAGED = "d" * 64
"""The id of what cannot be read."""


@pytest.fixture
def resolver() -> Resolver:
    """Of `a`, whose result is there, `b`, which reads it now, and `c`, which waits for `b`."""
    nodes = Nodes(plan_of(stage_run("a", MAKE), stage_run("b", ADD, "a"), stage_run("c", ADD, "b")))
    recipe = SimpleNamespace(digest="r" * 64)
    cache = Mock(is_here=lambda name: False)
    made = Resolver(nodes, Mock(recipe=lambda run, ids: recipe), cache, Mock())
    nodes["a"].recipe = recipe  # type: ignore[assignment]
    read(nodes)
    return made


def read(nodes: Nodes) -> None:
    """Have `b` run with what it reads."""
    nodes.identify(nodes["a"], (DAMAGED, "e" * 64))
    nodes.move(nodes["a"], DONE)
    nodes.move(nodes["b"], RUNNING)


def states(resolver: Resolver) -> tuple[str, ...]:
    return tuple(node.state for node in resolver.nodes)


def failure(resolver: Resolver) -> Any:
    failed: Any = resolver._events.failed
    (((node, found, _), _),) = failed.call_args_list
    assert node.key == "b"
    return found


def test_an_input_that_is_damaged_again_and_again_fails_its_reader(resolver: Resolver) -> None:
    for _ in range(MAX_DAMAGES):
        resolver.repair(DAMAGED, "a byte flipped", resolver.nodes["b"])
        assert states(resolver) == (WANTED, WAITING, WAITING)
        read(resolver.nodes)
    resolver.repair(DAMAGED, "a byte flipped", resolver.nodes["b"])
    assert states(resolver) == (DONE, FAILED, SKIPPED)
    assert failure(resolver).kind == "disk"
    assert failure(resolver).message == f"artifact {DAMAGED[:12]} is damaged: a byte flipped"


def test_a_damaged_input_that_nobody_made_and_nowhere_lies_fails_its_reader(resolver: Resolver) -> None:
    resolver.repair("f" * 64, "it is gone", resolver.nodes["b"])
    assert states(resolver) == (DONE, FAILED, SKIPPED)
    assert failure(resolver).kind == "disk"
    assert failure(resolver).message == f"artifact {'f' * 12} is damaged: it is gone"
