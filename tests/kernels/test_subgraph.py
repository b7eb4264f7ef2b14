"""Induced subgraphs by their definition: in each layout, permuted, weighted, with loops and duplicates."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings

from gravel.kernels.layouts import LAYOUTS, columns_as_rows
from gravel.kernels.subgraph import induced
from tests.kernels.subgraph_case import cases, check, large, rows_of


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=60)
@given(case=cases())
def test_of_drawn_graphs(layout, case):
    rows = rows_of(case, layout)
    for weights in (None, case.weights):
        found = induced(rows, case.chosen, permutation=case.permutation, weights=weights)
        check(case, found, weighted=weights is not None)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_several_units_on_several_threads(layout, dtype, monkeypatch):
    monkeypatch.setattr("gravel.kernels.row_blocks.LEAST_WORK", 1 << 10)
    case = large()
    check(case, induced(rows_of(case, layout, dtype), case.chosen, weights=case.weights), weighted=True)
    order = numpy.random.default_rng(1).permutation(len(case.offsets) - 1)
    permuted = case._replace(permutation=order)
    found = induced(rows_of(case, layout), case.chosen, permutation=order, weights=case.weights)
    check(permuted, found, weighted=True)


def test_what_is_refused():
    rows = columns_as_rows(numpy.array([0, 1, 2]), numpy.array([1, 0], numpy.uint32))
    for wrong in ([2], [-1, 0]):
        with pytest.raises(ValueError, match="must be below 2"):
            induced(rows, numpy.array(wrong))
    for wrong in ([1, 0], [1, 1]):
        with pytest.raises(ValueError, match="must ascend"):
            induced(rows, numpy.array(wrong))
    assert induced(rows, numpy.array([], int)).row_offsets.tolist() == [0]
    with pytest.raises(ValueError, match="row 1 of the graph is damaged"):
        induced(columns_as_rows(rows.arrays["row_offsets"], numpy.array([1, 7], numpy.uint32)), [0, 1])


@pytest.mark.parametrize("layout", [each for each in LAYOUTS if each != "csr"])
def test_damaged_rows_are_refused(layout):
    case = large()
    rows = rows_of(case, layout)
    stream = numpy.full_like(rows.arrays["stream"], 255)
    with pytest.raises(ValueError, match="damaged"):
        induced(replace(rows, arrays={**rows.arrays, "stream": stream}), case.chosen)


@pytest.mark.gpu
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_on_the_gpu(layout, dtype, permuted, weighted):
    import cupy

    case = large()
    if permuted:
        order = numpy.random.default_rng(1).permutation(len(case.offsets) - 1).astype(numpy.uint32)
        case = case._replace(permutation=order)
    rows = rows_of(case, layout, dtype)
    rows = replace(rows, arrays={name: cupy.asarray(array) for name, array in rows.arrays.items()})
    weights = cupy.asarray(case.weights) if weighted else None
    found = induced(rows, case.chosen, permutation=case.permutation, weights=weights)
    on_host = [None if each is None else each.get() for each in found[:3]]
    check(
        case,
        found._replace(row_offsets=on_host[0], column_indices=on_host[1], weights=on_host[2]),
        weighted=weighted,
    )
