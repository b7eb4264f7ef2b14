"""The checks of the doctor, on machines that are pretended where this one is too healthy."""

from __future__ import annotations

import fcntl
import os
import resource
import sys
import time
import types
from pathlib import Path
from types import SimpleNamespace

import psutil
import pynvml
import pytest

from gravel.pipeline.cli.doctor import findings
from gravel.pipeline.core.hardware import Device
from gravel.pipeline.doctor import gpus, machine
from gravel.pipeline.doctor.machine import Finding


def one(found) -> Finding:
    (finding,) = found
    return finding


class NvmlError(Exception):
    pass


def nvml(*, linked=(), active=0, mode=0, errors=0, capability=(9, 0)) -> SimpleNamespace:
    """A pretended NVML; handles are the GPUs' numbers, `linked` the pairs with NVLink."""

    def link_state(handle, link):
        if link >= active:
            raise NvmlError
        return 1

    return SimpleNamespace(
        NVMLError=NvmlError,
        NVML_COMPUTEMODE_PROHIBITED=2,
        NVML_MEMORY_ERROR_TYPE_UNCORRECTED=1,
        NVML_VOLATILE_ECC=0,
        NVML_FEATURE_ENABLED=1,
        NVML_P2P_CAPS_INDEX_NVLINK=2,
        NVML_P2P_STATUS_OK=0,
        nvmlDeviceGetCudaComputeCapability=lambda handle: capability,
        nvmlDeviceGetComputeMode=lambda handle: mode,
        nvmlDeviceGetTotalEccErrors=lambda handle, kind, counter: errors,
        nvmlDeviceGetNvLinkState=link_state,
        nvmlDeviceGetP2PStatus=lambda a, b, index: 0 if (a, b) in linked else 4,
    )


def handles(count):
    return [(Device(str(number), "a GPU", 1 << 30), number) for number in range(count)]


def test_links_between_gpus():
    assert all(hasattr(pynvml, name) for name in vars(nvml()))
    assert one(gpus.links(nvml(active=18), handles(1))).state == "good"
    whole = one(gpus.links(nvml(active=4, linked=[(0, 1), (0, 2), (1, 2)]), handles(3)))
    assert (whole.state, "every two of 3" in whole.found) == ("good", True)
    part = one(gpus.links(nvml(linked=[(0, 1)]), handles(3)))
    assert part.state == "note"
    assert "1 of 3 pairs, not between 0-2, 1-2" in part.found
    assert "nvidia-fabricmanager" in (part.cure or "")


def test_health_of_a_gpu():
    ((device, handle),) = handles(1)
    assert list(gpus.health(nvml(), device, handle)) == []
    for made, told in [
        (nvml(mode=2), "prohibited"),
        (nvml(errors=3), "3 uncorrected"),
        (nvml(capability=(7, 5)), "7.5"),
    ]:
        finding = one(gpus.health(made, device, handle))
        assert finding.state == "bad"
        assert told in finding.found
        assert finding.cure


def test_a_machine_without_gpus_is_told_how_to_get_them_back(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(gpus, "find_devices", lambda: ())
    assert "unset CUDA_VISIBLE_DEVICES" in (one(gpus.gpus()).cure or "")
    assert "GPUs only" in one(gpus.pinned_memory()).found


def test_few_open_files(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    assert one(machine.open_files()) == Finding(
        "open files", "note", "at most 256", "raise it: ulimit -n 4096"
    )


def test_the_clock(monkeypatch):
    assert machine.clock_is_kept() in (True, False, None)
    for kept, state in ((None, "good"), (True, "good"), (False, "note")):
        monkeypatch.setattr(machine, "clock_is_kept", lambda kept=kept: kept)
        assert one(machine.clock()).state == state
    monkeypatch.setattr(time, "time", lambda: 86400.0)
    finding = one(machine.clock())
    assert finding.state == "bad"
    assert "1970-01-0" in finding.found
    assert "set the clock" in (finding.cure or "")


def test_the_kind_of_file_system(tmp_path, monkeypatch):
    inner = tmp_path / "a b"
    inner.mkdir()
    kinds = [("/", "rootfs"), ("/", "overlay"), (str(inner.resolve()), "nfs4")]
    mounts = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in kinds]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **options: mounts)
    assert machine.file_system(inner) == "nfs4"
    assert machine.file_system(tmp_path) == "overlay"
    mounts.clear()
    assert machine.file_system(tmp_path) is None


def test_a_file_server_with_another_clock(tmp_path, monkeypatch):
    assert list(machine.cache_clock(tmp_path)) == []
    real = Path.touch

    def late(path, *args):
        real(path, *args)
        os.utime(path, (time.time() + 90, time.time() + 90))

    monkeypatch.setattr(Path, "touch", late)
    assert "90 s away" in one(machine.cache_clock(tmp_path)).found


def test_a_disk_without_locks(tmp_path, monkeypatch):
    assert list(machine.cache_locks(tmp_path)) == []

    def refuse(file, how):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert one(machine.cache_locks(tmp_path)).state == "note"


def test_the_cache_is_measured_and_left_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "PROBE_BYTES", 1 << 20)
    found = {finding.subject: finding for finding in machine.cache(tmp_path / "deep" / "cache")}
    assert "small files/s" in found["cache speed"].found
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(machine, "LOW_DISK", 1 << 62)
    assert "gc" in (next(iter(machine.cache(tmp_path))).cure or "")


def test_versions_that_do_not_fit(monkeypatch):
    assert machine.unfit() == []
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ["numpy>=99", "x; extra == 'y'"])
    ((requirement, installed),) = machine.unfit()
    assert requirement == "numpy>=99"
    assert installed.startswith("numpy ")


def test_a_check_that_fails_is_a_finding(monkeypatch, tmp_path):
    def breaks():
        raise RuntimeError("no idea")

    monkeypatch.setattr(machine, "clock", breaks)
    monkeypatch.setattr(machine, "PROBE_BYTES", 1 << 20)
    found = {finding.subject: finding for finding in findings(tmp_path)}
    assert found["clock"].found == "could not be checked: RuntimeError: no idea"
    assert all(finding.cure for finding in found.values() if finding.state != "good")


@pytest.mark.parametrize(
    ("available", "state", "words"), [(True, "good", "2.27.3"), (False, "note", "libnccl")]
)
def test_nccl_is_looked_for(available, state, words, monkeypatch) -> None:
    library = types.ModuleType("cupy.cuda.nccl")
    vars(library).update(available=available, get_version=lambda: 22703)
    package = types.ModuleType("cupy.cuda")
    vars(package).update(nccl=library)
    for name, module in (("cupy", types.ModuleType("cupy")), ("cupy.cuda", package)):
        monkeypatch.setitem(sys.modules, name, module)
    found = gpus.nccl("gpu12")
    assert found.state == state
    assert words in found.found
    assert available or "nvidia-nccl-cu12" in str(found.cure)


def test_compiled_kernels_of_others_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAVEL_COMPILED", str(tmp_path / "compiled"))
    finding = one(machine.compiled())
    assert (finding.state, finding.found) == ("good", f"0 in {tmp_path / 'compiled'}, 0 B")
    (tmp_path / "compiled").chmod(0o777)
    finding = one(machine.compiled())
    assert finding.state == "note"
    assert "may be written by others (mode 777)" in finding.found
    assert "GRAVEL_COMPILED" in finding.cure
    monkeypatch.setenv("GRAVEL_COMPILED", "/proc/self/compiled")
    assert "cannot be kept" in one(machine.compiled()).found
