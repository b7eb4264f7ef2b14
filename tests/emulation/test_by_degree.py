"""First neighbours by degree: which are chosen, and for which graphs."""

import numpy
import pytest

from gravel.kernels.bfs.cuda.by_degree import choose_by_degree, degree_classes
from tests.emulation import strict_cupy
from tests.kernels.cuda_case import fast_csr, rmat

pytestmark = pytest.mark.usefixtures("on_cpu")
TRIED = 64


def eighths(degrees):
    """Degrees in steps of an eighth of a power of two."""
    power = numpy.floor(numpy.log2(numpy.maximum(degrees, 1))).astype(int)
    return numpy.where(degrees > 0, power * 8 + (degrees * 8 >> power & 7), 0)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_neighbours_of_the_highest_classes_are_kept(index, groups) -> None:
    offsets, columns = fast_csr(rmat(9, 8), symmetric=True, index=index)
    placed = [strict_cupy.on_device(array) for array in (offsets, columns)]
    degrees = numpy.diff(offsets)
    classes = degree_classes(placed[0])
    numpy.testing.assert_array_equal(classes.get(), eighths(degrees))
    words, absent = len(degrees) // 32 + 1, numpy.iinfo(index).max
    first, behind = numpy.zeros((words * 32, 2), index), numpy.zeros((max(groups, 1), words * 32, 8), index)
    filled = [strict_cupy.on_device(a) for a in (first, behind, numpy.zeros(words, numpy.uint32))]
    choose_by_degree(*placed, classes, *filled, groups=groups)
    first, behind, closed = (array.get() for array in filled)
    for v, degree in enumerate(degrees):
        row = columns[offsets[v] : offsets[v + 1]][:TRIED]
        best = row[numpy.argsort(-eighths(degrees)[row], kind="stable")]
        best = numpy.concatenate([best, numpy.full(18, absent, index)])[: 2 + 8 * groups]
        kept = numpy.concatenate([first[v], *behind[:groups, v]])
        numpy.testing.assert_array_equal(kept, best)
        assert bool(closed[v // 32] >> v % 32 & 1) == (degree == 0)
    assert (first[len(degrees) :] == absent).all()


def test_a_graph_without_hubs_keeps_its_first_arcs() -> None:
    even = numpy.arange(0, 4 * 400 + 1, 4)
    assert degree_classes(strict_cupy.on_device(even)) is None
    one_hub = numpy.concatenate([even, even[-1:] + 400])
    assert degree_classes(strict_cupy.on_device(one_hub)) is not None


def test_more_planes_than_are_chosen_are_refused() -> None:
    with pytest.raises(ValueError, match="groups is 3; at most 2"):
        choose_by_degree(*(None,) * 6, groups=3)
