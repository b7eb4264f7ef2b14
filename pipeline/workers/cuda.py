"""One worker per GPU of this machine: through dask-cuda, or as plain workers for one GPU and pretended ones.

dask-cuda takes two seconds more to start. What it adds, a worker's cores near its GPU, is of no use to one
worker, which takes all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import Device
from gravel.pipeline.workers.dask_cluster import DaskCluster
from gravel.pipeline.workers.local import start_local
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.pipeline.workers.run_key import run_security
from gravel.pipeline.workers.settings import WORKER_PRELOADS, dask_folder, deaf_children

if TYPE_CHECKING:
    from gravel.stages.kernel_variants import Kernel


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
            # Of an HTTP server that is closed at once (`no_http`); another run may have the usual port.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            local_directory=dask_folder(scratch),
            preload=list(WORKER_PRELOADS),
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
