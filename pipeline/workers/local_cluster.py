"""Worker processes on this machine: on its cores, its GPUs, and pretended GPUs."""

from __future__ import annotations

import datetime
import json
import os
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import Device, rotation
from gravel.pipeline.workers.dask_cluster import DaskCluster
from gravel.pipeline.workers.preload import KERNELS, MAKE_CONTEXT
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.pipeline.workers.settings import PRELOADS
from gravel.stages.urls import visible

if TYPE_CHECKING:
    from gravel.stages.kernel_names import Kernel

MAX_WORKERS = 8
"""More workers than this start slowly and share few stages; kernels use all cores anyway."""

HOST = "127.0.0.1"

ANY_PORT = f"{HOST}:0"
"""Of an HTTP server that is closed at once (`preload`); another run may have the usual port."""


def local_worker_count(cores: int, ranks: int) -> int:
    """Choose how many workers to start: one per core up to a limit, and one per rank."""
    return max(1, ranks, min(cores, MAX_WORKERS))


def start_local(run: str, workers: int, scratch: Path) -> DaskCluster:
    """Start so many workers on this machine's cores."""
    host = socket.gethostname()
    worker_slots = [WorkerSlot(f"worker{index}", host) for index in range(workers)]
    return _start("local", run, worker_slots, [{}] * workers, scratch)


def start_cuda(
    run: str, devices: tuple[Device, ...], scratch: Path, kernels: Sequence[Kernel] = ()
) -> DaskCluster:
    """Start one worker per GPU; raises RequestError if several need dask-cuda and it is missing.

    The worker of one GPU compiles `kernels` before its first stage.
    """
    if len(devices) > 1 and not any(device.fake for device in devices):
        return _start_dask_cuda(run, devices, scratch)
    context = {MAKE_CONTEXT: "1", KERNELS: json.dumps(kernels)}
    variables = [
        {"CUDA_VISIBLE_DEVICES": rotation(devices, index), **({} if device.fake else context)}
        for index, device in enumerate(devices)
    ]
    worker_slots = [_slot(f"gpu{device.mask}", device) for device in devices]
    return _start("cuda", run, worker_slots, variables, scratch)


def _slot(name: str, device: Device) -> WorkerSlot:
    return WorkerSlot(name, socket.gethostname(), device.name, device.total_bytes)


def _start(
    kind: str,
    run: str,
    worker_slots: Sequence[WorkerSlot],
    variables: Sequence[Mapping[str, str]],
    scratch: Path,
) -> DaskCluster:
    """Start a worker for each slot, with these variables besides what all have."""
    from distributed import Client, Nanny, Scheduler, SpecCluster

    security = run_security()
    closed = {"host": HOST, "protocol": "tls", "security": security}
    workers = {
        worker_slot.name: {
            "cls": Nanny,
            "options": {
                **closed,
                "nthreads": 1,
                "memory_limit": 0,
                "name": worker_slot.name,
                "local_directory": _dask_folder(scratch),
                "preload": list(PRELOADS),
                "env": own,
            },
        }
        for worker_slot, own in zip(worker_slots, variables, strict=True)
    }
    options = {**closed, "port": 0, "dashboard": False, "dashboard_address": ANY_PORT}
    scheduler = {"cls": Scheduler, "options": options}
    with _deaf_children():
        cluster = SpecCluster(scheduler=scheduler, workers=workers, security=security, name=f"gravel-{run}")
        client = Client(cluster, set_as_default=False)
    return DaskCluster(kind, client, cluster, worker_slots, run)


def _start_dask_cuda(run: str, devices: tuple[Device, ...], scratch: Path) -> DaskCluster:
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise RequestError(
            f"GPUs are here and dask-cuda is not ({error})",
            hint="pip install 'gravel[gpu]' for CUDA 13, 'gravel[gpu12]' for CUDA 12, or use --cluster local",
        ) from error
    from distributed import Client

    with _deaf_children():
        # Dask's own limits see neither pinned memory nor what a kernel holds: they stay off.
        cluster = LocalCUDACluster(
            CUDA_VISIBLE_DEVICES=[device.mask for device in devices],
            threads_per_worker=1,
            memory_limit=0,
            device_memory_limit=0,
            host=HOST,
            protocol="tls",
            security=run_security(),
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": ANY_PORT},
            local_directory=_dask_folder(scratch),
            preload=list(PRELOADS),
        )
        client = Client(cluster, set_as_default=False)
    by_mask = {device.mask: device for device in devices}
    names = sorted(map(str, cluster.worker_spec))
    worker_slots = [
        _slot(name, by_mask.get(name, device)) for name, device in zip(names, devices, strict=False)
    ]
    return DaskCluster("cuda", client, cluster, worker_slots, run)


def _dask_folder(scratch: Path) -> str:
    """Return a folder for what Dask keeps of its own, which must have a name in UTF-8."""
    name = os.fspath(scratch)
    return name if visible(name) == name else tempfile.gettempdir()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Let processes that are started meanwhile, and by threads made meanwhile, never see Ctrl-C.

    The signal mask is inherited by threads and processes, so that this holds for later restarts too.
    """
    # Whichever thread starts the tracker has Ctrl-C unblocked by it: let that be this one, now.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_security() -> Any:
    """Make a key pair and return Dask's `Security` with it, the same for client, scheduler and workers.

    Dask's own `Security.temporary` makes an RSA key, which takes 10 to 100 ms; this one takes less than 1 ms.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    from distributed.security import Security

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gravel-run")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("gravel-run")]), critical=False)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # No dates: the key ends with its run, and a clock that is set back must not end it earlier.
        .not_valid_before(datetime.datetime(2000, 1, 1))
        .not_valid_after(datetime.datetime(9999, 12, 31))
        .sign(key, hashes.SHA256())
    )
    certificate = signed.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_cert": certificate for role in roles},
        **{f"tls_{role}_key": secret for role in roles},
        # Whatever Dask's configuration says of other clusters.
        tls_ciphers=None,
        tls_min_version=None,
        tls_max_version=None,
    )
