"""A Dask cluster that somebody else started, by its address or scheduler file."""

from __future__ import annotations

import socket
import ssl
import uuid
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from distributed import Client
from distributed.versions import VersionMismatchWarning

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import scratch_path
from gravel.pipeline.workers.dask_cluster import DaskCluster
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.pipeline.workers.scheduler_address import FILE, scheduler_address
from gravel.pipeline.workers.settings import Tls, encrypted, security
from gravel.pipeline.workers.store_access import check_store
from gravel.pipeline.workers.worker_facts import (
    refuse_other_cache,
    refuse_other_code,
    refuse_other_versions,
    worker_facts,
)

CONNECT_LIMIT = 10
"""Seconds to reach the scheduler; one that refuses is not asked again."""

OPEN = (
    "the scheduler at {} is not encrypted and asks for no key: whoever reaches its port, or a "
    "worker's, can run code as the workers' user; start it with --protocol tls (docs/clusters.md#tls)"
)


Found: TypeAlias = tuple[list[WorkerSlot], str, str | None]


class _Connection(Client):  # type: ignore[misc]
    """A client that has nothing to close if it never connected; Dask's waits for that, and warns."""

    def __del__(self) -> None:
        if self.status not in ("newly-created", "connecting"):
            super().__del__()


def _reach(address: str) -> None:
    """Raise OSError where nothing listens, or who listens says nothing: Dask would wait for a minute.

    A scheduler greets whoever connects, but with TLS.
    """
    parts = urlsplit(address)
    if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
        with socket.create_connection((parts.hostname, parts.port), CONNECT_LIMIT) as probe:
            if parts.scheme == "tcp":
                probe.recv(1)


def connect(
    run: str, where: str, cache_root: Path, tls: Tls | None = None, files: Sequence[str] = ()
) -> DaskCluster:
    """Connect to a scheduler; raises RequestError if it cannot be used, which nothing has run on then.

    It is refused if it does not answer, has no workers, or if a worker runs other software (Python, Dask,
    NumPy, gravel's version and code) or does not share the cache folder. Where a store is behind the cache it
    is enough that workers reach that, and see the local `files` that stages read.
    """
    address = scheduler_address(where)
    where = where.removeprefix(FILE)
    shown = where if address == where else f"{address} (in {where})"
    chosen = security(tls, address)
    try:
        _reach(address)
        with warnings.catch_warnings():
            # Versions are compared below, and what differs is refused.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = _Connection(address, timeout=CONNECT_LIMIT, set_as_default=False, security=chosen)
    except (OSError, TimeoutError) as error:
        distrust = _distrust(error)
        if distrust is not None:
            raise RequestError(
                f"the scheduler at {shown} and this side do not trust each other (TLS: {distrust})",
                hint="both sides' certificates must be signed by the authority of --tls-ca",
            ) from error
        raise RequestError(
            f"no Dask scheduler answers at {shown} ({type(error).__name__})",
            hint="check the address and that the scheduler runs; gravel runs --cluster local without one",
        ) from error
    except (ValueError, TypeError, RuntimeError, ImportError) as error:
        raise RequestError(f"the scheduler at {shown} does not speak Dask's protocol: {error}") from error
    try:
        refuse_other_versions(client.get_versions(), where)
        slots, remarks, store = worker_slots(client, where, cache_root, files)
        about = f", {'' if encrypted(address) else 'not '}encrypted{remarks}"
        warning = None if encrypted(address) else OPEN.format(shown)
        return DaskCluster("existing", client, None, slots, run, about, warning, store)
    except BaseException:
        client.close(timeout=2)
        raise


def _distrust(error: BaseException) -> str | None:
    """Return what TLS says, which Dask wraps into a time limit; None if it says nothing."""
    shown = None
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ssl.SSLError):
            return getattr(inner, "verify_message", None) or inner.reason or str(inner)
        if type(inner).__name__ == "FatalCommClosedError":  # Dask's word for what trying again will not mend
            shown = str(inner) or "the certificate is not accepted"
        inner = inner.__cause__ or inner.__context__
    return shown


def worker_slots(client: Any, where: str, cache_root: Path, files: Sequence[str]) -> Found:
    """Return the workers as worker slots, remarks on them, and the store if that is all they share."""
    marker = (cache_root / scratch_path(f"seen-{uuid.uuid4().hex}")).absolute()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    remote = Cache(cache_root).remote
    try:
        answers = client.run(worker_facts, str(marker), on_error="return")
        if not answers:
            raise RequestError(
                f"the Dask cluster at {where} has no workers", hint="start some, then run again"
            )
        here = worker_facts(str(marker))
        for address, facts in answers.items():
            refuse_other_code(address, facts, here)
        apart = remote is not None and not all(facts["sees_cache"] for facts in answers.values())
        for address, facts in () if apart else answers.items():
            refuse_other_cache(address, facts, cache_root)
    finally:
        for file in marker.parent.glob(f"{marker.name}*"):
            file.unlink(missing_ok=True)
    if apart and remote is not None:
        check_store(client, remote, files)
    workers = client.scheduler_info()["workers"]
    stated = ("host", "device", "device_bytes", "cores", "host_bytes")
    slots = [
        WorkerSlot(str(workers[address]["name"]), *(facts[name] for name in stated))
        for address, facts in answers.items()
        if address in workers
    ]
    remarks = f", sharing {remote.url} only" if apart and remote is not None else ""
    processors = {facts["processor"] for facts in answers.values()} - {here["processor"]}
    if processors:
        there = ", ".join(sorted(processors))
        remarks += f" (workers on {there}; measurements are recorded as of {here['processor']})"
    return slots, remarks, remote.url if apart and remote is not None else None
