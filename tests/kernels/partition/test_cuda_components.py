"""Components over ranks on GPUs equal SciPy's: ranks on one device and on several, and a lost device."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.partition.components import components
from tests.kernels.cuda_case import ZOO, fast_csr, names, rmat
from tests.kernels.partition.test_components import shuffled_path
from tests.zoo import scipy_components

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def found_by(whole: Any, **choices: Any) -> Any:
    from gravel.kernels.partition.cuda.components import CudaComponents

    return CudaComponents(whole, time_limit=5.0, **choices)


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_virtual_ranks_find_what_scipy_does(graph: Any) -> None:
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        wanted = scipy_components(offsets, columns)
        for ranks, threshold in itertools.product((1, 2, 3, 4, 7), (0, 3, 10**6)):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            assert numpy.array_equal(found_by(whole, symmetric=symmetric).run().component.get(), wanted)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_large_graphs_again_and_again(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = fast_csr(rmat(16), symmetric=True, index=index)
    wanted = scipy_components(offsets, columns)
    for wide, ranks, threshold in ((1 << 32, 1, 64), (1 << 32, 4, 64), (1, 3, 0), (1, 2, 10**6)):
        monkeypatch.setattr("gravel.kernels.partition.cuda.components.WIDE", wide)
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        assert numpy.array_equal(components(whole, symmetric=True).component, wanted)
        for symmetric in (True, False):
            search = found_by(whole, symmetric=symmetric)
            for _ in range(5):
                assert numpy.array_equal(search.run().component.get(), wanted)
            assert search.told[0].rounds <= 8


def test_long_paths_take_few_rounds() -> None:
    whole = partition(*shuffled_path(1 << 18), ranks=4, threshold=4)
    search = found_by(whole, symmetric=True)
    assert not search.run().component.any()
    assert search.told[0].rounds <= 30


def test_all_devices_of_this_host() -> None:
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip("one GPU")
    offsets, columns = fast_csr(rmat(16), symmetric=True)
    whole = partition(offsets, columns, ranks=2 * count, threshold=64)
    search = found_by(whole, symmetric=True, devices=range(count))
    for _ in range(5):
        assert numpy.array_equal(search.run().component.get(), scipy_components(offsets, columns))


def test_a_device_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.partition.cuda.components import CudaComponents
    from gravel.kernels.partition.cuda.device_barrier import DeviceBarrier

    described = DeviceBarrier.described
    alone = DeviceBarrier()

    def with_a_stranger(self: Any, pointers: Any, device: int, limit: float) -> Any:
        return described(self, [*pointers, alone.pointer], device, limit)

    whole = partition(*fast_csr(rmat(10), symmetric=True), ranks=2, threshold=20)
    monkeypatch.setattr(DeviceBarrier, "described", with_a_stranger)
    search = CudaComponents(whole, symmetric=True, time_limit=0.2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="given up"):
            search.run()
    assert alone.aborted
