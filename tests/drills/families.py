"""Small runs of every family of CUDA kernels beside plain searches: what the drill of sanitizers runs.

Each compares what the device found with what the CPU finds in the same graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from gravel.kernels.betweenness.sums import betweenness
from gravel.kernels.bfs import prepare_rows
from gravel.kernels.components import components, components_of_rows
from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.distances.bounds import GOALS, NEAR
from gravel.kernels.distances.eccentricity import eccentricities
from gravel.kernels.distances.many import aggregate
from gravel.kernels.layouts import LAYOUTS, columns_as_rows, encode
from gravel.kernels.order import permutation
from gravel.kernels.pagerank import pagerank
from gravel.kernels.point_to_point import prepare as prepare_pairs
from gravel.kernels.sssp import prepare as prepare_sssp
from gravel.kernels.strategy import strategies_in
from gravel.kernels.strong_components import strong_components
from gravel.kernels.subgraph import induced
from gravel.kernels.verify import check_bfs
from tests.kernels.conformance import check, csr_of, fetch, place
from tests.kernels.point_to_point.point_to_point_case import pairs_of
from tests.kernels.sssp.test_by_weight import both_ways
from tests.kernels.sssp_case import random_graph, special
from tests.kernels.verify.damage import search
from tests.zoo import scipy_components

GRAPHS = ("one_loop", "two_parts", "star_300", "lattice_9x6x5", "tail_on_clique")


def _rows() -> list[tuple[Any, Any]]:
    return [csr_of(name, True) for name in GRAPHS]


def _encoded(layout: str, strategy: str) -> None:
    for csr in _rows():
        rows = encode(layout, *place("cuda", *csr))
        for output in ("distance", "both"):
            made = prepare_rows(rows, strategy=strategy, symmetric=True, output=output)
            source = len(csr[0]) // 3
            check(made.run(source), csr, source, output)


def _components() -> None:
    known = strategies_in("gravel.kernels.components")
    for csr in _rows():
        there, expected = place("cuda", *csr), scipy_components(*csr)
        for name, each in known.items():
            if each.cuda and name != "streamed":
                found = components(*there, symmetric=True, strategy=name).component
                numpy.testing.assert_array_equal(fetch(found), expected)
        for layout in LAYOUTS:
            found = components_of_rows(encode(layout, *there), symmetric=True).component
            numpy.testing.assert_array_equal(fetch(found), expected)


def _weighted() -> list[Any]:
    # The barriers of 3,000 rounds take minutes under racecheck.
    short = [each for each in special() if each.name != "long path"]
    return [*short, *map(random_graph, range(2))]


def _sssp() -> None:
    plain = _weighted()
    ordered = [(both_ways(each), True) for each in plain[::2]]
    for graph, by_weight in [*((each, False) for each in plain), *ordered]:
        expected = prepare_sssp(*graph.rows).run(0)
        found = prepare_sssp(*place("cuda", *graph.rows), by_weight=by_weight).run(0)
        numpy.testing.assert_array_equal(fetch(found.distance), expected.distance)
        numpy.testing.assert_array_equal(fetch(found.predecessor), expected.predecessor)


def _point_to_point() -> None:
    for graph in _weighted():
        back, pairs = reversed_rows(*graph.rows), pairs_of(graph)
        expected = prepare_pairs(*graph.rows, reverse=back).run(*pairs)
        there, reverse = place("cuda", *graph.rows), place("cuda", *back)
        found = prepare_pairs(*there, reverse=reverse).run(*pairs)
        numpy.testing.assert_array_equal(fetch(found.length), expected.length)


def _distances() -> None:
    for csr in _rows():
        sources = numpy.arange(len(csr[0]) - 1)
        expected, there = aggregate(*csr, sources, symmetric=True), place("cuda", *csr)
        for independent in (False, True):
            found = aggregate(*there, sources, symmetric=True, independent=independent)
            numpy.testing.assert_array_equal(found.total, expected.total)
        for goal in GOALS:
            bounds = eccentricities(*csr, goal, in_parts=True), eccentricities(*there, goal, in_parts=True)
            least, most = ([each(fetch(bound)) for bound in bounds] for each in (numpy.min, numpy.max))
            assert least[0] == least[1] if goal in NEAR else most[0] == most[1]


def _betweenness() -> None:
    for csr in _rows():
        expected, there = betweenness(csr, csr), place("cuda", *csr)
        for deep in (False, True):
            numpy.testing.assert_allclose(betweenness(there, there, deep=deep), expected, 1e-9, 1e-9)


def _strong_components() -> None:
    known = strategies_in("gravel.kernels.strong_components")
    for name in (*GRAPHS, "many_duplicates"):
        csr = csr_of(name, False)
        expected = strong_components(*csr).component
        for strategy in (name for name, each in known.items() if each.cuda):
            found = strong_components(*place("cuda", *csr), strategy=strategy).component
            numpy.testing.assert_array_equal(fetch(found), expected)


def _verify() -> None:
    from gravel.kernels.verify.cuda.bfs import check_searches
    from gravel.kernels.verify.cuda.resources import Resources

    for csr in _rows():
        source = len(csr[0]) // 3
        labels = search(csr, source)
        stacked = place("cuda", *(each[None] for each in labels))
        (found,) = check_searches(
            *place("cuda", *csr), [source], *stacked, symmetric=True, resources=Resources(1 << 30)
        )
        assert found == check_bfs(*csr, source, *labels, symmetric=True)


def _order() -> None:
    for csr in _rows():
        for method in ("degree", "hub_sort", "rcm", "community"):
            found = permutation(method, *place("cuda", *csr))
            numpy.testing.assert_array_equal(fetch(found), permutation(method, *csr))


def _pagerank() -> None:
    for csr in _rows():
        outgoing = numpy.diff(csr[0]).astype(numpy.float64)
        expected, there = pagerank(columns_as_rows(*csr), outgoing).rank, place("cuda", *csr)
        for layout in LAYOUTS:
            found = pagerank(encode(layout, *there), *place("cuda", outgoing)).rank
            numpy.testing.assert_allclose(fetch(found), expected, rtol=0, atol=1e-9)


def _subgraph() -> None:
    for csr in _rows():
        chosen = numpy.arange(0, len(csr[0]) - 1, 2)
        expected = induced(columns_as_rows(*csr), chosen)
        for layout in LAYOUTS:
            found = induced(encode(layout, *place("cuda", *csr)), chosen)
            numpy.testing.assert_array_equal(fetch(found.column_indices), expected.column_indices)


FAMILIES: dict[str, Callable[[], None]] = {
    "components": _components,
    "sssp": _sssp,
    "point_to_point": _point_to_point,
    "distances": _distances,
    "betweenness": _betweenness,
    "strong_components": _strong_components,
    "verify": _verify,
    "order": _order,
    "pagerank": _pagerank,
    "subgraph": _subgraph,
    **{
        f"{layout}-{name}": partial(_encoded, layout, name)
        for layout in LAYOUTS
        if layout != "csr"
        for name, each in strategies_in("gravel.kernels.bfs").items()
        if each.encoded and each.cuda
    },
}
"""Runs by name: families of kernels, and searches of the strategies that read rows as they are encoded."""
