"""The graph that rmat -> symmetrize gives is as skewed as Graph500's: hubs, leaves, isolated vertices."""

import numpy
import pytest

from gravel.kernels.generate import generate
from gravel.stages.artifacts import EdgeList
from gravel.stages.context import PlainContext
from gravel.stages.symmetrize import STAGE, SymmetrizeParameters

SCALE, EDGE_FACTOR = 15, 16


def graph500_edges(random):
    """Edges by the specification's generator (Graph500 2.1, section 3.3): two draws a level."""
    a, b, c = 0.57, 0.19, 0.19
    ends = numpy.zeros((2, EDGE_FACTOR << SCALE), numpy.uint32)
    for level in range(SCALE):
        down = random.random(ends.shape[1]) > a + b
        right = random.random(ends.shape[1]) > numpy.where(down, c / (1 - a - b), a / (a + b))
        ends += numpy.array([down, right], numpy.uint32) << numpy.uint32(level)
    return random.permutation(1 << SCALE).astype(numpy.uint32)[ends]


def degrees_of(source, target):
    edges = EdgeList(source=source, target=target, vertex_count=1 << SCALE, undirected=True)
    graph = STAGE.run(PlainContext(), SymmetrizeParameters(), input=edges)
    assert graph.symmetric
    return numpy.sort(numpy.diff(graph.row_offsets))[::-1]


@pytest.fixture(scope="module")
def degrees():
    ours = generate("rmat", scale=SCALE, edge_factor=EDGE_FACTOR, seed=1)
    return degrees_of(*ours), degrees_of(*graph500_edges(numpy.random.default_rng(1)))


def test_arcs_after_duplicates_and_loops_are_removed(degrees):
    ours, theirs = degrees
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.005)


@pytest.mark.parametrize(
    ("rank", "tolerance"), [(0, 0.06), (10, 0.05), (100, 0.04), (1000, 0.04), (10000, 0.05)]
)
def test_degree_of_the_vertex_at_a_rank(degrees, rank, tolerance):
    ours, theirs = degrees
    assert ours[rank] == pytest.approx(theirs[rank], rel=tolerance, abs=1)


@pytest.mark.parametrize("degree", [0, 1, 2, 8])
def test_vertices_of_small_degree(degrees, degree):
    ours, theirs = ((found == degree).sum() for found in degrees)
    assert ours == pytest.approx(theirs, rel=0.08)


def test_labels_do_not_tell_the_degree():
    source, target = generate("rmat", scale=SCALE, edge_factor=EDGE_FACTOR, seed=1)
    ends = numpy.bincount(numpy.append(source, target), minlength=1 << SCALE)
    hubs = numpy.argsort(ends)[-1024:]
    assert numpy.histogram(hubs, 8, (0, 1 << SCALE))[0].min() > 80  # 128 on average
    assert abs(numpy.corrcoef(numpy.arange(1 << SCALE), ends)[0, 1]) < 0.03
