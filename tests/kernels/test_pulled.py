"""Arcs that a bottom-up level reads."""

import numpy

from gravel.kernels.pulled import pulled_arcs


def test_pulled_arcs_end_at_the_first_neighbour_in_the_frontier() -> None:
    offsets = numpy.array([0, 2, 5, 6, 7], numpy.int64)
    columns = numpy.array([1, 2, 0, 2, 3, 0, 1], numpy.uint32)
    distance = numpy.array([0, 1, 1, 2])
    # Vertices 1 and 2 find vertex 0 at once; vertex 3 reads its whole row.
    assert pulled_arcs(distance, offsets, columns, 0) == 1 + 1 + 1
    assert pulled_arcs(distance, offsets, columns, 1) == 1
    assert pulled_arcs(numpy.array([-1, 0, -1, -1]), offsets, columns, 0) == 1 + 1 + 1
    assert pulled_arcs(numpy.array([-1, -1, 0, -1]), offsets, columns, 0) == 2 + 2 + 1
