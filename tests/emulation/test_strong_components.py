"""Strongly connected components on CUDA, on CPU threads: those of SciPy, with rows that are split too."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.strong_components import strong_components
from gravel.stages.context import PlainContext
from gravel.stages.reorder import STAGE as REORDER
from gravel.stages.stage import Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.emulation.strict_cupy import on_device
from tests.kernels.strong_components.test_strong_components import (
    both_rows,
    chain_of_cycles,
    expected,
    random_graphs,
    turned,
)
from tests.stages.traversal.test_implementations import graph_of, labels
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("on_cpu")


def check(rows: Any, back: Any) -> None:
    found = strong_components(*map(on_device, (*rows, *back)))
    assert found.strategy == "forward_backward"
    numpy.testing.assert_array_equal(found.component.get(), expected(*rows))


@pytest.mark.parametrize("graph", list(zoo()), ids=lambda graph: graph.name)
def test_small_graphs(graph: Any) -> None:
    rows = both_rows(graph, numpy.uint64 if graph.name == "skewed_random" else numpy.uint32)
    check(rows[:2], rows[2:])


def test_random_graphs() -> None:
    for rows in random_graphs():
        check(rows, turned(*rows))


@pytest.mark.parametrize(("count", "length"), [(200, 2), (3, 50), (40, 5)])
def test_cycles_in_a_chain(count: int, length: int) -> None:
    rows = chain_of_cycles(count, length, count)
    check(rows, turned(*rows))


def test_rows_that_the_grid_shares() -> None:
    """A hub with successors and predecessors in plenty: half of its neighbours are in its component."""
    n = 9000
    around = numpy.arange(1, n)
    source = numpy.concatenate([numpy.zeros(n - 1, numpy.int64), around[: n // 2]])
    target = numpy.concatenate([around, numpy.zeros(n // 2, numpy.int64)])
    order = numpy.lexsort([target, source])
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(source, minlength=n), out=offsets[1:])
    rows = offsets, target[order].astype(numpy.uint32)
    check(rows, turned(*rows))


@pytest.mark.parametrize("block", [0, 33, 2048])
def test_blocks_that_do_not_exist(block: int) -> None:
    rows = chain_of_cycles(2, 3, 1)
    with pytest.raises(ValueError, match="multiple of 32"):
        strong_components(*map(on_device, (*rows, *turned(*rows))), block=block)


@pytest.mark.parametrize("direction", ["as_given", "both"])
@pytest.mark.parametrize("order", [None, "random"])
def test_the_stage_finds_them_on_a_gpu(monkeypatch: pytest.MonkeyPatch, order: Any, direction: str) -> None:
    monkeypatch.setattr("gravel.stages.traversal.search.machine_name", lambda *_: "an emulated GPU")
    graph = given = graph_of(direction)
    if order:
        given = REORDER.run(PlainContext(), REORDER.parameters.model_validate({"method": order}), input=graph)
    there = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    asked = TraverseParameters(algorithm="strong_components")
    traversal, measurement = traverse(PlainContext(there), asked, input=given)
    numpy.testing.assert_array_equal(traversal.component, labels(graph))
    assert (measurement.strategy, measurement.backend) == ("forward_backward", "cuda")
    verified = verify(PlainContext(there), VerifyParameters(), graph=graph, traversal=traversal)
    assert {each["on"] for each in verified.checks} == {"cuda"}
