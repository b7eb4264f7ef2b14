"""The library on a GPU: what other libraries hold there stays there, and results are the CPU's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import gravel
from tests.gravel.device_case import CASES, Case, is_on_device
from tests.gravel.samples import matrix, random_edges

pytestmark = pytest.mark.gpu


@pytest.fixture
def case(tmp_path: Path) -> Case:
    pytest.importorskip("cupy")
    return Case(random_edges(vertices=1 << 14, edges=1 << 16), tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_graph_on_the_device(case: Case, name: str) -> None:
    CASES[name](case)


def test_the_gpu_is_used_where_there_is_one(case: Case) -> None:
    graph = gravel.graph(case.ends)
    assert graph.info().memory == "GPU memory"
    case.check(graph)


def test_dlpack(case: Case) -> None:
    torch = pytest.importorskip("torch")
    case.check(gravel.graph(tuple(torch.tensor(each).cuda() for each in case.ends)))


def test_sparse_matrices(case: Case) -> None:
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    host = matrix(case.ends)
    graph = gravel.graph(sparse.csr_matrix(host))
    assert is_on_device(graph._rows.stored.column_indices)
    expected: Any = gravel.graph(host, backend="cpu")
    numpy.testing.assert_array_equal(
        graph.bfs(case.source).distance.to_numpy(), expected.bfs(case.source).distance.to_numpy()
    )


def test_a_table_of_cudf(case: Case) -> None:
    cudf = pytest.importorskip("cudf")
    case.check(gravel.graph(cudf.DataFrame(dict(zip(("source", "target"), case.uploaded(), strict=True)))))
