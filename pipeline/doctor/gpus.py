"""GPUs, their driver, CUDA, links between them, and memory that is pinned for them."""

from __future__ import annotations

import os
import resource
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

from gravel.kernels.cuda.capability import too_old
from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hardware import Device, find_devices
from gravel.pipeline.core.memory import format_bytes, host_capacity
from gravel.pipeline.doctor.machine import Finding, checked, installed

PINNED_PROBE = 256 << 20
"""Bytes pinned and copied to measure the way to the GPU; long enough to reach its rate."""

MAX_LINKS = 18


def gpus() -> Iterator[Finding]:
    """Check every GPU, the driver, CUDA, the packages, and that a kernel compiles and runs."""
    devices = find_devices()
    if not devices:
        found = "none with an NVIDIA driver"
        cure = "not needed to search on the CPU; strategies that need one are in `gravel docs strategies`"
        if (masked := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
            found += f" (CUDA_VISIBLE_DEVICES={masked})"
            cure += "; unset CUDA_VISIBLE_DEVICES to use what there is"
        yield Finding("GPUs", "note", found, cure)
    for device in devices:
        try:
            free = device.free_bytes
        except GravelError as error:
            yield checked("GPU", str(error), "run it again; if that is of no use, start the machine anew")
            return
        memory = f"{format_bytes(free)} free of {format_bytes(device.total_bytes)}"
        busy = free < device.total_bytes // 2
        cure = "end what else uses it (nvidia-smi), or cap gravel with --device-memory"
        yield checked("GPU", f"{device.mask}: {device.name}, {memory}", cure if busy else None)
    if not devices or devices[0].fake:
        return
    import pynvml

    pynvml.nvmlInit()
    try:
        handles = [(device, _handle(pynvml, device)) for device in devices]
        for device, handle in handles:
            yield from health(pynvml, device, handle)
        yield from links(pynvml, handles)
        driver, cuda = pynvml.nvmlSystemGetDriverVersion(), pynvml.nvmlSystemGetCudaDriverVersion()
    finally:
        pynvml.nvmlShutdown()
    yield Finding("driver", "good", f"{driver}, made for CUDA up to {cuda // 1000}.{cuda % 1000 // 10}")
    yield from _software(cuda // 1000)


def _handle(nvml: Any, device: Device) -> Any:
    if device.mask.isdigit():
        return nvml.nvmlDeviceGetHandleByIndex(int(device.mask))
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        if str(nvml.nvmlDeviceGetUUID(handle)).startswith(device.mask):
            return handle
    raise LookupError(f"no GPU is called {device.mask}")


def health(nvml: Any, device: Device, handle: Any) -> Iterator[Finding]:
    """Check what makes a GPU unusable: its age, its mode, memory errors. What it does not tell is skipped."""
    with suppress(nvml.NVMLError):
        capability = tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle))
        if (refusal := too_old(f"{device.mask}: {device.name}", capability)) is not None:
            yield Finding("GPU", "bad", refusal, "run with --backend cpu, or use a newer GPU")
    with suppress(nvml.NVMLError):
        if nvml.nvmlDeviceGetComputeMode(handle) == nvml.NVML_COMPUTEMODE_PROHIBITED:
            text = f"{device.mask}: its compute mode is prohibited, so that nothing can run on it"
            yield Finding("GPU", "bad", text, f"as root: nvidia-smi -i {device.mask} -c DEFAULT")
    with suppress(nvml.NVMLError):
        errors = nvml.nvmlDeviceGetTotalEccErrors(
            handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        )
        if errors:
            text = f"{device.mask}: {errors} uncorrected memory errors since the driver was loaded"
            yield Finding("GPU", "bad", text, "restart the machine; replace the GPU if they come back")


def links(nvml: Any, handles: list[tuple[Device, Any]]) -> Iterator[Finding]:
    """Say which GPUs reach each other over NVLink, and count the links of each."""
    text = ", ".join(f"{device.mask}: {_active_links(nvml, handle)} links" for device, handle in handles)
    apart = [
        f"{one.mask}-{other.mask}"
        for (one, first), (other, second) in combinations(handles, 2)
        if not _linked(nvml, first, second)
    ]
    if len(handles) < 2:
        yield Finding("NVLink", "good", f"{text}; with a single GPU none is needed")
    elif not apart:
        yield Finding("NVLink", "good", f"between every two of {len(handles)} GPUs ({text})")
    else:
        pairs = len(handles) * (len(handles) - 1) // 2
        missing = f"not between {', '.join(apart[:6])}{', ...' if len(apart) > 6 else ''} ({text})"
        cure = "ranks then exchange over PCIe; on a machine with NVSwitch start nvidia-fabricmanager"
        yield Finding("NVLink", "note", f"{pairs - len(apart)} of {pairs} pairs, {missing}", cure)


def _active_links(nvml: Any, handle: Any) -> int:
    count = 0
    with suppress(nvml.NVMLError):
        for link in range(MAX_LINKS):
            count += nvml.nvmlDeviceGetNvLinkState(handle, link) == nvml.NVML_FEATURE_ENABLED
    return count


def _linked(nvml: Any, one: Any, other: Any) -> bool:
    with suppress(nvml.NVMLError):
        state = nvml.nvmlDeviceGetP2PStatus(one, other, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
        return bool(state == nvml.NVML_P2P_STATUS_OK)
    return False


def _software(driver_cuda: int) -> Iterator[Finding]:
    extra = "gpu" if driver_cuda >= 13 else "gpu12"
    for name, packages in (("cupy", ("cupy-cuda13x", "cupy-cuda12x")), ("dask-cuda", ("dask-cuda",))):
        found = next((f"{each} {version}" for each in packages if (version := installed(each))), None)
        if found is None:
            yield Finding(name, "bad", "not installed", f"pip install 'gravel[{extra}]'")
            return
        if found.startswith("cupy-cuda13x") and driver_cuda < 13:
            cure = "pip uninstall cupy-cuda13x; pip install 'gravel[gpu12]'; or update the driver"
            yield Finding(name, "bad", f"{found} needs a driver for CUDA 13", cure)
            return
        yield Finding(name, "good", found)
    yield _kernel(extra)
    yield nccl(extra)


def nccl(extra: str) -> Finding:
    """Check for NCCL, over which ranks on GPUs of several hosts send to each other."""
    try:
        with warnings.catch_warnings(action="ignore"):  # that the library is missing; the module is there
            from cupy.cuda import nccl as library
        version = library.get_version() if library.available else None
    except (ImportError, RuntimeError) as error:
        text = f"cannot be used ({type(error).__name__}: {error})"
        return Finding("NCCL", "note", text, "not needed: ranks of one host read each other's memory")
    if version is None:
        cuda = "cu13" if extra == "gpu" else "cu12"
        cure = f"not needed on one host; for transport: nccl, pip install nvidia-nccl-{cuda}"
        return Finding("NCCL", "note", "not here (libnccl.so.2)", cure)
    return Finding("NCCL", "good", f"{version // 10000}.{version // 100 % 100}.{version % 100}")


def _kernel(extra: str) -> Finding:
    import cupy

    try:
        double = cupy.RawKernel('extern "C" __global__ void twice(int* x) { *x *= 2; }', "twice")
        value = cupy.array([21], dtype=cupy.int32)
        double((1,), (1,), (value,))
        good = int(value[0]) == 42
        made = cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        return Finding("CUDA", "bad", f"{type(error).__name__}: {error}", f"pip install 'gravel[{extra}]'")
    text = f"a kernel compiles (NVRTC {made[0]}.{made[1]}) and runs"
    return checked("CUDA", text, None if good else "its result is wrong: run nvidia-smi -q", "bad")


def pinned_memory() -> Iterator[Finding]:
    """Check the limit on locked memory and, where there is a GPU, that memory can be pinned, and how fast."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    limit = "no limit" if soft == resource.RLIM_INFINITY else f"limit {format_bytes(soft)} (ulimit -l)"
    devices = find_devices()
    if not devices or devices[0].fake:
        yield Finding("pinned memory", "good", f"{limit}; used with GPUs only")
        return
    cure = "raise the limit (ulimit -l unlimited; docker run --ulimit memlock=-1) or free some memory"
    size = min(PINNED_PROBE, host_capacity()[0] // 8)
    try:
        import cupy

        memory, target = cupy.cuda.alloc_pinned_memory(size), cupy.cuda.alloc(size)
        stream = cupy.cuda.Stream(non_blocking=True)
        for _ in range(2):  # the first copy wakes the GPU up
            began = time.perf_counter()
            target.copy_from_host_async(memory.ptr, size, stream)
            stream.synchronize()
            seconds = time.perf_counter() - began
    except ImportError:
        yield Finding("pinned memory", "good", f"{limit}; not tried without CuPy")
    except Exception as error:
        text = f"{format_bytes(size)} cannot be pinned ({type(error).__name__}: {error}); {limit}"
        yield Finding("pinned memory", "bad", text, cure)
    else:
        yield Finding("pinned memory", "good", f"{limit}; {size / seconds / 1e9:.1f} GB/s to the GPU")
