"""The checks behind `gravel doctor`: each finding with its cure."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.cluster.devices import find_devices
from pipeline.hardware import core_count, cpu_model
from pipeline.memory import format_bytes, host_capacity, memory_limit

LOW_DISK = 10 << 30
"""Free bytes below which the cache is called tight."""

PROBE_BYTES = 64 << 20
"""Bytes written and read to measure the cache's disk; long enough to leave the first buffers behind."""

REQUIRED = (
    *("numpy", "zarr", "numba", "pyarrow", "pydantic", "dask", "distributed", "blake3", "matplotlib"),
    *("click", "filelock", "fsspec", "jinja2", "psutil", "rich", "ruamel.yaml", "zstandard", "nvidia-ml-py"),
)
GPU_PACKAGES = {"cupy": ("cupy-cuda13x", "cupy-cuda12x"), "dask-cuda": ("dask-cuda",)}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `state` is good, note or bad."""

    subject: str
    state: str
    found: str
    cure: str | None = None


def findings(cache_root: Path) -> list[Finding]:
    """Look at everything; a check that itself fails is a finding too."""
    checks: list[Callable[[], Iterator[Finding]]] = [
        _python,
        _packages,
        _cores,
        _memory,
        _threading,
        _gpus,
        lambda: _cache(cache_root),
    ]
    found: list[Finding] = []
    for check in checks:
        try:
            found += check()
        except Exception as error:
            name = getattr(check, "__name__", "cache").strip("_")
            found.append(Finding(name, "bad", f"{type(error).__name__}: {error}", "report this to gravel"))
    return found


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    yield Finding("python", "good" if good else "bad", version, None if good else "use Python 3.11 or later")


def _packages() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    there, missing = [], []
    for name in ("gravel", *REQUIRED):
        try:
            there.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding("packages", "good", ", ".join(there))
    if missing == ["gravel"]:
        cure = "not needed to run from here; pip install -e . gives the command and its version"
        yield Finding("packages", "note", "gravel itself is not installed, but run from a folder", cure)
    elif missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}", "pip install -e . in the checkout")


def _cores() -> Iterator[Finding]:
    cores, total = core_count(), os.cpu_count() or 1
    limited = f" of {total} (limited by affinity or the control group)" if cores < total else ""
    yield Finding("processor", "good", f"{cpu_model()}, {cores} cores{limited}")


def _memory() -> Iterator[Finding]:
    limit, source = memory_limit()
    usable, _ = host_capacity()
    found = f"{format_bytes(limit)} by {source}; stages may use {format_bytes(usable)}"
    low = limit < 2 << 30
    cure = "give the container more memory, or use small graphs" if low else None
    yield Finding("memory", "note" if low else "good", found, cure)


def _threading() -> Iterator[Finding]:
    import numba

    from kernels import jit

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def count(n: int) -> int:
        total = 0
        for _ in jit.prange(n):
            total += 1
        return total

    try:
        done = count(1000) == 1000
        layer = numba.threading_layer()
    except ValueError as error:
        yield Finding(
            "threading layer", "bad", str(error), "install OpenMP's runtime (libgomp1), which Numba needs"
        )
        return
    good = done and layer == "omp"
    cure = None if good else "install OpenMP's runtime (libgomp1); other layers abort under two threads"
    threads = numba.config.NUMBA_NUM_THREADS
    yield Finding("threading layer", "good" if good else "bad", f"{layer}, {threads} threads", cure)


def _gpus() -> Iterator[Finding]:
    devices = find_devices()
    if not devices:
        masked = os.environ.get("CUDA_VISIBLE_DEVICES")
        found = "none with an NVIDIA driver" + (
            f" (CUDA_VISIBLE_DEVICES={masked})" if masked is not None else ""
        )
        yield Finding("GPUs", "note", found, "not needed: everything runs on the CPU; see --backend")
        return
    for device in devices:
        memory = f"{format_bytes(device.free_bytes)} free of {format_bytes(device.total_bytes)}"
        yield Finding("GPU", "good", f"{device.mask}: {device.name}, {memory}")
    if devices[0].fake:
        return
    yield from _gpu_software()


def _gpu_software() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    import pynvml

    pynvml.nvmlInit()
    driver = pynvml.nvmlSystemGetDriverVersion()
    cuda = pynvml.nvmlSystemGetCudaDriverVersion()
    pynvml.nvmlShutdown()
    major = cuda // 1000
    yield Finding("driver", "good", f"{driver}, CUDA {major}.{cuda % 1000 // 10}")
    extra = "gpu" if major >= 13 else "gpu12"
    for name, distributions in GPU_PACKAGES.items():
        for distribution in distributions:
            try:
                yield Finding(name, "good", f"{distribution} {version(distribution)}")
                break
            except PackageNotFoundError:
                continue
        else:
            yield Finding(name, "bad", "not installed", f"pip install 'gravel[{extra}]'")
            return
    import cupy

    try:
        double = cupy.RawKernel('extern "C" __global__ void twice(int* x) { *x *= 2; }', "twice")
        value = cupy.array([21], dtype=cupy.int32)
        double((1,), (1,), (value,))
        good = int(value[0]) == 42
    except Exception as error:
        yield Finding("kernels", "bad", f"{type(error).__name__}: {error}", f"pip install 'gravel[{extra}]'")
        return
    yield Finding("kernels", "good" if good else "bad", "a kernel compiles and runs")


def _cache(root: Path) -> Iterator[Finding]:
    existing = root
    while not existing.exists():
        existing = existing.parent
    usage = shutil.disk_usage(existing)
    found = f"{root}, {format_bytes(usage.free)} free of {format_bytes(usage.total)}"
    if not os.access(existing, os.W_OK):
        yield Finding(
            "cache", "bad", f"{root} cannot be written", "choose another with --cache or GRAVEL_CACHE"
        )
        return
    tight = usage.free < LOW_DISK
    cure = "gravel cache gc, or another disk with --cache" if tight else None
    yield Finding("cache", "note" if tight else "good", found, cure)
    if usage.free > 4 * PROBE_BYTES:
        yield _disk_speed(existing)


def _disk_speed(folder: Path) -> Finding:
    import tempfile

    block = os.urandom(1 << 20)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".gravel-probe-") as file:
        began = time.perf_counter()
        for _ in range(PROBE_BYTES >> 20):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        written = PROBE_BYTES / (time.perf_counter() - began)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        began = time.perf_counter()
        while file.read(1 << 20):
            pass
        read = PROBE_BYTES / (time.perf_counter() - began)
    slow = written < 50e6
    found = f"writes {written / 1e6:.0f} MB/s, reads {read / 1e6:.0f} MB/s (64 MiB, synced)"
    return Finding(
        "cache disk", "note" if slow else "good", found, "a local disk is faster" if slow else None
    )
