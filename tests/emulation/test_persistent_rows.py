"""The search of deep graphs over encoded rows, on CPU threads, against SciPy."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.layouts.registry import encoded_layouts
from tests.emulation import grid_kernels, strict_cupy
from tests.kernels.conformance import check, csr_of, sources_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import ZooGraph

pytestmark = pytest.mark.usefixtures("on_cpu")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex", "grid_13x17")
WAYS: list[dict[str, Any]] = [
    {},
    {"target": 6, "share": 4, "hops": 2, "ahead": 4},
    {"capacity": 32, "wide_from": 0.1},
    {"wide_from": 0.0, "narrow_below": 0.0, "narrow_max_retries": 0},
]
"""Constants that lead through hops, dealing, and levels of the whole grid."""


each_width = pytest.mark.parametrize(("width", "layout"), list(zip(cycle((4, 8)), encoded_layouts())))


def search(csr: Any, layout: str, output: str, *, symmetric: bool = True, **constants: Any) -> Any:
    given = {"block": grid_kernels.THREADS, "output": output, "symmetric": symmetric} | constants
    made = prepare(strict_cupy.encoded(layout, csr), strategy="persistent", **given)
    for source in sources_of(len(csr[0]) - 1, 2):
        check(made.run(source), csr, source, output, statistics=constants.get("statistics", False))
    return made


def caterpillar(length: int, legs: int) -> Any:
    """Make a path of which every 50th vertex has many neighbours, so that hops meet long rows."""
    path = numpy.arange(length)
    feet = numpy.arange(length, length + length // 50 * legs)
    tails = numpy.concatenate([path[:-1], numpy.repeat(path[: length // 50] * 50, legs)])
    heads = numpy.concatenate([path[1:], feet])
    size = length + len(feet)
    graph = ZooGraph("caterpillar", size, tails.astype(numpy.uint32), heads.astype(numpy.uint32))
    return fast_csr(graph, symmetric=True)


@pytest.mark.parametrize("layout", encoded_layouts())
@pytest.mark.parametrize(
    ("output", "constants"), list(zip(("distance", "both", "both", "both"), WAYS, strict=True)), ids=str
)
def test_every_way(output: str, constants: dict[str, Any], layout: str) -> None:
    skewed = fast_csr(rmat(8, 8), symmetric=True)
    for csr in (*(csr_of(name, True) for name in SMALL), skewed):
        search(csr, layout, output, **constants)


@each_width
def test_long_rows_within_hops(width: int, layout: str) -> None:
    """Rows of more neighbours than a record holds are decoded into the entries of a warp."""
    for legs in (9, 480):
        search(caterpillar(200, legs), layout, "both", width=width, target=64)


@pytest.mark.parametrize("layout", encoded_layouts())
def test_gathered_arcs_are_counted(layout: str) -> None:
    for csr in (csr_of("grid_13x17", True), caterpillar(200, 300)):
        for constants in ({}, WAYS[-1]):
            search(csr, layout, "distance", statistics=True, **constants)


@pytest.mark.parametrize("layout", encoded_layouts())
def test_a_graph_without_vertices(layout: str) -> None:
    rows = strict_cupy.encoded(layout, csr_of("empty", True))
    empty = prepare(rows, strategy="persistent", symmetric=True)
    with pytest.raises(ValueError, match="source 0 is not a vertex; there are 0"):
        empty.run(0)


@pytest.mark.parametrize("layout", encoded_layouts())
def test_rows_for_a_block_and_for_the_whole_grid(layout: str) -> None:
    hubs = [(0, 140_000), (1, 4_000), (2, 1_100)]
    random = numpy.random.default_rng(4)
    source = numpy.concatenate([numpy.full(degree, hub) for hub, degree in hubs])
    target = numpy.concatenate([random.choice(150_000, degree, replace=False) for _, degree in hubs])
    graph = ZooGraph("hubs", 150_000, source.astype(numpy.uint32), target.astype(numpy.uint32))
    made = search(fast_csr(graph, symmetric=False), layout, "distance", symmetric=False)
    assert made.strategy == "persistent"


@each_width
def test_directed_graphs_and_wide_vertices(width: int, layout: str) -> None:
    directed = fast_csr(rmat(7, 8), symmetric=False, index=numpy.uint64)
    search(directed, layout, "both", symmetric=False, width=width)


def test_wide_predecessors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which no layout has to do with."""
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    for index in (numpy.uint32, numpy.uint64):
        directed = fast_csr(rmat(7, 8), symmetric=False, index=index)
        search(directed, "blocks", "both", symmetric=False)
    search(fast_csr(rmat(7, 8), symmetric=True), "blocks", "predecessor")
