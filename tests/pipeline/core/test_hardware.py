"""What the machine is called in recipes, and the GPUs it has or pretends to have."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gravel.kernels.compiled.folder import MARK
from gravel.pipeline.core import hardware as devices
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.hardware import FAKE, Device, core_count, find_devices, hardware, machine_facts
from gravel.pipeline.scheduler import machine
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from tests.pipeline.tiny_stages import MAKE, plan_of, stage_run


def test_what_the_machine_is_called() -> None:
    assert hardware("cpu").endswith(f", {core_count()} cores")
    assert hardware("cpu") == hardware("cpu")
    two = (Device("0", "H200", 1), Device("1", "H200", 1))
    assert hardware("cuda", devices=two) == "H200 x1"
    assert hardware("cuda", devices=two[:1]) == hardware("cuda", devices=two)
    facts = json.loads(json.dumps(machine_facts("cpu")))
    assert {"host", "user", "hardware", "system"} <= set(facts)
    assert {"python", "gravel", "numpy", "numba"} <= set(facts["versions"])


def fake_nvml(count: int, opened: list[int] | None = None, capability: tuple[int, int] = (9, 0)) -> Any:
    class NVMLError(Exception):
        pass

    def by_uuid(uuid: str) -> int:
        if int(uuid[-1]) >= count:
            raise NVMLError("not found")
        return int(uuid[-1])

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None if opened is None else opened.append(1),
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetHandleByUUID=by_uuid,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=100, free=90 - handle),
        nvmlDeviceGetName=lambda handle: f"GPU {handle}",
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}{handle}{handle}",
        nvmlDeviceGetCudaComputeCapability=lambda handle: capability,
    )


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend a driver and a folder of the user's; returns the folder of the driver's files."""
    monkeypatch.delenv(FAKE, raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("GRAVEL_COMPILED", str(tmp_path / "compiled"))
    folder = tmp_path / "driver"
    folder.mkdir()
    for name in ("boot", "version", "cgroup", "nvidia0"):
        (folder / name).write_text("1")
    monkeypatch.setattr(devices, "_DRIVER_FILES", (str(folder / "version"),))
    monkeypatch.setattr(devices, "BOOT", str(folder / "boot"))
    monkeypatch.setattr(devices, "DRIVER", str(folder / "version"))
    monkeypatch.setattr(devices, "GROUP", str(folder / "cgroup"))
    monkeypatch.setattr(devices, "DEVICES", str(folder))
    return folder


class Processes:
    """Processes, one after the other, that count how often they open NVML."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[int] = []
        self._patch = monkeypatch

    def next(self, gpus: int = 1) -> None:
        self.opened.clear()
        self._patch.setattr(devices, "_opened", None)
        self._patch.setitem(sys.modules, "pynvml", fake_nvml(gpus, self.opened))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    found = Processes(monkeypatch)
    found.next()
    return found


def test_the_driver_is_asked_once_a_boot(driver: Path, processes: Processes) -> None:
    first = find_devices()
    assert find_devices() == first
    assert [device.name for device in first] == ["GPU 0"]
    assert len(processes.opened) == 1
    processes.next()
    assert find_devices() == first
    assert not processes.opened
    assert first[0].free_bytes == 90
    assert first[0].free_bytes == 90
    assert len(processes.opened) == 1


@pytest.mark.parametrize("changed", ["boot", "version", "cgroup", "nvidia1"])
def test_the_driver_is_asked_again_once_anything_may_be_different(driver, processes, changed) -> None:
    assert len(find_devices()) == 1
    (driver / changed).write_text("2")
    processes.next(gpus=2)
    assert len(find_devices()) == 2


def test_a_gpu_that_is_gone_is_forgotten(driver: Path, processes: Processes) -> None:
    processes.next(gpus=2)
    second = find_devices()[1]
    processes.next(gpus=1)
    with pytest.raises(GravelError, match="does not answer for the GPU 1"):
        _ = second.free_bytes
    assert len(find_devices()) == 1


@pytest.mark.parametrize("content", [b"no json", b"[[1]]", b"{}", b"[]"])
def test_what_is_remembered_may_be_damaged(driver: Path, processes: Processes, content: bytes) -> None:
    find_devices()
    [entry] = (driver.parent / "compiled").glob("devices-*")
    entry.write_bytes(MARK + hashlib.sha256(content).digest() + content)
    processes.next()
    assert len(find_devices()) == 1
    assert len(processes.opened) == 1


def test_a_run_that_finds_everything_does_not_wait_for_the_driver(
    driver: Path, processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_spec", lambda name: True)
    plan, options = plan_of(stage_run("a", MAKE, value=1)), RunOptions(tmp_path / "cache", cluster="inline")
    first = execute(plan, options)
    assert len(processes.opened) == 1
    processes.next()
    again = execute(plan, options)
    assert again.record["stages"][0]["state"] == "cached"
    assert again.record["machine"]["backend"] == "cuda"
    assert again.record["machine"]["hardware"] == first.record["machine"]["hardware"] == "GPU 0 x1"
    assert not processes.opened


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
def test_visible_devices_are_taken_in_their_order(visible, names, driver, processes, monkeypatch) -> None:
    processes.next(gpus=3)
    if visible is not None:
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
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(1, capability=(8, 0)))
    assert machine.decide(RunOptions(tmp_path)).backend == "cuda"
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(1, capability=(7, 5)))
    assert machine.decide(RunOptions(tmp_path)).backend == "cpu"
    with pytest.raises(RequestError) as refused:
        machine.decide(RunOptions(tmp_path, cluster="cuda"))
    assert "GPU 0 has compute capability 7.5, and gravel's kernels need 8.0 or newer" in str(refused.value)
