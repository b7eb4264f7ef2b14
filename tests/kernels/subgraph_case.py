"""Drawn graphs and vertices chosen of them, and the subgraph by its definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy
from hypothesis import strategies as st

from gravel.kernels.layouts import EncodedRows, columns_as_rows, encode
from gravel.kernels.subgraph import InducedRows


class Case(NamedTuple):
    """Rows of any layout with weights, in the numbering of `permutation` if there is one."""

    offsets: Any
    columns: Any
    weights: Any
    permutation: Any
    chosen: Any


@st.composite
def cases(draw: Any, most: int = 40) -> Case:
    """Graphs with self-loops, parallel arcs and vertices without arcs."""
    n = draw(st.integers(1, most))
    vertex = st.integers(0, n - 1)
    arcs = sorted(draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 9)), max_size=4 * most)))
    chosen = sorted(draw(st.sets(vertex)))
    permutation = draw(st.none() | st.permutations(range(n)))
    return made(n, arcs, chosen, permutation, draw(st.sampled_from([numpy.uint32, numpy.float32])))


def large(seed: int = 5) -> Case:
    """A graph with rows of several units in each layout."""
    random = numpy.random.default_rng(seed)
    n = 5000
    ends = (n * random.random((2, 60_000)) ** 4).astype(int)
    arcs = sorted(zip(*ends.tolist(), random.integers(0, 99, 60_000).tolist(), strict=True))
    return made(n, arcs, sorted(random.choice(n, n // 2, replace=False)), None, numpy.uint32)


def made(n: int, arcs: Any, chosen: Any, permutation: Any, weight: Any) -> Case:
    rows = numpy.array([arc[0] for arc in arcs], numpy.int64)
    offsets = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(rows, minlength=n))))
    columns = numpy.array([arc[1] for arc in arcs], numpy.uint32)
    weights = numpy.array([arc[2] for arc in arcs], weight)
    order = None if permutation is None else numpy.array(permutation, numpy.uint32)
    return Case(offsets, columns, weights, order, numpy.array(chosen, numpy.int64))


def rows_of(case: Case, layout: str, dtype: Any = numpy.uint32) -> EncodedRows:
    columns = case.columns.astype(dtype)
    if layout == "csr":
        return columns_as_rows(case.offsets, columns)
    return encode(layout, case.offsets, columns)


def check(case: Case, found: InducedRows, *, weighted: bool) -> None:
    """Compare with the subgraph by its definition."""
    to_row = numpy.arange(len(case.offsets) - 1) if case.permutation is None else case.permutation
    number = {int(to_row[v]): i for i, v in enumerate(case.chosen)}
    offsets, arcs = [0], []
    for v in case.chosen:
        begin, end = case.offsets[int(to_row[v])], case.offsets[int(to_row[v]) + 1]
        row = [
            (number[int(each)], w)
            for each, w in zip(case.columns[begin:end], case.weights[begin:end], strict=True)
            if int(each) in number
        ]
        arcs += sorted(row, key=lambda arc: arc[0])
        offsets.append(len(arcs))
    there = [None if each is None else numpy.asarray(each) for each in found[:3]]
    assert there[0].dtype == numpy.int64
    assert there[0].tolist() == offsets
    assert there[1].dtype == numpy.uint32
    assert there[1].tolist() == [each for each, _ in arcs]
    rows = [i for i, (a, b) in enumerate(pairwise(offsets)) for _ in range(b - a)]
    assert found.loop_count == sum(row == each for row, (each, _) in zip(rows, arcs, strict=True))
    if weighted:
        assert there[2].dtype == case.weights.dtype
        assert there[2].tolist() == [w for _, w in arcs]
    else:
        assert there[2] is None
