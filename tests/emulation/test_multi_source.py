"""Searches of many sources at once, one bit each, on CPU threads, against SciPy."""

from __future__ import annotations

import shutil
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.cuda import multi_source
from tests.emulation import grid_kernels, strict_cupy, whole_graph
from tests.kernels.conformance import check, csr_of, sources_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.test_multi_source import check_batch

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex", "grid_13x17")
WAYS: list[dict[str, Any]] = [{}, {"alpha": 1e9, "beta": 1e9}, {"alpha": 1e-9}]


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_graph.install(monkeypatch)
    monkeypatch.setattr(multi_source, "load", strict_cupy.load)
    monkeypatch.setattr(multi_source, "resident_blocks", lambda *_: grid_kernels.BLOCKS)
    monkeypatch.setattr(multi_source, "event_milliseconds", lambda work: work() or 1.0)


def search(csr: Any, output: str, symmetric: bool, **constants: Any) -> None:
    placed = [strict_cupy.on_device(array) for array in csr]
    made = multi_source.MultiSource(*placed, output=output, symmetric=symmetric, block=64, **constants)
    vertices = len(csr[0]) - 1
    sources = [*sources_of(vertices, 3), *(v * 7 % vertices for v in range(min(vertices, 30)))]
    check_batch(made, csr, sources, output=output)
    check(made.run(sources[0]), csr, sources[0], output)


@pytest.mark.parametrize("constants", WAYS, ids=str)
@pytest.mark.parametrize("output", ["distance", "both"])
def test_every_source_has_its_own_labels(output: str, constants: dict[str, Any]) -> None:
    skewed = fast_csr(rmat(8, 8), symmetric=True)
    for csr in (*(csr_of(name, True) for name in SMALL), skewed):
        search(csr, output, True, **constants)


def test_directed_graphs_and_wide_vertices() -> None:
    search(fast_csr(rmat(7, 8), symmetric=False, index=numpy.uint64), "both", False)


def test_a_depth_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="max_depth is -1; it must be 0 or more"):
        search(csr_of("one_edge", True), "both", True, max_depth=-1)
