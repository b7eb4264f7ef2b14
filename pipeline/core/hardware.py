"""What this machine is: one short string for recipes of measurements, and facts for provenance and doctor.

It is cheap and starts nothing: `/proc/cpuinfo`, the scheduler's affinity, and what is known of the GPUs.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

from gravel.pipeline.core.devices import Device, find_devices
from gravel.stages.artifact import Json


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


def hardware(backend: str, *, devices: tuple[Device, ...] | None = None, count: int = 1) -> str:
    """Describe what a measurement on this backend runs on; part of its recipe.

    `count` is the number of GPUs that the measured stage uses at once, not how many the machine has: one
    result serves machines with one and with eight.
    """
    if backend == "cuda":
        found = find_devices() if devices is None else devices
        if not found:
            return f"no GPU x{count}"
        return f"{found[0].name} x{count}"
    return f"{cpu_model()}, {core_count()} cores"


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on, read from package metadata without importing."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("gravel", "numpy", "numba", "pyarrow", "dask", "distributed"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    for name in ("cupy-cuda13x", "cupy-cuda12x"):
        try:
            found["cupy"] = version(name)
        except PackageNotFoundError:
            continue
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
