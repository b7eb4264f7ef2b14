"""How a graph is measured, and what `auto` makes of it."""

import numpy
import pytest

from gravel.kernels.bfs import choose, choose_for_rows, prepare
from gravel.kernels.bfs.choice import MEASURED_PROCESSORS, measure
from gravel.kernels.bfs.choice import on_device as choose_on_device
from gravel.kernels.bfs.shape import Growth, Shape, top_share
from gravel.kernels.layouts import encode
from gravel.kernels.layouts.registry import encoded_layouts
from gravel.kernels.strategy import strategies_in
from tests.kernels.cuda_case import fast_csr, on_device, rmat
from tests.zoo import zoo

GRAPHS = {graph.name: graph for graph in zoo()}


def shape_of(name, **options):
    return measure(*GRAPHS[name].csr(**options), symmetric=options.get("symmetric", True))


def test_degrees_are_counted():
    star = shape_of("star_300")
    assert (star.vertices, star.arcs, star.linked, star.largest_degree) == (300, 598, 300, 299)
    assert star.mean_degree == pytest.approx(598 / 300)
    assert shape_of("all_isolated").linked == 0


def test_a_share_of_the_arcs_is_that_of_the_largest_vertices():
    star = shape_of("star_300")
    # Three of 300 vertices: the hub with 299 arcs, and two with one.
    assert star.top_share == pytest.approx(301 / 598)
    assert shape_of("cycle_64").top_share == pytest.approx(1 / 64)
    assert shape_of("empty").top_share == 0
    assert top_share([5, 0, 0], [0, 0, 0]) == 0


def test_a_search_that_stopped_is_drawn_out():
    # On a lattice the vertices within l steps grow with the square of l.
    lattice = Growth(tuple(range(4, 400, 4)), tuple(range(16, 1600, 16)), complete=False)
    assert lattice.levels(sum(lattice.arcs) * 100) == pytest.approx(990, rel=0.1)
    assert Growth((1, 2, 1), (2, 4, 2), complete=True).levels(8) == 3
    assert Growth((1,), (100,), complete=False).levels(1000) == 1


def test_on_the_cpu_the_direction_is_what_counts():
    csr = GRAPHS["grid_13x17"].csr()
    assert choose(*csr, symmetric=True).strategy == "direction_optimizing"
    directed = choose(*csr, symmetric=False)
    assert directed.strategy == "top_down"
    assert "directed" in directed.reason
    assert "of the arcs" in directed.reason


@pytest.mark.parametrize(
    ("symmetric", "linked", "top", "vertices", "arcs", "complete", "total", "chosen"),
    [
        (True, 646_411, 0.43, (1, 64803), (64803, 21_900_000), False, 31_400_130, "direction_optimizing"),
        (True, 10**6, 0.01, tuple(range(1, 257)), tuple(range(4, 1028, 4)), False, 3_996_000, "persistent"),
        (True, 64_000, 0.01, tuple(range(1, 40)), tuple(range(0, 3900, 100)), True, 1_579_032, "hybrid"),
        (True, 325_557, 0.34, (1, 18236) * 8, (18236, 600_000) * 8, False, 5_477_938, "hybrid"),
        (True, 1001, 0.1, (1, 300, 700), (300, 9000, 7000), True, 16_300, "direction_optimizing"),
        (True, 10**6, 0.01, (1,) * 50, (600_000,) * 50, True, 3 * 10**7, "expand_contract"),
        (True, 2 * 10**6, 0.01, (1,) * 50, (100_000,) * 50, True, 5 * 10**6, "direction_optimizing"),
        (False, 71_891, 0.22, (1, 2510, 27165), (2510, 90_000, 777_000), True, 870_161, "hybrid"),
        (False, 547_350, 0.41, (1, 39646), (39646, 9_600_000), False, 16_085_936, "hybrid"),
        (False, 10**6, 0.02, (1,) * 36, (200_000,) * 36, True, 7_200_000, "expand_contract"),
        (False, 300, 0.01, (1,) * 300, (1,) * 300, True, 300, "persistent"),
        (True, 1 << 20, 0.5, (1,), (5_000_000,), False, 10_000_000, "direction_optimizing"),
        (False, 0, 0.0, (1,), (0,), True, 0, "hybrid"),
    ],
)
def test_on_a_gpu_depth_and_symmetry_are_what_counts(
    symmetric, linked, top, vertices, arcs, complete, total, chosen
) -> None:
    shape = Shape(1 << 20, total, symmetric, linked, 9, top, Growth(vertices, arcs, complete), 1.0)
    name, reason = choose_on_device(shape)
    assert name == chosen
    assert "cuda" in strategies_in("gravel.kernels.bfs")[name].automatic
    assert symmetric or strategies_in("gravel.kernels.bfs")[name].directed
    assert f"hold {top:.0%} of the arcs" in reason
    assert f"{shape.levels:.0f} levels" in reason


def test_when_levels_fill_a_gpu_goes_by_its_multiprocessors() -> None:
    """40,000 vertices a level are many for an H200, and few for twice as many multiprocessors."""
    levels = Growth((1,) * 50, (100_000,) * 50, True)
    shape = Shape(1 << 21, 5 * 10**6, True, 2 * 10**6, 9, 0.01, levels, 1.0)
    assert choose_on_device(shape)[0] == "direction_optimizing"
    assert choose_on_device(shape, 2 * MEASURED_PROCESSORS)[0] == "persistent"
    long_rows = Growth((1,) * 200, (200_000,) * 200, True)
    shape = Shape(1 << 21, 4 * 10**7, False, 2 * 10**6, 9, 0.01, long_rows, 1.0)
    assert choose_on_device(shape)[0] == "expand_contract"
    assert choose_on_device(shape, 2 * MEASURED_PROCESSORS)[0] == "hybrid"


def test_a_name_that_was_asked_for_is_kept_or_refused():
    csr = GRAPHS["star_300"].csr()
    asked = choose(*csr, symmetric=True, strategy="top_down")
    assert (asked.strategy, asked.reason, asked.milliseconds) == ("top_down", "asked for", 0.0)
    with pytest.raises(ValueError, match="unknown BFS strategy 'sideways'"):
        choose(*csr, symmetric=True, strategy="sideways")
    with pytest.raises(ValueError, match="needs a symmetric graph"):
        choose(*csr, symmetric=False, strategy="direction_optimizing")


def test_the_choice_is_in_the_search_and_its_time_in_the_preparation():
    csr = GRAPHS["star_300"].csr()
    choice = choose(*csr, symmetric=True)
    search = prepare(*csr, strategy=choice, symmetric=True)
    assert (search.strategy, search.reason) == (choice.strategy, choice.reason)
    assert search.prepare_milliseconds > choice.milliseconds > 0


@pytest.mark.gpu
def test_the_device_counts_what_the_host_counts():
    for graph in (*GRAPHS.values(), rmat(14)):
        for symmetric in (True, False):
            csr = fast_csr(graph, symmetric=symmetric) if graph.vertex_count else graph.csr()
            here, there = (measure(*arrays, symmetric=symmetric) for arrays in (csr, on_device(*csr)))
            for field in ("vertices", "arcs", "linked", "largest_degree", "top_share"):
                assert getattr(here, field) == getattr(there, field), (graph.name, field)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_a_short_search_is_a_search(index):
    for graph in (*GRAPHS.values(), rmat(14)):
        if not graph.vertex_count:
            continue
        csr = fast_csr(graph, symmetric=True, index=index)
        placed = on_device(*csr)
        growth = measure(*placed, symmetric=True).growth
        hub = int(numpy.flatnonzero(numpy.diff(csr[0]) == numpy.diff(csr[0]).max())[-1])
        distance = prepare(*csr, strategy="top_down", output="distance", symmetric=True).run(hub).distance
        sizes = numpy.bincount(distance[distance >= 0])
        assert growth.vertices == tuple(sizes.tolist()[: len(growth.vertices)])
        assert growth.complete == (len(sizes) == len(growth.vertices)), graph.name
        arcs = numpy.bincount(distance[distance >= 0], weights=numpy.diff(csr[0])[distance >= 0])
        assert growth.arcs == tuple(arcs[: len(growth.arcs)].astype(int).tolist())


@pytest.mark.gpu
def test_what_auto_chooses_searches():
    for graph in (*GRAPHS.values(), rmat(14)):
        if not graph.vertex_count:
            continue
        for symmetric in (True, False):
            csr = fast_csr(graph, symmetric=symmetric)
            search = prepare(*on_device(*csr), symmetric=symmetric)
            assert "cuda" in strategies_in("gravel.kernels.bfs")[search.strategy].automatic
            expected = prepare(*csr, symmetric=symmetric).run(0)
            found = search.run(0)
            numpy.testing.assert_array_equal(found.distance.get(), expected.distance)
            numpy.testing.assert_array_equal(found.predecessor.get(), expected.predecessor)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", encoded_layouts())
def test_encoded_rows_of_deep_graphs_are_searched_by_hops(layout):
    for graph, strategy in (("grid_13x17", "persistent"), ("star_300", "direction_optimizing")):
        rows = encode(layout, *on_device(*GRAPHS[graph].csr()))
        assert choose_for_rows(rows, symmetric=True).strategy == strategy
