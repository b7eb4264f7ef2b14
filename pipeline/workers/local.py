"""Worker processes on this machine's cores, on one GPU, and on pretended GPUs."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.hardware import Device, rotation
from gravel.pipeline.workers.dask_cluster import DaskCluster
from gravel.pipeline.workers.preload import KERNELS, MAKE_CONTEXT
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.pipeline.workers.run_key import run_security
from gravel.pipeline.workers.settings import WORKER_PRELOADS, dask_folder, deaf_children

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
                "preload": list(WORKER_PRELOADS),
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
        # Of an HTTP server that is closed at once (`no_http`); another run may have the usual port.
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
