"""Building on CUDA against the CPU twin."""

import numpy
import pytest

from gravel.kernels import csr
from gravel.kernels.csr import cuda as csr_cuda
from tests.kernels.cuda_case import ZOO, names, on_device, rmat

pytestmark = pytest.mark.gpu


def same(found, expected) -> None:
    assert found.dtype == expected.dtype
    numpy.testing.assert_array_equal(found.get(), expected)


def compare_build(graph, index=numpy.uint32, **options) -> None:
    source, target = graph.source.astype(index), graph.target.astype(index)
    expected = csr.build(source, target, graph.vertex_count, **options)
    found = csr.build(*on_device(source, target), graph.vertex_count, **options)
    same(found.row_offsets, expected.row_offsets)
    same(found.column_indices, expected.column_indices)
    assert found.loop_count == expected.loop_count


@pytest.mark.parametrize("direction", csr.DIRECTIONS)
@pytest.mark.parametrize("keep_duplicates", [False, True])
@pytest.mark.parametrize("keep_loops", [False, True])
@pytest.mark.parametrize("graph", [*ZOO, rmat(12)], ids=names)
def test_build(graph, direction, keep_duplicates, keep_loops) -> None:
    options = {"direction": direction, "keep_duplicates": keep_duplicates, "keep_loops": keep_loops}
    compare_build(graph, **options)
    n = graph.vertex_count
    compare_build(graph, first_vertex=n // 3, last_vertex=n - n // 4, **options)


def test_build_of_wide_vertices() -> None:
    compare_build(rmat(11), numpy.uint64, keep_loops=True)


@pytest.mark.parametrize("block", [32, 128, 1024])
def test_build_with_every_block(block) -> None:
    graph = rmat(12)
    expected = csr.build(graph.source, graph.target, graph.vertex_count)
    choice = csr.Choice(last_vertex=graph.vertex_count)
    found = csr_cuda.build(*on_device(graph.source, graph.target), graph.vertex_count, choice, block=block)
    same(found.row_offsets, expected.row_offsets)
    same(found.column_indices, expected.column_indices)


def test_ranges_whose_keys_do_not_fit_are_halved() -> None:
    import cupy

    source = cupy.array([0, (1 << 33) - 1, 5], cupy.uint64)
    target = cupy.array([1, 7, 5], cupy.uint64)
    rows = csr_cuda.build(source, target, 1 << 62, csr.Choice("as_given", keep_loops=True, last_vertex=9))
    assert rows.row_offsets.get().tolist() == [0, 1, 1, 1, 1, 1, 2, 2, 2, 2]
    assert rows.column_indices.get().tolist() == [1, 5]
    assert rows.loop_count == 1


@pytest.mark.parametrize("direction", csr.DIRECTIONS)
@pytest.mark.parametrize("graph", [*ZOO, rmat(12)], ids=names)
def test_degrees(graph, direction) -> None:
    arrays = on_device(graph.source, graph.target)
    for keep_loops in (False, True):
        options = {"direction": direction, "keep_loops": keep_loops}
        expected = csr.degrees(graph.source, graph.target, graph.vertex_count, **options)
        found = csr.degrees(*arrays, graph.vertex_count, **options)
        same(found, expected)
        same(csr.degrees(*arrays, graph.vertex_count, out=found, **options), 2 * expected)


def test_a_vertex_that_does_not_exist_is_named() -> None:
    arrays = on_device(numpy.array([0, 1, 7], numpy.uint32), numpy.array([1, 9, 8], numpy.uint32))
    for call in (csr.build, csr.degrees):
        with pytest.raises(ValueError, match="edge 1 joins 1 and 9; there are 5 vertices"):
            call(*arrays, 5)
