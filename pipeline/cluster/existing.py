"""A Dask cluster that somebody else started, by its address or scheduler file."""

from __future__ import annotations

import platform
import socket
import uuid
from pathlib import Path
from typing import Any

from pipeline.cluster import Place
from pipeline.cluster.address import scheduler_address
from pipeline.cluster.dask_cluster import DaskCluster
from pipeline.errors import RequestError

CONNECT_LIMIT = 15
"""Seconds to reach the scheduler."""


def worker_facts(marker: str) -> dict[str, Any]:
    """Say what a worker is; runs there. `marker` is a file in the cache, which the worker must see."""
    from importlib.metadata import PackageNotFoundError, version

    from pipeline.cluster.devices import find_devices
    from pipeline.hardware import core_count

    try:
        gravel = version("gravel")
    except PackageNotFoundError:
        gravel = "unknown"
    devices = find_devices()
    return {
        "gravel": gravel,
        "python": platform.python_version(),
        "host": socket.gethostname(),
        "sees_cache": Path(marker).exists(),
        "device": devices[0].name if devices else None,
        "device_bytes": devices[0].total_bytes if devices else 0,
        "cores": core_count(),
    }


def connect(run: str, where: str, cache_root: Path) -> DaskCluster:
    """Connect to a scheduler; raises RequestError if it is unreachable, empty or of other versions."""
    from distributed import Client

    class Connection(Client):  # type: ignore[misc]
        """A client that has nothing to close if it never connected; Dask's waits for that, and warns."""

        def __del__(self) -> None:
            if self.status not in ("newly-created", "connecting"):
                super().__del__()

    address = scheduler_address(where)
    told = where if address == where else f"{address} (in {where})"
    try:
        client = Connection(address, timeout=CONNECT_LIMIT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise RequestError(
            f"no Dask scheduler answers at {told} ({type(error).__name__})",
            hint="check the address and that the scheduler runs; gravel runs --cluster local without one",
        ) from error
    except (ValueError, TypeError, RuntimeError, ImportError) as error:
        raise RequestError(f"the scheduler at {told} cannot be spoken to: {error}") from error
    try:
        return DaskCluster("existing", client, None, _places(client, where, cache_root), run)
    except BaseException:
        client.close(timeout=2)
        raise


def _places(client: Any, where: str, cache_root: Path) -> list[Place]:
    marker = cache_root / "scratch" / f"seen-{uuid.uuid4().hex}"
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    try:
        answers = client.run(worker_facts, str(marker), on_error="return")
    finally:
        marker.unlink(missing_ok=True)
    if not answers:
        raise RequestError(f"the Dask cluster at {where} has no workers", hint="start some, then run again")
    mine = worker_facts(str(cache_root))
    workers = client.scheduler_info()["workers"]
    places = []
    for address, facts in answers.items():
        if isinstance(facts, BaseException):
            raise RequestError(
                f"the worker {address} cannot run gravel: {type(facts).__name__}: {facts}",
                hint="install the same version of gravel in the workers' environment",
            )
        for name in ("gravel", "python"):
            if facts[name].split(".")[:2] != mine[name].split(".")[:2]:
                raise RequestError(
                    f"the worker {address} has {name} {facts[name]}, and {mine[name]} is here",
                    hint="use the same environment on both sides",
                )
        if not facts["sees_cache"]:
            raise RequestError(
                f"the worker {address} does not see the cache {cache_root}",
                hint="put the cache on a disk that every worker sees, with --cache",
            )
        places.append(
            Place(
                str(workers[address]["name"]),
                facts["host"],
                facts["device"],
                facts["device_bytes"],
                facts["cores"],
            )
        )
    return places
