"""Graphs of other libraries become what kernels take, over the same memory where it fits."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.bfs import bfs
from gravel.kernels.components import components
from gravel.kernels.inputs import CSR, array, as_csr, csr, edges, is_symmetric

SQUARE = [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]


class Tensor:
    """What another library's array is to us: DLPack and nothing else."""

    def __init__(self, values: Any, device: int = 1) -> None:
        self._values = numpy.asarray(values)
        self._device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self._device, 0)


class Shown:
    """An array by NumPy's interface alone."""

    def __init__(self, values: Any) -> None:
        self.kept = numpy.asarray(values)
        self.__array_interface__ = self.kept.__array_interface__


def shares(one: Any, other: Any) -> bool:
    return bool(numpy.shares_memory(one, other))


def rows_of(matrix: Any) -> CSR:
    """The same, by SciPy alone."""
    plain = scipy.sparse.csr_array(matrix)
    plain.sum_duplicates()
    return CSR(plain.indptr.astype(numpy.int64), plain.indices.astype(numpy.uint32))


def same(one: CSR, other: CSR) -> bool:
    return all(numpy.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("of", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_every_format_of_scipy_gives_the_same_rows(kind: str, of: Any) -> None:
    directed = numpy.array(SQUARE)
    directed[3, 2] = 5
    matrix = of(directed).asformat(kind)
    rows = csr(matrix)
    assert same(rows, rows_of(directed))
    assert (rows.row_offsets.dtype, rows.column_indices.dtype) == (numpy.int64, numpy.uint32)
    assert not is_symmetric(rows)
    assert is_symmetric(csr(of(SQUARE).asformat(kind)))
    source, target = edges(matrix)
    assert set(zip(source.tolist(), target.tolist(), strict=True)) == set(
        zip(*directed.nonzero(), strict=True)
    )


def test_sorted_rows_are_not_copied() -> None:
    matrix = scipy.sparse.csr_array(numpy.array(SQUARE))
    assert shares(csr(matrix).column_indices, matrix.indices)
    wide = scipy.sparse.csr_array(matrix)
    wide.indptr, wide.indices = wide.indptr.astype(numpy.int64), wide.indices.astype(numpy.int64)
    rows = csr(wide)
    assert shares(rows.row_offsets, wide.indptr)
    assert shares(rows.column_indices, wide.indices)
    assert rows.column_indices.dtype == numpy.uint64
    pair = (numpy.array([0, 1, 2]), numpy.array([1, 0], dtype=numpy.uint32))
    assert all(shares(one, other) for one, other in zip(csr(pair), pair, strict=True))
    assert all(one is other for one, other in zip(as_csr(*pair), pair, strict=True))
    triples = scipy.sparse.coo_array(numpy.array(SQUARE))
    assert all(shares(one, other) for one, other in zip(edges(triples), triples.coords, strict=True))


@pytest.mark.parametrize("kind", [Tensor, Shown, list, tuple])
def test_arrays_of_others_are_searched(kind: Any) -> None:
    plain = rows_of(SQUARE)
    expected = bfs(*plain, 2, symmetric=True)
    for dtype in (numpy.int32, numpy.int64, numpy.uint32):
        offsets, columns = kind(plain.row_offsets.astype(dtype)), kind(plain.column_indices.astype(dtype))
        found = bfs(offsets, columns, 2, symmetric=True)
        assert numpy.array_equal(found.distance, expected.distance)
        assert numpy.array_equal(found.predecessor, expected.predecessor)
        assert components(offsets, columns, symmetric=True).component.tolist() == [0, 0, 0, 0]
    if kind is Tensor:
        values = numpy.arange(5)
        assert shares(array(Tensor(values)), values)


def test_memory_that_may_not_be_written_and_foreign_order_will_do() -> None:
    plain = rows_of(SQUARE)
    for each in plain:
        each.flags.writeable = False
    assert all(shares(one, other) for one, other in zip(csr(plain), plain, strict=True))
    foreign = (plain.row_offsets.astype(">i8"), plain.column_indices.astype(">u4"))
    assert same(csr(foreign), plain)
    gaps = numpy.repeat(plain.column_indices, 2)[::2]
    assert same(csr((plain.row_offsets, gaps)), plain)


@pytest.mark.slow  # kernels are compiled anew for memory that they may not write
def test_memory_that_may_not_be_written_is_searched() -> None:
    plain = rows_of(SQUARE)
    for each in plain:
        each.flags.writeable = False
    assert bfs(*csr(plain), 0, symmetric=True).distance.tolist() == [0, 1, 1, 2]


def test_unsorted_rows_and_duplicates_are_put_in_order() -> None:
    matrix = scipy.sparse.csr_array(
        (numpy.ones(5), numpy.array([2, 1, 1, 0, 0]), numpy.array([0, 3, 4, 5])), shape=(3, 3)
    )
    rows = csr(matrix)
    assert rows.row_offsets.tolist() == [0, 2, 3, 4]
    assert rows.column_indices.tolist() == [1, 2, 0, 0]
    assert matrix.indices.tolist() == [2, 1, 1, 0, 0]  # the caller's stays as it was
    with pytest.raises(ValueError, match=r"kernels\.inputs\.csr sorts them"):
        as_csr(matrix.indptr, matrix.indices)


def test_room_behind_the_last_column_is_left_out() -> None:
    matrix = scipy.sparse.csr_array(numpy.array(SQUARE))
    matrix.indices = numpy.concatenate([matrix.indices, numpy.full(3, 99, matrix.indices.dtype)])
    matrix.data = numpy.ones(len(matrix.indices))
    assert same(csr(matrix), rows_of(SQUARE))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (scipy.sparse.coo_array((2, 3)), "a matrix of 2 x 3 is no graph"),
        (([0, 1, 1], [2]), r"2 is no vertex of 2, which"),
        (([0, 1, 1], [-1]), r"-1 is no vertex"),
        (([0, 2], [0]), r"run from 0 to 1"),
        (([0, 2, 1, 2], [0, 1]), r"row_offsets have to ascend"),
        (([0.0, 1.0], [0]), r"row_offsets is float64"),
        (([0, 1], [0.5]), r"column_indices is float64"),
        (([[0, 1]], [0]), r"row_offsets is int64 with shape \(1, 2\)"),
        ((), "a tuple is no graph"),
        ("graph.mtx", "a str is no graph"),
        (([0, 1], {0}), "a set is no array"),
        ((Tensor([0, 1], device=10), [0]), "device of DLPack's type 10"),
    ],
)
def test_what_is_no_graph_is_said(graph: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        csr(graph)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 12).flatmap(
        lambda size: st.tuples(
            st.just(size),
            st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=40),
        )
    )
)
def test_rows_of_any_edges_are_those_of_scipy(case: tuple[int, list[tuple[int, int]]]) -> None:
    size, pairs = case
    source, target = numpy.array(pairs, dtype=numpy.int32).reshape(-1, 2).T
    matrix = scipy.sparse.coo_array((numpy.ones(len(source)), (source, target)), shape=(size, size))
    expected = rows_of(matrix)
    for each in (matrix, matrix.tocsr(), matrix.tocsc()):
        assert same(csr(each), expected)
    assert (
        is_symmetric(csr(matrix)) == (matrix.toarray().astype(bool) == matrix.toarray().astype(bool).T).all()
    )


def test_an_array_on_a_gpu_goes_to_cupy_or_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []
    pretended = SimpleNamespace(
        asarray=lambda value: asked.append(("interface", value)),
        from_dlpack=lambda value: asked.append(("dlpack", value)),
    )
    monkeypatch.setitem(sys.modules, "cupy", pretended)
    there, tensor, managed = SimpleNamespace(__cuda_array_interface__={}), Tensor([0], 2), Tensor([0], 13)
    for each in (there, tensor, managed):
        array(each)
    assert asked == [("interface", there), ("dlpack", tensor), ("dlpack", managed)]
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match=r"an array on a GPU needs CuPy"):
        array(tensor)


class OnDevice:
    """A GPU array of another library, by one protocol alone."""

    def __init__(self, values: Any, protocol: str) -> None:
        if protocol == "interface":
            self.__cuda_array_interface__ = values.__cuda_array_interface__
        else:
            self.__dlpack__ = values.__dlpack__
            self.__dlpack_device__ = values.__dlpack_device__
        self.kept = values


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", ["interface", "dlpack"])
def test_arrays_on_a_gpu_are_searched_where_they_are(protocol: str) -> None:
    import cupy

    plain = rows_of(SQUARE)
    here = [cupy.asarray(each) for each in plain]
    found = array(OnDevice(here[1], protocol))
    assert found.data.ptr == here[1].data.ptr
    result = bfs(*(OnDevice(each, protocol) for each in here), 2, symmetric=True)
    assert cupy.asnumpy(result.distance).tolist() == bfs(*plain, 2, symmetric=True).distance.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices_of_cupy_stay_on_the_gpu(kind: str) -> None:
    import cupy
    import cupyx.scipy.sparse

    directed = numpy.array(SQUARE, dtype=numpy.float64)
    directed[3, 2] = 5
    matrix = cupyx.scipy.sparse.csr_matrix(cupy.asarray(directed)).asformat(kind)
    rows = csr(matrix)
    assert all(isinstance(each, cupy.ndarray) for each in rows)
    assert same(CSR(*(cupy.asnumpy(each) for each in rows)), rows_of(directed))
    assert not is_symmetric(rows)
    with pytest.raises(ValueError, match="one is on a GPU and the other is not"):
        csr((rows.row_offsets, cupy.asnumpy(rows.column_indices)))
