"""Worker processes on this machine's cores, on one GPU, and on pretended GPUs."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import Device, rotation
from gravel.pipeline.workers.dask_cluster import DaskCluster
from gravel.pipeline.workers.preload import KERNELS, MAKE_CONTEXT
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.pipeline.workers.security import run_security
from gravel.pipeline.workers.settings import PRELOADS, dask_folder, deaf_children

if TYPE_CHECKING:
    from gravel.stages.kernel_variants import Kernel

MAX_WORKERS = 8
"""More workers than this start slowly and share few stages; kernels use all cores anyway."""


def local_worker_count(cores: int, ranks: int) -> int:
    """Choose how many workers to start: one per core up to a limit, and one per rank."""
    return max(1, ranks, min(cores, MAX_WORKERS))


def _of_device(devices: tuple[Device, ...], index: int, kernels: Sequence[Kernel]) -> dict[str, str]:
    """Return the variables of the worker of a GPU."""
    context = {} if devices[index].fake else {MAKE_CONTEXT: "1", KERNELS: json.dumps(kernels)}
    return {"CUDA_VISIBLE_DEVICES": rotation(devices, index), **context}


def start_local(
    run: str,
    workers: int,
    scratch: Path,
    *,
    devices: tuple[Device, ...] = (),
    kernels: Sequence[Kernel] = (),
) -> DaskCluster:
    """Start workers on this machine; with devices one per device, masked as dask-cuda does.

    Workers of GPUs compile `kernels` before their first stage.
    """
    from distributed import Client, Nanny, Scheduler, SpecCluster

    security = run_security()
    names = [f"gpu{device.mask}" for device in devices] or [f"worker{index}" for index in range(workers)]
    specification = {
        name: {
            "cls": Nanny,
            "options": {
                "host": "127.0.0.1",
                "nthreads": 1,
                "memory_limit": 0,
                "name": name,
                "local_directory": dask_folder(scratch),
                "preload": list(PRELOADS),
                "protocol": "tls",
                "security": security,
                "env": _of_device(devices, index, kernels) if devices else {},
            },
        }
        for index, name in enumerate(names)
    }
    options = {
        "host": "127.0.0.1",
        "port": 0,
        "protocol": "tls",
        "security": security,
        "dashboard": False,
        # Of an HTTP server that is closed at once (`preload`); another run may have the usual port.
        "dashboard_address": "127.0.0.1:0",
    }
    scheduler = {"cls": Scheduler, "options": options}
    with deaf_children():
        cluster = SpecCluster(
            scheduler=scheduler, workers=specification, security=security, name=f"gravel-{run}"
        )
        client = Client(cluster, set_as_default=False)
    host = socket.gethostname()
    if devices:
        worker_slots = [
            WorkerSlot(name, host, device.name, device.total_bytes)
            for name, device in zip(names, devices, strict=True)
        ]
    else:
        worker_slots = [WorkerSlot(name, host) for name in names]
    return DaskCluster("cuda" if devices else "local", client, cluster, worker_slots, run)


def start_cuda(
    run: str, devices: tuple[Device, ...], scratch: Path, kernels: Sequence[Kernel] = ()
) -> DaskCluster:
    """Start one worker per GPU; raises RequestError if several need dask-cuda and it is missing.

    The worker of one GPU compiles `kernels` before its first stage.
    """
    if len(devices) == 1 or any(device.fake for device in devices):
        return start_local(run, len(devices), scratch, devices=devices, kernels=kernels)
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise RequestError(
            f"GPUs are here and dask-cuda is not ({error})",
            hint="pip install 'gravel[gpu]' for CUDA 13, 'gravel[gpu12]' for CUDA 12, or use --cluster local",
        ) from error
    from distributed import Client

    masks = [device.mask for device in devices]
    with deaf_children():
        # Dask's own limits see neither pinned memory nor what a kernel holds: they stay off.
        cluster = LocalCUDACluster(
            CUDA_VISIBLE_DEVICES=masks,
            threads_per_worker=1,
            memory_limit=0,
            device_memory_limit=0,
            host="127.0.0.1",
            protocol="tls",
            security=run_security(),
            dashboard_address=None,
            # Of an HTTP server that is closed at once (`preload`); another run may have the usual port.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            local_directory=dask_folder(scratch),
            preload=list(PRELOADS),
        )
        client = Client(cluster, set_as_default=False)
    names = sorted(str(name) for name in cluster.worker_spec)
    by_mask = {device.mask: device for device in devices}
    host = socket.gethostname()
    worker_slots = []
    for position, name in enumerate(names):
        device = by_mask.get(name, devices[position])
        worker_slots.append(WorkerSlot(name, host, device.name, device.total_bytes))
    return DaskCluster("cuda", client, cluster, worker_slots, run)
