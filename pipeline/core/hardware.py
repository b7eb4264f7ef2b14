"""The machine: its processor and its GPUs, real or pretended, as recipes and records name them.

What the GPUs are is remembered from one process to the next, until the machine is started anew: on a machine
whose driver does not stay loaded, the first to ask it waits for every GPU to start (0.5 s on an H100). What
is free on them is asked when somebody wants to know it.

`GRAVEL_FAKE_DEVICES=2x16GiB` pretends two GPUs of 16 GiB, so that the logic of one worker per GPU (masks,
branches at once, rank groups) is tested where there is none. Kernels do not run on pretended GPUs.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from gravel.kernels.compiled.folder import Folder, folder_path
from gravel.kernels.cuda.capability import LEAST, too_old
from gravel.pipeline.core.errors import GravelError
from gravel.stages.artifact import Json

BOOT = "/proc/sys/kernel/random/boot_id"
DRIVER = "/proc/driver/nvidia/version"
GROUP = "/proc/self/cgroup"
"""A batch system gives each job, which is a control group, other GPUs of one machine."""

DEVICES = "/dev"
_DEVICE = re.compile(r"nvidia\d+")


def _memo(*, create: bool) -> tuple[Folder, str] | None:
    """Return the memo's folder and name, which hangs on boot, driver, devices and control group.

    None if these cannot be told, or the folder is not safe.
    """
    try:
        known = [Path(file).read_text() for file in (BOOT, DRIVER, GROUP)]
        files = sorted(name for name in os.listdir(DEVICES) if _DEVICE.fullmatch(name))  # noqa: PTH208
        folder = Folder(folder_path(), create=create)
    except (OSError, ValueError, RuntimeError):
        return None
    return folder, "devices-" + hashlib.sha256(json.dumps([*known, files]).encode()).hexdigest()


def _known() -> tuple[Device, ...]:
    """Return all GPUs as an earlier process found them; none if they may be others by now."""
    memo = _memo(create=False)
    if memo is None:
        return ()
    folder, name = memo
    try:
        rows = json.loads(folder.read(name) or b"[]")
        facts = [(*row, tuple(capability)) for *row, capability in rows]
        return tuple(Device(*each) for each in facts)
    except (TypeError, ValueError):
        return ()
    finally:
        folder.close()


def _remember(devices: Sequence[Device]) -> None:
    memo = _memo(create=True)
    if memo is not None:
        folder, name = memo
        rows = [[each.mask, each.name, each.total_bytes, each.uuid, each.capability] for each in devices]
        folder.write(name, json.dumps(rows).encode())
        folder.close()


FAKE = "GRAVEL_FAKE_DEVICES"
_DRIVER_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg")


@dataclass(frozen=True)
class Device:
    """One GPU: what CUDA_VISIBLE_DEVICES calls it, its name and memory; `fake` if it is pretended.

    `uuid` is how the driver knows it, whatever is visible. `capability` is its compute capability.
    """

    mask: str
    name: str
    total_bytes: int
    uuid: str = ""
    capability: tuple[int, int] = LEAST
    fake: bool = False

    @property
    def refusal(self) -> str | None:
        """Say why gravel cannot use it; None if it can."""
        return too_old(self.name, self.capability)

    @property
    def free_bytes(self) -> int:
        """Bytes that nobody has now; raises GravelError if the GPU is not there any more."""
        if self.fake:
            return self.total_bytes
        import pynvml

        try:
            handle = _nvml().nvmlDeviceGetHandleByUUID(self.uuid)
            return int(pynvml.nvmlDeviceGetMemoryInfo(handle).free)
        except pynvml.NVMLError as error:
            _remember(())
            raise GravelError(
                f"the driver does not answer for the GPU {self.mask} ({self.name}): {error}",
                hint="run again; `gravel doctor` checks the driver",
            ) from error


def find_devices() -> tuple[Device, ...]:
    """Return the GPUs that this process may use, in CUDA's order; none without a driver."""
    pretended = os.environ.get(FAKE)
    if pretended:
        return fake_devices(pretended)
    if not any(Path(file).exists() for file in _DRIVER_FILES):
        return ()
    return _visible(_known() or _asked(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def fake_devices(text: str) -> tuple[Device, ...]:
    """Pretend GPUs by a text such as `2x16GiB`."""
    from gravel.pipeline.core.memory import parse_bytes

    count, _, size = text.partition("x")
    total = parse_bytes(size or "16GiB")
    return tuple(Device(str(index), "pretended GPU", total, fake=True) for index in range(int(count)))


_opened: Any = None
_opening = threading.Lock()


def _nvml() -> Any:
    """Return NVML, open until the process ends: who closes it last lets the GPUs go to sleep."""
    import pynvml

    global _opened
    with _opening:
        if _opened is not pynvml:
            pynvml.nvmlInit()
            _opened = pynvml
    return pynvml


def _asked() -> tuple[Device, ...]:
    """Ask the driver for all GPUs, and remember them."""
    import pynvml

    found = []
    try:
        nvml = _nvml()
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            name, uuid = str(nvml.nvmlDeviceGetName(handle)), str(nvml.nvmlDeviceGetUUID(handle))
            total = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
            major, minor = map(int, nvml.nvmlDeviceGetCudaComputeCapability(handle))
            found.append(Device(str(index), name, total, uuid, (major, minor)))
    except pynvml.NVMLError:
        return ()
    if found:
        _remember(found)
    return tuple(found)


def _visible(found: tuple[Device, ...], mask: str | None) -> tuple[Device, ...]:
    if mask is None:
        return found
    chosen: list[Device] = []
    for part in (part.strip() for part in mask.split(",")):
        match = [device for device in found if part and (device.mask == part or device.uuid.startswith(part))]
        if not match:  # CUDA stops at the first that it does not know
            break
        chosen.append(replace(match[0], mask=part))
    return tuple(chosen)


def rotation(devices: tuple[Device, ...], position: int) -> str:
    """Return the CUDA_VISIBLE_DEVICES of one worker: all GPUs, its own first, the others after it."""
    turned = devices[position:] + devices[:position]
    return ",".join(device.mask for device in turned)


@cache
def cpu_model() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model", "cpu model")):
                return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def core_count() -> int:
    """Return the number of cores that this process may run on, a control group's quota counted."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, max(1, int(int(quota) / int(period))))
    except (OSError, ValueError):
        pass
    return cores


def hardware(backend: str, *, devices: tuple[Device, ...] | None = None) -> str:
    """Describe what a measurement on this backend runs on; part of its recipe.

    How many GPUs the machine has is no part of it: one result serves machines with one and with eight.
    """
    if backend == "cuda":
        found = find_devices() if devices is None else devices
        return f"{found[0].name if found else 'no GPU'} x1"
    return f"{cpu_model()}, {core_count()} cores"


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on, read from package metadata without importing."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    packages = ("gravel", "numpy", "numba", "pyarrow", "dask", "distributed", "cupy-cuda13x", "cupy-cuda12x")
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name.partition("-")[0]] = version(name)
    return found


def machine_facts(backend: str, *, devices: tuple[Device, ...] | None = None) -> dict[str, Json]:
    """Return who and what computes, for provenance: host, user, hardware, versions."""
    return {
        "host": os.uname().nodename,
        "user": _user(),
        "hardware": hardware(backend, devices=devices),
        "system": f"{platform.system()} {platform.release()}",
        "versions": versions(),
    }


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
