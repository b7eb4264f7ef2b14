"""What the machine is called in recipes, and the GPUs it has or pretends to have."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.core import devices
from gravel.pipeline.core.devices import FAKE, Device, find_devices
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import core_count, hardware, machine_facts
from gravel.pipeline.scheduler import machine
from gravel.pipeline.scheduler.options import RunOptions


def test_the_cpu_is_named_with_its_cores() -> None:
    assert hardware("cpu").endswith(f", {core_count()} cores")
    assert hardware("cpu") == hardware("cpu")


def test_a_gpu_is_named_with_how_many_are_used() -> None:
    two = (Device("0", "H200", 1, 1), Device("1", "H200", 1, 1))
    assert hardware("cuda", devices=two) == "H200 x1"
    assert hardware("cuda", devices=two[:1]) == hardware("cuda", devices=two)
    assert hardware("cuda", devices=two, count=2) == "H200 x2"


def test_facts_are_plain_and_name_the_versions() -> None:
    import json

    facts = json.loads(json.dumps(machine_facts("cpu")))
    assert {"host", "user", "hardware", "system"} <= set(facts)
    assert {"python", "gravel", "numpy", "zarr"} <= set(facts["versions"])


def fake_nvml(count: int, capability: tuple[int, int] = (9, 0)) -> Any:
    class NVMLError(Exception):
        pass

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=100, free=90 - handle),
        nvmlDeviceGetName=lambda handle: f"GPU {handle}",
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}{handle}{handle}",
        nvmlDeviceGetCudaComputeCapability=lambda handle: capability,
    )


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["GPU 0", "GPU 1", "GPU 2"]),
        ("2,0", ["GPU 2", "GPU 0"]),
        ("GPU-11,0", ["GPU 1", "GPU 0"]),
        ("1,7,0", ["GPU 1"]),
        ("", []),
        ("-1", []),
    ],
)
def test_visible_devices_are_taken_in_their_order(
    visible: str | None, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FAKE, raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(3))
    monkeypatch.setattr(devices, "_DRIVER_FILES", ("/proc/self/stat",))
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [device.name for device in find_devices()] == names


def test_without_a_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FAKE, raising=False)
    monkeypatch.setattr(devices, "_DRIVER_FILES", ("/nowhere",))
    assert find_devices() == ()
    monkeypatch.setenv(FAKE, "3x8GiB")
    assert [device.mask for device in find_devices()] == ["0", "1", "2"]
    assert find_devices()[0].total_bytes == 8 << 30


def test_a_gpu_that_is_too_old_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FAKE, raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(devices, "_DRIVER_FILES", ("/proc/self/stat",))
    monkeypatch.setattr(machine, "find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(1, (8, 0)))
    assert machine.decide(RunOptions(tmp_path)).backend == "cuda"
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(1, (7, 5)))
    assert machine.decide(RunOptions(tmp_path)).backend == "cpu"
    with pytest.raises(RequestError) as refused:
        machine.decide(RunOptions(tmp_path, cluster="cuda"))
    assert "GPU 0 has compute capability 7.5, and gravel's kernels need 8.0 or newer" in str(refused.value)
