"""The GPUs of this machine, real or pretended.

`GRAVEL_FAKE_DEVICES=2x16GiB` pretends two GPUs of 16 GiB, so that the logic of one worker per GPU (masks,
branches at once, rank groups) is tested where there is none. Kernels do not run on pretended GPUs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gravel.kernels.cuda.capability import too_old

FAKE = "GRAVEL_FAKE_DEVICES"
_DRIVER_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg")


@dataclass(frozen=True)
class Device:
    """One GPU: what CUDA_VISIBLE_DEVICES calls it, its name and memory; `fake` if it is pretended.

    `refusal` says why gravel cannot use it.
    """

    mask: str
    name: str
    total_bytes: int
    free_bytes: int
    fake: bool = False
    refusal: str | None = None


def find_devices() -> tuple[Device, ...]:
    """Return the GPUs that this process may use, in CUDA's order; none without a driver."""
    pretended = os.environ.get(FAKE)
    if pretended:
        return fake_devices(pretended)
    if not any(Path(file).exists() for file in _DRIVER_FILES):
        return ()
    return _nvml_devices(os.environ.get("CUDA_VISIBLE_DEVICES"))


def fake_devices(text: str) -> tuple[Device, ...]:
    """Pretend GPUs by a text such as `2x16GiB`."""
    from gravel.pipeline.core.memory import parse_bytes

    count, _, size = text.partition("x")
    total = parse_bytes(size or "16GiB")
    return tuple(Device(str(index), "pretended GPU", total, total, fake=True) for index in range(int(count)))


def _nvml_devices(visible: str | None) -> tuple[Device, ...]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        found = [_describe(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()
    if visible is None:
        return tuple(device for device, _ in found)
    chosen: list[Device] = []
    for mask in (part.strip() for part in visible.split(",")):
        match = [
            replace(device, mask=mask)
            for device, uuid in found
            if mask and (device.mask == mask or uuid.startswith(mask))
        ]
        if not match:  # CUDA stops at the first that it does not know
            break
        chosen += match[:1]
    return tuple(chosen)


def _describe(nvml: Any, index: int) -> tuple[Device, str]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    name = nvml.nvmlDeviceGetName(handle)
    uuid = nvml.nvmlDeviceGetUUID(handle)
    refusal = too_old(str(name), tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle)))
    device = Device(str(index), str(name), int(memory.total), int(memory.free), refusal=refusal)
    return device, str(uuid)


def rotation(devices: tuple[Device, ...], position: int) -> str:
    """Return the CUDA_VISIBLE_DEVICES of one worker: all GPUs, its own first, the others after it."""
    turned = devices[position:] + devices[:position]
    return ",".join(device.mask for device in turned)
