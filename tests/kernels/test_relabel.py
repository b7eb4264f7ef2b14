"""Labels brought back to the numbering from before: the CPU's by definition, CUDA's as the CPU's."""

import numpy
import pytest

from gravel.kernels.relabel import (
    components_back,
    distances_back,
    invert,
    predecessors_back,
    row_offsets_back,
)


def labels(vertices, tree, dtype):
    """A permutation, and labels under the new numbers; every fifth vertex is unreached."""
    random = numpy.random.default_rng(vertices)
    permutation = random.permutation(vertices).astype(dtype)
    distance = random.integers(0, 9, vertices).astype(numpy.int32)
    predecessor = random.integers(0, max(1, vertices), vertices).astype(tree)
    distance[::5], predecessor[::5] = -1, -1
    return permutation, distance, predecessor


def back(permutation, distance, predecessor):
    inverse = numpy.empty_like(permutation)
    invert(permutation, inverse)
    old_distance, old_predecessor = numpy.empty_like(distance), numpy.empty_like(predecessor)
    distances_back(permutation, distance, old_distance)
    predecessors_back(permutation, inverse, predecessor, old_predecessor)
    return old_distance, old_predecessor


def test_labels_follow_their_vertices():
    permutation, distance, predecessor = labels(57, numpy.int32, numpy.uint32)
    old_distance, old_predecessor = back(permutation, distance, predecessor)
    for old, new in enumerate(permutation.tolist()):
        assert old_distance[old] == distance[new]
        if predecessor[new] < 0:
            assert old_predecessor[old] == -1
        else:
            assert permutation[old_predecessor[old]] == predecessor[new]


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("vertices", [0, 1, 33, 300_000])
def test_row_offsets_of_the_numbering_before(vertices, dtype):
    random = numpy.random.default_rng(3)
    lengths = random.integers(0, 9, vertices)
    permutation = random.permutation(vertices).astype(dtype)
    new = numpy.zeros(vertices + 1, numpy.int64)
    new[1:][permutation] = lengths
    found = row_offsets_back(permutation, numpy.cumsum(new))
    assert found.dtype == numpy.int64
    assert found.tolist() == [0, *numpy.cumsum(lengths).tolist()]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("tree", "dtype"),
    [(numpy.int32, numpy.uint32), (numpy.int64, numpy.uint32), (numpy.int64, numpy.uint64)],
)
@pytest.mark.parametrize("vertices", [0, 1, 33, 10_000])
@pytest.mark.parametrize("block", [32, 256, 1024])
def test_cuda_brings_back_what_the_cpu_does(vertices, tree, dtype, block):
    import cupy

    from gravel.kernels.relabel_cuda import LabelsBack

    permutation, distance, predecessor = labels(vertices, tree, dtype)
    expected = back(permutation, distance, predecessor)
    # Labels that are halves of keys lie two apart.
    pairs = cupy.asarray(numpy.stack([distance, distance + 7], axis=1))
    both = LabelsBack(permutation, distance=True, predecessor=True, tree=tree, block=block)
    found = both.run(pairs[:, 0], cupy.asarray(predecessor))
    assert numpy.array_equal(found[0].get(), expected[0])
    assert numpy.array_equal(found[1].get(), expected[1])
    assert found[2] >= 0
    one = LabelsBack(permutation, distance=True, predecessor=False, tree=tree, block=block)
    distances, none, _ = one.run(pairs[:, 0], None)
    assert numpy.array_equal(distances.get(), expected[0])
    assert none is None
    with pytest.raises(ValueError, match="labels are int32; found int64"):
        one.run(pairs[:, 0].astype(cupy.int64), None)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
def test_components_are_named_by_their_smallest_old_vertex(dtype) -> None:
    rng = numpy.random.default_rng(5)
    component_of_old = rng.integers(0, 7, 50)
    permutation = rng.permutation(50)
    by_new = numpy.empty(50, dtype)
    # Each label is a new vertex of the component, as searches have it.
    for label in range(7):
        members = numpy.flatnonzero(component_of_old == label)
        by_new[permutation[members]] = permutation[members].min(initial=49)
    found, workspace = numpy.empty(50, dtype), numpy.empty(50, dtype)
    components_back(permutation.astype(dtype), by_new, workspace, found)
    smallest = [numpy.flatnonzero(component_of_old == label)[0] for label in component_of_old]
    numpy.testing.assert_array_equal(found, smallest)
