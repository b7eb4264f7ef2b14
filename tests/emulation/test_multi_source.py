"""Searches of many sources at once, one bit each, on CPU threads, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.cuda import multi_source
from gravel.kernels.bfs.query import Query
from gravel.kernels.layouts import LAYOUTS
from tests.emulation import strict_cupy
from tests.kernels.bfs.test_multi_source import check_batch
from tests.kernels.conformance import check, csr_of, sources_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.parameters import slow_among
from tests.zoo import ZooGraph

pytestmark = pytest.mark.usefixtures("on_cpu")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex", "grid_13x17")
WAYS: list[dict[str, Any]] = [{}, {"alpha": 1e9, "beta": 1e9}, {"alpha": 1e-9}]


def search(csr: Any, layout: str, output: str, *, symmetric: bool = True, **constants: Any) -> None:
    placed = strict_cupy.encoded(layout, csr)
    made = multi_source.MultiSource(placed, Query(output=output, symmetric=symmetric), block=64, **constants)
    vertices = len(csr[0]) - 1
    sources = [*sources_of(vertices, 3), *(v * 7 % vertices for v in range(min(vertices, 30)))]
    check_batch(made, csr, sources, output=output)
    check(made.run(sources[0]), csr, sources[0], output)


def hub_of_units() -> Any:
    """Rows of several units, and a hub beside them that few of its neighbours reach."""
    random = numpy.random.default_rng(3)
    ends = numpy.concatenate([random.choice(1500, 1200, replace=False), numpy.arange(300, 900)])
    starts = numpy.repeat([1498, 1499], [1200, 600])
    return fast_csr(
        ZooGraph("hubs", 1500, starts.astype(numpy.uint32), ends.astype(numpy.uint32)), symmetric=True
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("output", "constants"), list(zip(("distance", "both", "both"), WAYS, strict=True)), ids=str
)
def test_every_source_has_its_own_labels(output: str, constants: dict[str, Any], layout: str) -> None:
    skewed = fast_csr(rmat(8, 8), symmetric=True)
    for csr in (*(csr_of(name, True) for name in SMALL), skewed, hub_of_units()):
        search(csr, layout, output, **constants)


@pytest.mark.parametrize("layout", slow_among(LAYOUTS, {"csr", "varint", "elias_fano"}))
def test_directed_graphs_and_wide_vertices(monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    directed = fast_csr(rmat(7, 8), symmetric=False, index=numpy.uint64)
    search(directed, layout, "both", symmetric=False)
    wide = fast_csr(rmat(7, 8), symmetric=True, index=numpy.uint64)
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    for constants in WAYS:
        search(wide, layout, "both", **constants)


@pytest.mark.parametrize("layout", slow_among(LAYOUTS, {"varint", "blocks", "elias_fano"}))
def test_wide_predecessors(monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    search(fast_csr(rmat(7, 8), symmetric=True), layout, "predecessor")
