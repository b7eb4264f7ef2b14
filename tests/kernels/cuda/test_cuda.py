"""What the device cannot launch is refused before it is launched, with the limit and the value."""

import sys
import types
from typing import Any

import pytest

from gravel.kernels import cuda
from gravel.kernels.cuda.source import waits_for_the_grid


def fake_cupy(capability: str = "90", **attributes: int) -> Any:
    fake: Any = types.ModuleType("cupy")
    device = types.SimpleNamespace(
        id=0, compute_capability=capability, attributes=attributes, use=lambda: None
    )
    runtime = types.SimpleNamespace(deviceGetAttribute=lambda attribute, device: 0)
    fake.cuda = types.SimpleNamespace(Device=lambda number=0: device, runtime=runtime)
    return fake


def test_a_block_that_fits_nowhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"MaxSharedMemoryPerBlockOptin": 1000, "MultiProcessorCount": 132}
    api: Any = types.ModuleType("cupy_backends.cuda.api")
    api.driver = types.SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 0)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(**limits))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api", api)
    kernel = types.SimpleNamespace(kernel=types.SimpleNamespace(ptr=0), max_threads_per_block=512)
    with pytest.raises(ValueError, match=r"no block of 1024 .* 512 threads, .* 1000 bytes"):
        cuda.resident_blocks(kernel, 1024, 2000)


def test_a_gpu_without_cooperative_launch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    with pytest.raises(RuntimeError, match=r"persistent\.cu needs blocks that run at"):
        cuda.load("kernels/bfs/cuda/persistent.cu", LAYOUT="csr", VERTEX="u32", TREE=0, WIDTH=4)


@pytest.mark.parametrize("load", [cuda.load, lambda path, **macros: cuda.load_ahead(path, macros)])
def test_a_gpu_below_the_floor_is_refused_before_anything_is_compiled(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy("75"))
    told = r"^the GPU has compute capability 7\.5, and gravel's kernels need 8\.0 or newer$"
    with pytest.raises(RuntimeError, match=told):
        load("kernels/relabel.cu", VERTEX="u32", TREE="i32")
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy("80"))
    with pytest.raises(AttributeError, match="RawModule"):  # which compiles, and is not there
        load("kernels/relabel.cu", VERTEX="u32", TREE="i32")


def test_kernels_that_wait_for_the_grid_are_known_by_the_barrier_that_they_include() -> None:
    assert waits_for_the_grid("kernels/partition/cuda/ranks.cu")
    assert not waits_for_the_grid("kernels/relabel.cu")
