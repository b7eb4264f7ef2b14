"""Sums of distances and eccentricities against SciPy's distances."""

import numpy
import pytest

from gravel.kernels.csr import build
from gravel.kernels.distances.eccentricity import (
    GOALS,
    PATIENCE,
    diameter_of_rows,
    eccentricities,
    eccentricities_of_rows,
)
from gravel.kernels.distances.many import aggregate
from gravel.kernels.layouts.layout import columns_as_rows
from tests.kernels.distances.test_many import ascending, random_rows
from tests.zoo import ZooGraph, scipy_distances, zoo

ZOO = [graph for graph in zoo() if 0 < graph.vertex_count <= 800]


def joined(graph):
    """Add a path through a tenth of the vertices and an edge from each other one to it."""
    n = graph.vertex_count
    extra = [(v, v + 1) if v < n // 10 else (v, v % (n // 10 + 1)) for v in range(n - 1)]
    extra.append((n - 1, 0))
    ends = numpy.array(extra, numpy.uint32)
    source, target = (
        numpy.concatenate([side, ends[:, i]]) for i, side in enumerate((graph.source, graph.target))
    )
    return ZooGraph(graph.name, n, source, target)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_sums_of_all_sources(graph, symmetric):
    rows = graph.csr(symmetric=symmetric)
    sources = numpy.arange(graph.vertex_count)
    found = aggregate(*rows, sources, symmetric=symmetric)
    for v in sources[:: max(1, len(sources) // 50)].tolist():
        distance = scipy_distances(*rows, v)
        reached = distance[distance >= 0]
        assert (found.eccentricity[v], found.reached[v], found.total[v]) == (
            reached.max(),
            len(reached),
            reached.sum(),
        )


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_eccentricities_are_exact_where_the_goal_needs_them(graph):
    rows = joined(graph).csr()
    sums = aggregate(*rows, numpy.arange(graph.vertex_count), symmetric=True)
    exact, largest, smallest = sums.eccentricity, sums.eccentricity.max(), sums.eccentricity.min()
    assert sums.reached.min() == graph.vertex_count
    found = {goal: eccentricities(*rows, goal) for goal in GOALS}
    assert found["all"].tolist() == exact.tolist()
    assert found["diameter"].max() == largest
    assert found["radius"].min() == smallest
    assert ((found["periphery"] == largest) == (exact == largest)).all()
    assert ((found["center"] == smallest) == (exact == smallest)).all()


def test_a_graph_in_parts_has_no_eccentricities():
    graph = next(graph for graph in ZOO if graph.name == "two_parts")
    assert eccentricities(*graph.csr()) is None


def test_an_unknown_goal_is_refused():
    with pytest.raises(ValueError, match="center"):
        eccentricities(*ZOO[0].csr(), "mean")


@pytest.mark.parametrize("seed", range(12))
def test_eccentricities_of_a_graph_in_parts(seed):
    rows = ascending(random_rows(seed))
    n = len(rows[0]) - 1
    exact = aggregate(*rows, numpy.arange(n), symmetric=True).eccentricity
    found = {goal: eccentricities(*rows, goal, in_parts=True) for goal in GOALS}
    assert found["all"].tolist() == exact.tolist()
    assert found["diameter"].max() == exact.max()
    assert found["radius"].min() == exact.min()
    assert ((found["periphery"] == exact.max()) == (exact == exact.max())).all()
    assert ((found["center"] == exact.min()) == (exact == exact.min())).all()


def test_vertices_without_arcs_take_no_searches():
    offsets, columns = joined(next(graph for graph in ZOO if graph.name == "star_300")).csr()
    offsets = numpy.concatenate([offsets, numpy.full(5000, offsets[-1])])
    left = []
    found = eccentricities(
        offsets, columns, "diameter", in_parts=True, progress=lambda done, total: left.append(total - done)
    )
    assert found.max() == 2
    assert max(left) < 300
    assert eccentricities(offsets, columns) is None


@pytest.mark.parametrize("seed", range(20))
def test_the_diameter_of_trees_and_chains_is_exact(seed):
    random = numpy.random.default_rng(seed)
    child = numpy.arange(1, 300)
    parent = (random.random(299) * child).astype(int) if seed % 2 else child - random.integers(1, 4, 299)
    ends = numpy.stack([child, parent.clip(0)])[:, random.random(299) < 0.99]
    chords = random.integers(0, 300, (2, seed))
    offsets, columns, _ = build(*numpy.concatenate([ends, chords], 1).astype(numpy.uint32), 300)
    exact = aggregate(offsets, columns, numpy.arange(300), symmetric=True).eccentricity
    assert eccentricities(offsets, columns, "diameter", in_parts=True).max() == exact.max()
    assert eccentricities(offsets, columns, "radius", in_parts=True).min() == exact.min()


def test_few_searches_decide_a_large_graph():
    rows = joined(next(graph for graph in ZOO if graph.name == "star_300")).csr()
    steps = []
    eccentricities(*rows, "diameter", progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (300, 300)
    assert all(0 <= done <= total == 300 for done, total in steps)
    assert len(steps) < 10


def test_bounds_of_every_search_are_kept_and_gone_on_from():
    """A path is decided by searches that bound others alone; none of them may be lost."""
    ends = numpy.arange(299, dtype=numpy.uint32)
    graph = build(ends, ends + numpy.uint32(1), 300)
    rows = graph.row_offsets, graph.column_indices
    kept = []
    whole = eccentricities(*rows, keep=lambda lower, upper: kept.append((lower.copy(), upper.copy())))
    assert len(kept) >= 2
    for known in kept:
        numpy.testing.assert_array_equal(eccentricities(*rows, known=known), whole)


@pytest.mark.parametrize("goal", ["all", "diameter", "periphery"])
def test_bounds_of_every_batch_are_kept_and_gone_on_from(goal):
    """Searches of a random graph bound few others, so that most are searched in batches."""
    rng = numpy.random.default_rng(4)
    graph = build(*rng.integers(0, 3000, (2, 9000)).astype(numpy.uint32), 3000)
    rows = graph.row_offsets, graph.column_indices
    exact = aggregate(*rows, numpy.arange(3000), symmetric=True).eccentricity
    kept = []
    options = {"in_parts": True, "memory": 200_000}
    eccentricities(
        *rows, goal, keep=lambda lower, upper: kept.append((lower.copy(), upper.copy())), **options
    )
    assert PATIENCE + 2 < len(kept) < 3000 // 32
    for lower, upper in kept:
        assert (lower <= exact).all()
        assert (exact <= upper).all()
    for known in kept[:: len(kept) // 4]:
        found = eccentricities(*rows, goal, known=known, **options)
        if goal == "all":
            numpy.testing.assert_array_equal(found, exact)
        assert found.max() == exact.max()


@pytest.mark.parametrize("seed", range(3))
def test_few_searches_find_the_radius_of_a_tree(seed):
    """Vertices that are far out bound all others, though they need no search themselves."""
    child = numpy.arange(1, 20_000)
    parent = (numpy.random.default_rng(seed).random(len(child)) * child).astype(numpy.uint32)
    graph = build(child.astype(numpy.uint32), parent, 20_000)
    steps = []
    rows = graph.row_offsets, graph.column_indices
    found = eccentricities(*rows, "radius", progress=lambda done, total: steps.append(done))
    assert (steps[-1], found.min()) == (20_000, eccentricities(*rows).min())
    assert len(steps) <= 6


@pytest.mark.parametrize("goal", ["diameter", "periphery"])
@pytest.mark.parametrize("seed", range(4))
def test_the_middle_of_a_long_path_decides_almost_all(seed, goal):
    n, random = 3000, numpy.random.default_rng(seed)
    child = numpy.arange(1, n)
    parent = random.integers(numpy.maximum(0, child - 40), child)
    rows = build(child.astype(numpy.uint32), parent.astype(numpy.uint32), n)[:2]
    searches = []
    found = eccentricities(*rows, goal, progress=lambda *done: searches.append(done))
    assert found.max() == eccentricities(*rows).max()
    assert len(searches) <= 5


def test_the_diameter_is_the_largest_eccentricity_that_was_searched():
    for graph in ZOO:
        rows = columns_as_rows(*graph.csr())
        expected = eccentricities_of_rows(rows, in_parts=True)
        searches: dict[str, object] = {}
        for _ in range(2):
            assert diameter_of_rows(rows, searches=searches) == (expected.max() if len(expected) else 0)
            for goal in ("radius", "center"):
                found = eccentricities_of_rows(rows, goal, in_parts=True, searches=searches)
                assert not len(expected) or found.min() == expected.min()
        assert set(searches) <= {"direction_optimizing"}
