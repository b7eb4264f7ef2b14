"""What the conformance suite of BFS strategies is made of: who takes part, the answers, and the comparison.

Every registered strategy takes part, on each backend that it has. CPU implementations that several
strategies name are tested once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy

from gravel.kernels.bfs import prepare, prepare_rows
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.layouts import encode
from gravel.kernels.strategy import Strategy, strategies_in
from tests.kernels.cuda_case import fast_csr, rmat, smallest_predecessors
from tests.zoo import ZooGraph, scipy_distances, zoo

STRATEGIES = strategies_in("gravel.kernels.bfs")
GRAPHS = {graph.name: graph for graph in zoo()}
MERRILL = tuple(name for name, each in STRATEGIES.items() if "PPoPP 2012, section 5." in each.source)
OUTPUTS = ("both", "distance", "predecessor")
BLOCKS = (32, 64, 128, 256, 512, 1024)


COLUMNS = "columns"
"""Stands for a layout where rows are not encoded."""


def on_cpu(strategies: dict[str, Strategy]) -> list[str]:
    """Name a strategy for each implementation."""
    first: dict[str, str] = {}
    # A strategy that is named as its implementation's module comes before those that borrow it.
    own_first = sorted(strategies.values(), key=lambda each: (each.name not in (each.cpu or ""), each.name))
    for strategy in own_first:
        if strategy.cpu:
            first.setdefault(strategy.cpu, strategy.name)
    return sorted(first.values())


ALWAYS_PULL = {"alpha": 1e18, "bottom_up_min_arcs_per_word": 0.0, "beta": 1e18}
STEPS = {
    "pull": ALWAYS_PULL,
    "pull_groups": ALWAYS_PULL | {"neighbour_groups": 2},
    "pull_uncached": ALWAYS_PULL | {"words_per_unvisited": 0.0},
    "alternate": ALWAYS_PULL | {"beta": 0.0, "bottom_up_min_levels": 0},
    "pull_then_push": ALWAYS_PULL | {"alpha": 50.0, "beta": 4.0, "bottom_up_min_levels": 1, "team_limit": 0},
    "push": {"alpha": 0.0, "team_limit": 0, "push_without_queue_factor": 1e18},
    "push_without_queue_factor": {"alpha": 0.0, "team_limit": 0, "push_without_queue_factor": 0.0},
    "unqueued_and_pull": {
        "alpha": 3.0,
        "bottom_up_min_arcs_per_word": 0.0,
        "team_limit": 0,
        "push_without_queue_factor": 0.0,
        "beta": 3.0,
        "bottom_up_min_levels": 1,
    },
    "team_of_one": {"alpha": 0.0, "team_blocks": 1},
    "team_of_all": {"alpha": 0.0, "team_blocks": 128, "team_limit": 1 << 20},
    "team_spills": {"alpha": 0.0, "team_blocks": 2, "team_capacity": 32},
    "small_blocks": {"block": 64},
}
"""Constants that lead through every step of the device's search."""


def place(backend: str, *arrays: Any) -> tuple[Any, ...]:
    """Bring arrays to where a backend wants them."""
    if backend == "cpu":
        return arrays
    import cupy

    return tuple(cupy.asarray(array) for array in arrays)


def fetch(array: Any) -> Any:
    """Bring labels to the host."""
    return array if array is None or isinstance(array, numpy.ndarray) else array.get()


@cache
def csr_of(name: str, symmetric: bool, index: type = numpy.uint32, raw: bool = False) -> tuple[Any, Any]:
    """Rows of a graph of the zoo."""
    return GRAPHS[name].csr(symmetric=symmetric, index=index, raw=raw)


@cache
def hubs() -> ZooGraph:
    """Skewed enough that every kind of level occurs on a GPU."""
    return rmat(14)


def long_rows() -> ZooGraph:
    """Rows of 3,000 neighbours that bottom-up levels read to their end, more of them than a block puts off.

    A path leads to the hubs, whose only visited neighbour is the last of their row, or has none yet.
    """
    leaves, count, steps = 3000, 100, 5
    path = leaves + count + numpy.arange(steps)
    hub = numpy.repeat(leaves + numpy.arange(count), leaves)
    sources = numpy.concatenate([path[:-1], hub, leaves + numpy.arange(count)])
    targets = numpy.concatenate(
        [
            path[1:],
            numpy.tile(numpy.arange(leaves), count),
            numpy.where(numpy.arange(count) % 9, path[3], path[1]),
        ]
    )
    return ZooGraph("long_rows", leaves + count + steps, sources, targets)


def large_graph(seed: int) -> tuple[Any, Any]:
    """Skewed enough that every kind of level occurs on a CPU; lists that are longer than a chunk of arcs."""
    random = numpy.random.default_rng(seed)
    n = 40_000
    pairs = (random.random((150_000, 2)) ** 3 * n).astype(numpy.int64)
    hub = numpy.stack([numpy.full(20_000, 7), random.integers(0, n, 20_000)], axis=1)
    pairs = numpy.concatenate([pairs, hub])
    pairs = numpy.concatenate([pairs, pairs[:, ::-1]])
    keys = distinct(pairs[pairs[:, 0] != pairs[:, 1]] @ numpy.array([n, 1]))
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(keys // n, minlength=n))
    return offsets, (keys % n).astype(numpy.uint32)


def sources_of(vertices: int, count: int = 4) -> list[int]:
    """A few vertices, the first and the last among them."""
    return sorted({0, vertices - 1, vertices // 2, vertices // 3})[:count] if vertices else []


@cache
def hub_rows(symmetric: bool, index: type = numpy.uint32) -> tuple[Any, Any]:
    return fast_csr(hubs(), symmetric=symmetric, index=index)


def prepared(
    csr: tuple[Any, Any], strategy: str, layout: str, backend: str, *, symmetric: bool = True, **options: Any
) -> Any:
    """Bring rows to where a backend wants them, in a layout, and make them ready."""
    placed = place(backend, *csr)
    asked = {"strategy": strategy, "symmetric": symmetric, **options}
    if layout == COLUMNS:
        return prepare(*placed, **asked)
    return prepare_rows(encode(layout, *placed), **asked)


def search_all(
    csr: tuple[Any, Any],
    strategy: str,
    layout: str = COLUMNS,
    backend: str = "cuda",
    *,
    output: str = "both",
    count: int = 4,
    max_depth: int | None = None,
    statistics: bool = False,
    exact: bool = False,
    **options: Any,
) -> None:
    """Search from some vertices and look at every answer; of `exact` searches each arc is counted once."""
    if statistics:
        options["statistics"] = True
    search = prepared(csr, strategy, layout, backend, output=output, max_depth=max_depth, **options)
    assert (search.strategy, search.reason) == (strategy, "asked for")
    counted = statistics and backend in STRATEGIES[strategy].counts
    for source in sources_of(len(csr[0]) - 1, count):
        check(search.run(source), csr, source, output, max_depth, counted, exact)


_answers: dict[tuple[int, int, int | None], Any] = {}


def expected(csr: tuple[Any, Any], source: int, max_depth: int | None = None) -> tuple[Any, Any]:
    """Distances by SciPy, and the smallest neighbour one step nearer."""
    key = id(csr), source, max_depth
    if key not in _answers:
        distance = scipy_distances(*csr, source)
        if max_depth is not None:
            distance = numpy.where(distance > max_depth, -1, distance).astype(numpy.int32)
        # The rows are kept as well, so that no other rows get their address.
        _answers[key] = csr, distance, smallest_predecessors(*csr, distance)
    return _answers[key][1:]


def check(
    result: Any,
    csr: tuple[Any, Any],
    source: int,
    output: str,
    max_depth: int | None = None,
    statistics: bool = False,
    exact: bool = False,
) -> None:
    """Compare one search with the answers; every field of the result is looked at."""
    distance, predecessor = expected(csr, source, max_depth)
    found = fetch(result.distance), fetch(result.predecessor)
    assert (found[0] is None) == (output == "predecessor")
    assert (found[1] is None) == (output == "distance")
    if found[0] is not None:
        assert found[0].dtype == numpy.int32
        numpy.testing.assert_array_equal(found[0], distance)
    if found[1] is not None:
        assert found[1].dtype in (numpy.int32, numpy.int64)
        numpy.testing.assert_array_equal(found[1], predecessor)
    assert result.source == source
    assert result.milliseconds > 0
    assert result.batch == 1
    # Each level of the frontier was expanded, the deepest one in vain.
    deepest = int(distance.max()) + 1
    assert len(result.directions) == (deepest if max_depth is None else min(deepest, max_depth))
    assert set(result.directions) <= {"push", "pull"}
    if not statistics:
        assert result.expanded is None
        return
    assert len(result.expanded) == len(result.directions)
    degrees = numpy.diff(csr[0])
    for level, (arcs, way) in enumerate(zip(result.expanded, result.directions, strict=True)):
        # Top-down gathers every arc of the level at least, bottom-up may end early.
        least = degrees[distance == level].sum() if way == "push" else 0
        assert arcs == least if exact else arcs >= least
    assert not exact or set(result.directions) <= {"push"}
