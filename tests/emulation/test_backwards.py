"""A layout that one file adds: every CUDA search and placement of encoded rows runs on it, on CPU threads."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy
import pytest

from tests.emulation import (
    test_bfs_rows,
    test_bfs_rows_host,
    test_components_passes,
    test_components_rows,
    test_components_rows_streamed,
    test_multi_source,
    test_persistent_rows,
    test_ranks_encoded,
)
from tests.kernels.conformance import csr_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.layouts.backwards import registered
from tests.zoo import scipy_components

pytestmark = test_bfs_rows.pytestmark


@pytest.fixture(autouse=True)
def layout() -> Iterator[str]:
    with registered() as name:
        yield name


class TestSearches:
    """Rows in device memory."""

    @pytest.fixture(autouse=True)
    def on_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inspect.unwrap(test_bfs_rows.on_cpu)(monkeypatch)

    @pytest.mark.parametrize("strategy", ["direction_optimizing", "top_down"])
    def test_device(self, layout: str, strategy: str) -> None:
        small = [csr_of(name, True, numpy.uint32) for name in ("star_300", "many_duplicates")]
        for csr in [*small, fast_csr(rmat(8, 8), symmetric=True)]:
            for output in ("both", "distance"):
                test_bfs_rows.search(csr, layout, output, strategy=strategy)


class TestOtherSearches:
    """Rows in device memory, of deep graphs and from many sources."""

    @pytest.fixture(autouse=True)
    def on_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inspect.unwrap(test_persistent_rows.on_cpu)(monkeypatch)
        inspect.unwrap(test_multi_source.on_cpu)(monkeypatch)

    def test_deep(self, layout: str) -> None:
        test_persistent_rows.search(csr_of("grid_13x17", True, numpy.uint32), layout, "both")
        test_persistent_rows.search(test_persistent_rows.caterpillar(200, 300), layout, "both", target=64)

    def test_batch(self, layout: str) -> None:
        for csr in (fast_csr(rmat(8, 8), symmetric=True), test_multi_source.hub_of_units()):
            for constants in ({}, {"alpha": 1e9, "beta": 1e9}):
                test_multi_source.search(csr, layout, "both", **constants)


class TestSearchesOfHostRows:
    """Rows that are pinned, split and streamed."""

    @pytest.fixture(autouse=True)
    def on_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inspect.unwrap(test_bfs_rows_host.on_cpu)(monkeypatch)

    @pytest.mark.parametrize("strategy", ["host_rows", "streamed"])
    def test_host(self, layout: str, strategy: str) -> None:
        csr = fast_csr(rmat(8, 8), symmetric=True)
        split = {"heads": 3, "alpha": 1e18, "room": 1024}
        for constants in ({}, split if strategy == "host_rows" else {"buffer_bytes": 4096}):
            test_bfs_rows_host.search(csr, layout, "both", strategy, **constants)


class TestComponents:
    """Rows in device memory, kept in part, and streamed."""

    @pytest.fixture(autouse=True)
    def on_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inspect.unwrap(test_components_rows.on_cpu)(monkeypatch)

    def test_device(self, layout: str) -> None:
        csr = fast_csr(rmat(8, 2), symmetric=True)
        search = test_components_rows.prepare(
            test_components_rows.placed(csr, layout), symmetric=True, keep=None
        )
        numpy.testing.assert_array_equal(search.run().component, scipy_components(*csr))


class TestPasses:
    """The passes of Moschou's report."""

    @pytest.fixture(autouse=True)
    def on_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inspect.unwrap(test_components_passes.on_cpu)(monkeypatch)

    def test_passes(self, layout: str) -> None:
        csr = fast_csr(rmat(8, 2), symmetric=True)
        for name in ("afforest_single_pass", "afforest_multi_pass"):
            search = test_components_passes.prepare(
                test_components_passes.placed(csr, layout), symmetric=True, strategy=name
            )
            test_components_passes.check(search.run(), scipy_components(*csr), name, layout)


class TestStreamedComponents:
    """Components of a stream in parts."""

    @pytest.fixture(autouse=True)
    def on_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inspect.unwrap(test_components_rows_streamed.on_cpu)(monkeypatch)

    def test_streamed(self, layout: str) -> None:
        csr = fast_csr(rmat(8, 2), symmetric=True)
        labels = test_components_rows_streamed.labels(csr, layout, True, buffer_bytes=4096, buffers=2)
        numpy.testing.assert_array_equal(labels, scipy_components(*csr))


@pytest.mark.usefixtures("cupy_on_cpu")
def test_ranks(layout: str) -> None:
    offsets, columns = fast_csr(rmat(6), symmetric=True)
    whole = test_ranks_encoded.partition(offsets, columns, ranks=2, threshold=20)
    test_ranks_encoded.check(whole, layout, [int(numpy.argmax(numpy.diff(offsets)))])
