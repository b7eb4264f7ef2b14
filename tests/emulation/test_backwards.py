"""A layout that one file adds: every CUDA search and placement of encoded rows runs on it, on CPU threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from gravel.kernels.components import prepare_rows as prepare
from tests.emulation import (
    strict_cupy,
    test_bfs_rows,
    test_bfs_rows_host,
    test_components_passes,
    test_components_rows_streamed,
    test_multi_source,
    test_persistent_rows,
    test_ranks_encoded,
)
from tests.kernels.conformance import csr_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.layouts.backwards import registered
from tests.zoo import scipy_components


@pytest.fixture(autouse=True)
def layout() -> Iterator[str]:
    with registered() as name:
        yield name


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("strategy", ["direction_optimizing", "top_down"])
def test_searches(layout: str, strategy: str) -> None:
    small = [csr_of(name, True, numpy.uint32) for name in ("star_300", "many_duplicates")]
    for csr in [*small, fast_csr(rmat(8, 8), symmetric=True)]:
        for output in ("both", "distance"):
            test_bfs_rows.search(csr, layout, output, strategy=strategy)


@pytest.mark.usefixtures("on_cpu")
def test_searches_of_deep_graphs(layout: str) -> None:
    test_persistent_rows.search(csr_of("grid_13x17", True, numpy.uint32), layout, "both")
    test_persistent_rows.search(test_persistent_rows.caterpillar(200, 300), layout, "both", target=64)


@pytest.mark.usefixtures("on_cpu")
def test_searches_from_many_sources(layout: str) -> None:
    for csr in (fast_csr(rmat(8, 8), symmetric=True), test_multi_source.hub_of_units()):
        for constants in ({}, {"alpha": 1e9, "beta": 1e9}):
            test_multi_source.search(csr, layout, "both", **constants)


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("strategy", ["host_rows", "streamed"])
def test_searches_of_rows_on_the_host(layout: str, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.host_rows.in_host_memory", lambda array: True)
    csr = fast_csr(rmat(8, 8), symmetric=True)
    split = {"heads": 3, "alpha": 1e18, "room": 1024}
    for constants in ({}, split if strategy == "host_rows" else {"buffer_bytes": 4096}):
        test_bfs_rows_host.search(csr, layout, "both", strategy, **constants)


@pytest.mark.usefixtures("on_cpu")
def test_components(layout: str) -> None:
    """Rows in device memory, all and the first of each, and a stream in parts."""
    csr = fast_csr(rmat(8, 2), symmetric=True)
    expected = scipy_components(*csr)
    search = prepare(strict_cupy.encoded(layout, csr), symmetric=True, keep=None)
    numpy.testing.assert_array_equal(search.run().component, expected)
    for name in ("afforest_single_pass", "afforest_multi_pass"):
        search = prepare(strict_cupy.encoded(layout, csr), symmetric=True, strategy=name)
        test_components_passes.check(search.run(), expected, name, layout)
    labels = test_components_rows_streamed.labels(csr, layout, True, buffer_bytes=4096, buffers=2)
    numpy.testing.assert_array_equal(labels, expected)


@pytest.mark.usefixtures("cupy_on_cpu")
def test_ranks(layout: str) -> None:
    offsets, columns = fast_csr(rmat(6), symmetric=True)
    whole = test_ranks_encoded.partition(offsets, columns, ranks=2, threshold=20)
    test_ranks_encoded.check(whole, layout, [int(numpy.argmax(numpy.diff(offsets)))])
