"""The verifiers pass what is right, name each kind of fault, and lead to no code of what they check."""

from __future__ import annotations

import itertools

import numpy
import pytest

from gravel.kernels.verify import Check, check_bfs, check_components, skipped_checks
from gravel.kernels.verify.tree import LOST, levels_of
from gravel.pipeline.core.files import ROOT
from gravel.pipeline.plugins.code import Sources
from tests.kernels.verify.damage import search
from tests.zoo import ZooGraph, scipy_components, zoo

ZOO = [graph for graph in zoo() if graph.vertex_count]
GRID = next(graph for graph in ZOO if graph.name == "grid_13x17")
PARTS = next(graph for graph in ZOO if graph.name == "two_parts")
Csr = tuple[numpy.ndarray, numpy.ndarray]


def failed(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks if not check.passed}


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("symmetric", [True, False])
def test_right_searches_pass(graph: ZooGraph, symmetric: bool) -> None:
    csr = graph.csr(symmetric=symmetric)
    for source in {0, graph.vertex_count // 2, graph.vertex_count - 1}:
        for max_depth in (None, 0, 2):
            distance, predecessor = search(csr, source, max_depth)
            for result in ((distance, predecessor), (distance, None), (None, predecessor)):
                checks = check_bfs(*csr, source, *result, symmetric=symmetric, max_depth=max_depth)
                assert not failed(checks), (source, max_depth)


def test_each_check_is_made_or_said_to_be_skipped() -> None:
    csr = GRID.csr()
    distance, predecessor = search(csr, 0)
    five = {"tree", "tree_levels", "edge_levels", "component", "tree_arcs"}
    for result in ((distance, predecessor), (distance, None), (None, predecessor)):
        made = {check.name for check in check_bfs(*csr, 0, *result, symmetric=True)}
        skipped = skipped_checks(distance=result[0] is not None, predecessor=result[1] is not None)
        names = {record["check"] for record in skipped}
        assert names | made >= five
        assert not names & made
        assert all(record["reason"] for record in skipped)
    assert skipped_checks(distance=True, predecessor=True) == []


@pytest.fixture(params=[True, False], ids=["symmetric", "directed"])
def grid(request: pytest.FixtureRequest) -> dict[str, object]:
    """A grid searched from a corner; arcs lead right and down, and back if symmetric."""
    csr = GRID.csr(symmetric=request.param)
    distance, predecessor = search(csr, 0)
    return {"csr": csr, "d": distance, "p": predecessor, "symmetric": request.param}


def check(grid: dict[str, object], *, distance: bool = True, predecessor: bool = True) -> dict[str, Check]:
    result = (grid["d"] if distance else None, grid["p"] if predecessor else None)
    return failed(check_bfs(*grid["csr"], 0, *result, symmetric=grid["symmetric"]))


def test_wrong_level(grid: dict[str, object]) -> None:
    v = 5 * 17 + 5
    grid["d"][v] += 1
    assert check(grid)["tree_levels"].vertices[0] == v
    nearer = check(grid, predecessor=False)["edge_levels" if grid["symmetric"] else "nearer_neighbour"]
    assert nearer.faults
    grid["d"][v] += 1
    assert v in check(grid)["edge_levels"].vertices or v in dict(check(grid)["edge_levels"].arcs).values()
    grid["d"][v] -= 4
    assert check(grid)["tree_levels"].vertices[0] == v
    broken = check(grid, predecessor=False)
    assert broken["nearer_neighbour"].vertices == (v,)
    assert "edge_levels" in broken


def test_cycle(grid: dict[str, object]) -> None:
    a, b = 5 * 17 + 5, 5 * 17 + 6
    grid["p"][a], grid["p"][b] = b, a
    for distance in (True, False):
        tree = check(grid, distance=distance)["tree"]
        assert tree.vertices[0] == a
        assert b in tree.vertices
        assert tree.faults >= 2
    grid["p"][a] = a
    assert a in check(grid, distance=False)["tree"].vertices


def test_predecessor_that_is_no_neighbour(grid: dict[str, object]) -> None:
    v = 5 * 17 + 5
    stranger = 3 * 17 + 6
    assert grid["d"][stranger] == grid["d"][v] - 1
    grid["p"][v] = stranger
    broken = check(grid)
    assert set(broken) == {"tree_arcs"}
    assert broken["tree_arcs"].faults == 1
    assert broken["tree_arcs"].vertices == (v,)
    assert broken["tree_arcs"].arcs == ((stranger, v),)
    assert set(check(grid, distance=False)) == {"tree_arcs"}


def test_missing_vertex(grid: dict[str, object]) -> None:
    v = 13 * 17 - 1
    grid["d"][v] = grid["p"][v] = -1
    broken = check(grid)
    assert set(broken) == {"component"}
    assert broken["component"].arcs[0] == (v - 17, v)
    assert set(check(grid, predecessor=False)) == {"component"}
    assert set(check(grid, distance=False)) == {"component"}


@pytest.mark.parametrize("symmetric", [True, False])
def test_extra_vertex(symmetric: bool) -> None:
    csr = PARTS.csr(symmetric=symmetric)
    distance, predecessor = search(csr, 0)
    distance[4], predecessor[4] = 2, 1
    broken = failed(check_bfs(*csr, 0, distance, predecessor, symmetric=symmetric))
    assert set(broken) == {"tree_arcs"}
    assert broken["tree_arcs"].arcs == ((1, 4),)
    broken = failed(check_bfs(*csr, 0, distance, None, symmetric=symmetric))
    assert set(broken) == {"nearer_neighbour"}
    assert broken["nearer_neighbour"].vertices == (4,)
    assert set(failed(check_bfs(*csr, 0, None, predecessor, symmetric=symmetric))) == {"tree_arcs"}
    predecessor[4] = -1
    assert set(failed(check_bfs(*csr, 0, distance, predecessor, symmetric=symmetric))) == {"tree"}
    distance[4], predecessor[4] = -1, 1
    assert set(failed(check_bfs(*csr, 0, distance, predecessor, symmetric=symmetric))) == {"tree"}


def test_island_that_is_its_own_tree() -> None:
    csr = PARTS.csr()
    distance, predecessor = search(csr, 0)
    distance[[8, 9]], predecessor[[8, 9]] = (1, 2), (9, 8)
    assert "tree" in failed(check_bfs(*csr, 0, distance, predecessor, symmetric=True))
    assert "tree" in failed(check_bfs(*csr, 0, None, predecessor, symmetric=True))


def test_source(grid: dict[str, object]) -> None:
    grid["p"][0] = 1
    assert check(grid)["source"].vertices == (0,)
    assert check(grid, distance=False)["source"].vertices == (0,)
    grid["p"][0] = -1
    grid["d"][40] = 0
    assert check(grid)["source"].vertices == (40,)


@pytest.mark.parametrize(("distance", "predecessor"), [(-2, 1), (221, 1), (1, -2), (1, 221), (2**31 - 1, 1)])
def test_numbers_out_of_range(grid: dict[str, object], distance: int, predecessor: int) -> None:
    grid["d"][17], grid["p"][17] = distance, predecessor
    assert check(grid)["ranges"].vertices == (17,)
    if predecessor != 1:
        assert check(grid, distance=False)["ranges"].vertices == (17,)


def test_max_depth_stops_where_it_says(grid: dict[str, object]) -> None:
    def broken(max_depth: int, **result: numpy.ndarray) -> set[str]:
        return set(
            failed(check_bfs(*grid["csr"], 0, **result, symmetric=grid["symmetric"], max_depth=max_depth))
        )

    whole = {"distance": grid["d"], "predecessor": grid["p"]}
    assert broken(28, **whole) == set()
    assert broken(5, **whole) == {"ranges"}
    assert broken(5, predecessor=grid["p"]) == {"ranges"}
    distance, predecessor = search(grid["csr"], 0, 5)
    assert broken(5, distance=distance, predecessor=predecessor) == set()
    assert broken(6, distance=distance, predecessor=predecessor) == {"component"}


def test_levels_of_a_tree() -> None:
    """Vertex 5 has no predecessor, 6 and 7 lead to each other, 8 to none."""
    predecessor = numpy.array([-1, 0, 1, 1, 3, -1, 7, 6, 5], numpy.int32)
    assert levels_of(predecessor, 0).tolist() == [0, 1, 2, 2, 3, -1, LOST, LOST, LOST]


def test_many_faults_are_counted_and_the_first_named(grid: dict[str, object]) -> None:
    grid["p"][100:120] = 0
    broken = check(grid)["tree_levels"]
    assert broken.faults == 20
    assert broken.vertices == (100, 101, 102, 103, 104)


def test_many_blocks_agree_with_one() -> None:
    n = 60_000
    child = numpy.arange(1, n)
    parent = numpy.random.default_rng(2).integers(0, child)
    tails, heads = numpy.concatenate((parent, child)), numpy.concatenate((child, parent))
    order = numpy.lexsort((heads, tails))
    offsets = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(tails, minlength=n))))
    heads = heads[order].astype(numpy.uint32)
    distance, predecessor = search((offsets, heads), 3)
    blocks = [(first, min(first + 777, n)) for first in range(0, n, 777)]
    for fault in (False, True):
        if fault:
            distance[n - 1] += 2
        one = check_bfs(offsets, heads, 3, distance, predecessor, symmetric=True, blocks=[(0, n)])
        many = check_bfs(offsets, heads, 3, distance, predecessor, symmetric=True, blocks=blocks)
        assert one == many
        assert bool(failed(many)) is fault


def test_unsorted_directed_rows_and_uint64() -> None:
    offsets, columns = GRID.csr(symmetric=False, index=numpy.uint64)
    for first, last in itertools.pairwise(offsets):
        columns[first:last] = columns[first:last][::-1]
    distance, predecessor = search((offsets, columns), 0)
    wide = predecessor.astype(numpy.int64)
    options = {"symmetric": False, "is_sorted": False}
    assert not failed(check_bfs(offsets, columns, 0, distance, wide, **options))
    wide[40] = wide[41]
    assert failed(check_bfs(offsets, columns, 0, distance, wide, **options))


def test_arrays_of_another_graph_are_refused() -> None:
    csr = GRID.csr()
    with pytest.raises(ValueError, match="shape"):
        check_bfs(*csr, 0, numpy.zeros(3, numpy.int32), symmetric=True)
    with pytest.raises(ValueError, match="neither"):
        check_bfs(*csr, 0, symmetric=True)
    with pytest.raises(ValueError, match="source 221"):
        check_bfs(*csr, 221, numpy.zeros(221, numpy.int32), symmetric=True)
    with pytest.raises(ValueError, match="shape"):
        check_components(*csr, numpy.zeros(3, numpy.uint32))


@pytest.mark.parametrize("graph", list(zoo()), ids=lambda graph: graph.name)
@pytest.mark.parametrize("symmetric", [True, False])
def test_right_components_pass(graph: ZooGraph, symmetric: bool) -> None:
    csr = graph.csr(symmetric=symmetric)
    labels = scipy_components(*csr).astype(numpy.uint32)
    checks = check_components(*csr, labels, symmetric=symmetric)
    assert not failed(checks)
    assert {check.name for check in checks} == {"ranges", "edges_agree", "smallest", "connected"}


@pytest.mark.parametrize("symmetric", [True, False])
def test_wrong_components(symmetric: bool) -> None:
    csr = PARTS.csr(symmetric=symmetric)
    right = scipy_components(*csr).astype(numpy.uint32)
    assert right.tolist() == [0, 0, 0, 3, 4, 5, 5, 5, 8, 8]

    def broken(**labels: int) -> dict[str, Check]:
        wrong = right.copy()
        for name, label in labels.items():
            wrong[int(name[1:])] = label
        return failed(check_components(*csr, wrong, symmetric=symmetric))

    wrong_label = broken(v6=0)
    assert wrong_label["connected"].vertices == (6,)
    assert wrong_label["edges_agree"].arcs[0] in {(5, 6), (6, 5)}
    split = broken(v7=7)
    assert split["edges_agree"].arcs[0] in {(6, 7), (7, 6)}
    merged = broken(v8=5, v9=5)
    assert set(merged) == {"connected"}
    assert merged["connected"].vertices == (8, 9)
    assert set(broken(v4=3)) == {"connected"}
    not_smallest = broken(v5=7, v6=7, v7=7)
    assert not_smallest["smallest"].vertices == (5, 6)
    no_root = broken(v8=4, v9=4, v4=3)
    assert 8 in no_root["smallest"].vertices
    assert broken(v1=10)["ranges"].vertices == (1,)


def test_predecessors_along_a_long_path_are_walked_once() -> None:
    n = 200_000
    offsets = numpy.concatenate((numpy.arange(n), [n - 1])).astype(numpy.int64)
    columns = numpy.arange(1, n, dtype=numpy.uint32)
    predecessor = numpy.arange(-1, n - 1, dtype=numpy.int32)
    assert not failed(check_bfs(offsets, columns, 0, None, predecessor, symmetric=False))
    predecessor[n // 2] = n - 1
    broken = failed(check_bfs(offsets, columns, 0, None, predecessor, symmetric=False))
    assert broken["tree"].faults == n - n // 2


ALGORITHMS = ("bfs", "components", "strong_components", "sssp")


CHECKED = tuple(f"{folder}{name}" for folder in ("gravel.kernels.", "kernels/") for name in ALGORITHMS)


def below(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith((f"{root}.", f"{root}/")) for root in roots)


@pytest.mark.parametrize(
    "modules",
    [
        tuple(f"gravel.kernels.verify.cuda.{name}" for name in ALGORITHMS),
        tuple(f"gravel.kernels.verify.{name}" for name in ALGORITHMS),
    ],
    ids=["cuda", "cpu"],
)
def test_nothing_of_what_is_checked_is_reached(modules: tuple[str, ...]) -> None:
    reached = Sources(ROOT).closure(*modules)
    assert not [name for name in reached if below(name, CHECKED)]
    if "cuda" in modules[0]:
        # What they are made of is seen, kernels and headers too.
        kernels = {name for name in reached if name.startswith("kernels/verify/cuda/")}
        names = ("vertices.cu", "rows.cu", "paths.cu", "components.cu", "strong_components.cu")
        names += ("counts.cuh", "long_rows.cuh", "integers.cuh", "rules.cuh")
        assert kernels == {f"kernels/verify/cuda/{name}" for name in names}
        assert "gravel.kernels.verify.cuda.blocks" in reached
