"""Stages called from a notebook, on graphs that it holds already."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import scipy.sparse

from gravel.kernels.bfs import bfs
from gravel.stages.artifacts import Graph
from gravel.stages.context import PlainContext
from gravel.stages.inputs import edge_list, graph
from gravel.stages.stage import all_stages

SQUARE = numpy.array([[1, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]])


def run(stage: str, given: dict[str, Any] | None = None, **inputs: Any) -> Any:
    chosen = all_stages()[stage]
    return chosen.run(PlainContext(), chosen.parameters(**(given or {})), **inputs)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_sparse_matrix_goes_through_every_stage(kind: str) -> None:
    matrix = scipy.sparse.coo_array(SQUARE).asformat(kind)
    made = graph(matrix)
    assert (made.vertex_count, made.arc_count, made.symmetric, made.loop_count) == (4, 7, True, 1)
    ordered = run("reorder", {"method": "rcm"}, input=made)
    packed = run("compress", {"codec": "varint"}, input=ordered)
    traversal, measured = run("traverse", {"algorithm": "bfs", "sources": {"vertices": [2]}}, input=packed)
    assert traversal.distance[0].tolist() == [1, 2, 0, 3]
    checked = run("verify", graph=made, traversal=traversal)
    assert all(check["passed"] for check in checked.checks)
    symmetric: Graph = run("symmetrize", input=edge_list(matrix))
    found = bfs(symmetric.row_offsets, symmetric.column_indices, 2, symmetric=True)
    assert found.distance.tolist() == [1, 2, 0, 3]
    assert measured.searches[0]["reached"] == 4


def test_arrays_are_taken_as_they_are() -> None:
    source, target = numpy.array([0, 1, 4], dtype=numpy.int32), numpy.array([1, 2, 0], dtype=numpy.int32)
    made = edge_list((source, target), undirected=True)
    assert (made.vertex_count, made.undirected, made.source.dtype) == (5, True, numpy.uint32)
    assert numpy.shares_memory(made.source, source)
    assert edge_list((source, target), vertex_count=9).vertex_count == 9
    assert edge_list(([], [])).vertex_count == 0
    with pytest.raises(ValueError, match="4 is no vertex of 3"):
        edge_list((source, target), vertex_count=3)
    with pytest.raises(ValueError, match="3 sources and 2 targets"):
        edge_list((source, target[:2]))
    rows = graph((numpy.array([0, 1, 1]), numpy.array([1], dtype=numpy.uint32)))
    assert (rows.symmetric, rows.arc_count) == (False, 1)
