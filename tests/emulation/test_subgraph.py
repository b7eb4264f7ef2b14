"""Induced subgraphs by the CUDA kernel, on CPU threads: what the definition says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, example, given, settings

from gravel.kernels.layouts import LAYOUTS
from gravel.kernels.subgraph import induced
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.subgraph import induced_graph
from tests.emulation.strict_cupy import Array, on_device
from tests.kernels.subgraph_case import Case, cases, check, large, rows_of
from tests.stages.preparing_case import Keeping
from tests.stages.test_subgraph import call, compress, graph_of, reorder

pytestmark = pytest.mark.usefixtures("on_cpu")


PARALLEL = Case(
    offsets=numpy.array([0, 0, 4]),
    columns=numpy.array([0, 0, 1, 1], numpy.uint32),
    weights=numpy.array([0, 0, 0, 1], numpy.uint32),
    permutation=numpy.array([1, 0], numpy.uint32),
    chosen=numpy.array([0, 1]),
)
"""Parallel arcs of different weights in rows that are permuted."""


def taken(case: Case, layout: str, dtype: Any, *, weighted: bool) -> None:
    rows = rows_of(case, layout, dtype)
    rows = replace(rows, arrays={name: on_device(array) for name, array in rows.arrays.items()})
    weights = on_device(case.weights) if weighted else None
    found = induced(rows, case.chosen, permutation=case.permutation, weights=weights)
    assert isinstance(found.column_indices, Array)
    check(case, found, weighted=weighted)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(case=PARALLEL)
@given(case=cases())
def test_of_drawn_graphs(layout: str, case: Case) -> None:
    for weighted in (False, True):
        taken(case, layout, numpy.uint32, weighted=weighted)


@pytest.mark.parametrize("dtype", [numpy.uint32, pytest.param(numpy.uint64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_several_units(layout: str, dtype: Any) -> None:
    taken(large(), layout, dtype, weighted=True)


@pytest.mark.parametrize("layout", [None, *LAYOUTS])
@pytest.mark.parametrize("order", [False, True])
def test_the_stage_leaves_the_result_where_it_is_made(order: bool, layout: str | None) -> None:
    random = numpy.random.default_rng(3)
    stored = graph_of(random.integers(0, 60, (300, 3)), 60)
    if order:
        stored = call(reorder, {"method": "random"}, input=stored)
    if layout is not None:
        stored = call(compress, {"codec": layout}, input=stored)
    chosen = numpy.flatnonzero(random.random(60) < 0.6)
    gpu = Machine(backend="cuda", threads=2, host_memory=1 << 30, device_memory=1 << 30)
    expected, subset = induced_graph(PlainContext(replace(gpu, backend="cpu")), stored, chosen)
    kept, _ = induced_graph(Keeping(gpu), stored, chosen)
    assert isinstance(kept.column_indices, Array)
    fetched, same = induced_graph(PlainContext(gpu), stored, chosen)
    assert isinstance(fetched.column_indices, numpy.ndarray)
    small = PlainContext(replace(gpu, device_memory=1))
    on_cpu, _ = induced_graph(small, stored, chosen)
    assert "on the CPU: a subgraph needs 1 MiB of GPU memory" in small.messages[0]
    for found in (kept, fetched, on_cpu):
        for name in ("row_offsets", "column_indices", "weights"):
            array = getattr(expected, name)
            assert getattr(found, name).dtype == array.dtype
            assert numpy.array_equal(numpy.asarray(getattr(found, name)), array)
        assert (found.arc_count, found.loop_count) == (expected.arc_count, expected.loop_count)
    assert numpy.array_equal(same.vertices, subset.vertices)
