"""Induced subgraphs by the CUDA kernel, on CPU threads: what the definition says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings

from gravel.kernels.layouts import LAYOUTS
from gravel.kernels.subgraph import induced
from tests.emulation.strict_cupy import Array, on_device
from tests.kernels.subgraph_case import Case, cases, check, large, rows_of

pytestmark = pytest.mark.usefixtures("on_cpu")


def taken(case: Case, layout: str, dtype: Any, *, weighted: bool) -> None:
    rows = rows_of(case, layout, dtype)
    rows = replace(rows, arrays={name: on_device(array) for name, array in rows.arrays.items()})
    weights = on_device(case.weights) if weighted else None
    found = induced(rows, case.chosen, permutation=case.permutation, weights=weights)
    assert isinstance(found.column_indices, Array)
    check(case, found, weighted=weighted)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_of_drawn_graphs(layout: str, case: Case) -> None:
    for weighted in (False, True):
        taken(case, layout, numpy.uint32, weighted=weighted)


@pytest.mark.parametrize("dtype", [numpy.uint32, pytest.param(numpy.uint64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_several_units(layout: str, dtype: Any) -> None:
    taken(large(), layout, dtype, weighted=True)
