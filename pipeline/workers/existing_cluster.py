"""A Dask cluster that somebody else started, by its address or scheduler file."""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from blake3 import blake3
from distributed import Client
from distributed.versions import VersionMismatchWarning

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import ROOT
from gravel.pipeline.core.hardware import core_count, cpu_model, find_devices
from gravel.pipeline.core.memory import host_capacity
from gravel.pipeline.store.folder import scratch_path
from gravel.pipeline.workers.dask_cluster import SAME, DaskCluster
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.pipeline.workers.settings import Tls, encrypted, security

CONNECT_LIMIT = 10
"""Seconds to reach the scheduler; one that refuses is not asked again."""

SEEN_LIMIT = 5.0
"""Seconds until a file that a worker wrote must be seen here: network file systems remember what was not."""

PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss")

FILE = "file://"
"""Before a scheduler file whose name need not end in .json."""

SCHEDULER = {"python": 2, "dask": 4, "distributed": 4}
"""Packages that must agree with the scheduler's, and how many parts of their versions."""

WORKERS = {**SCHEDULER, "numpy": 2}
"""The same for workers, which exchange arrays."""

SHOWN = 4
"""How many differences a message lists."""

OPEN = (
    "the scheduler at {} is not encrypted and asks for no key: whoever reaches its port, or a "
    "worker's, can run code as the workers' user; start it with --protocol tls (docs/clusters.md#tls)"
)

_FORM = "write it like tcp://host:8786"


def worker_facts(marker: str) -> dict[str, Any]:
    """Say what a worker is; runs there. `marker` is a file in the cache, which the worker must see.

    It answers beside the marker too, which tells whether the worker may write there.
    """
    try:
        gravel = version("gravel")
    except PackageNotFoundError:
        gravel = "unknown"
    devices = find_devices()
    answer = f"{marker}-{socket.gethostname()}-{os.getpid()}"
    problem = None
    if sees := Path(marker).exists():
        try:
            Path(answer).touch()
        except OSError as error:
            problem = error.strerror or str(error)
    return {
        "gravel": gravel,
        "code": code_digest(),
        "host": socket.gethostname(),
        "sees_cache": sees,
        "answer": answer,
        "cannot_write": problem,
        "device": devices[0].name if devices else None,
        "device_bytes": devices[0].total_bytes if devices else 0,
        "cores": core_count(),
        "host_bytes": host_capacity()[0],
        "processor": cpu_model(),
    }


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


def connect(run: str, where: str, cache_root: Path, tls: Tls | None = None) -> DaskCluster:
    """Connect to a scheduler; raises RequestError if it cannot be used, which nothing has run on then.

    It is refused if it does not answer, has no workers, or if a worker runs other software (Python, Dask,
    NumPy, gravel's version and code) or does not share the cache folder.
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
        worker_slots, others = _worker_slots(client, where, cache_root)
        about = f", {'' if encrypted(address) else 'not '}encrypted{others}"
        warning = None if encrypted(address) else OPEN.format(shown)
        return DaskCluster("existing", client, None, worker_slots, run, about, warning)
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


def _worker_slots(client: Any, where: str, cache_root: Path) -> tuple[list[WorkerSlot], str]:
    """Return the workers as worker slots, and a remark on hardware that is not the driver's."""
    marker = (cache_root / scratch_path(f"seen-{uuid.uuid4().hex}")).absolute()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    try:
        answers = client.run(worker_facts, str(marker), on_error="return")
        if not answers:
            raise RequestError(
                f"the Dask cluster at {where} has no workers", hint="start some, then run again"
            )
        here = worker_facts(str(marker))
        for address, facts in answers.items():
            _check(address, facts, here, cache_root)
    finally:
        for file in marker.parent.glob(f"{marker.name}*"):
            file.unlink(missing_ok=True)
    workers = client.scheduler_info()["workers"]
    stated = ("host", "device", "device_bytes", "cores", "host_bytes")
    worker_slots = [
        WorkerSlot(str(workers[address]["name"]), *(facts[name] for name in stated))
        for address, facts in answers.items()
        if address in workers
    ]
    processors = {facts["processor"] for facts in answers.values()} - {here["processor"]}
    if not processors:
        return worker_slots, ""
    there = ", ".join(sorted(processors))
    return worker_slots, f" (workers on {there}; measurements are recorded as of {here['processor']})"


def _check(address: str, facts: Any, here: Mapping[str, Any], cache_root: Path) -> None:
    """Refuse one worker; raises RequestError."""
    if isinstance(facts, BaseException):
        problem = f"{type(facts).__name__}: {facts}"
        # What a worker cannot load arrives as the text of its own failure.
        if "ModuleNotFoundError" in problem:
            raise RequestError(
                f"the worker {address} has no gravel, or not all it needs: {facts}",
                hint="install the same version of gravel, with all it needs, in the workers' environment",
            )
        raise RequestError(f"the worker {address} cannot run gravel: {problem}", hint=SAME)
    if facts.get("gravel") != here["gravel"]:
        shown = f"the worker {address} has gravel {facts.get('gravel')}, and {here['gravel']} is here"
        raise RequestError(shown, hint=SAME)
    if facts.get("code") != here["code"]:
        raise RequestError(
            f"the worker {address} has other code of gravel {here['gravel']} than is here",
            hint=f"a checkout that was edited or not updated, perhaps, or a worker that began before; {SAME}",
        )
    shared = "put the cache on a disk that every worker sees under the same path, with --cache"
    if not facts["sees_cache"]:
        raise RequestError(f"the worker {address} does not see the cache {cache_root}", hint=shared)
    if facts["cannot_write"]:
        shown = f"the worker {address} cannot write into the cache {cache_root}: {facts['cannot_write']}"
        raise RequestError(shown, hint="give its user the right to, or mount it for writing")
    limit = time.monotonic() + SEEN_LIMIT
    while not Path(facts["answer"]).exists():
        if time.monotonic() > limit:
            shown = f"what the worker {address} writes into the cache {cache_root} is not seen here"
            raise RequestError(shown, hint=shared)
        time.sleep(0.1)


def scheduler_address(where: str) -> str:
    """Return the address that a `--cluster` value gives, itself or in the scheduler file that it names.

    Raises RequestError for a file that is not there or none of Dask's, and for what is no address.
    """
    if where.startswith(FILE):
        where = where.removeprefix(FILE)
    elif not where.endswith(".json"):
        return _checked(where, where)
    path = Path(where)
    try:
        stated = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RequestError(
            f"there is no scheduler file {where}",
            hint="start the scheduler with --scheduler-file, on a disk that both see",
        ) from None
    except OSError as error:
        raise RequestError(f"the scheduler file {where} cannot be read: {error.strerror}") from None
    except ValueError:
        stated = None
    address = stated.get("address") if isinstance(stated, dict) else None
    if not isinstance(address, str):
        raise RequestError(
            f"{where} is no scheduler file: a JSON object with an `address` is expected",
            hint="name the file that the scheduler wrote, see --scheduler-file",
        )
    return _checked(address, f"{address} (in {where})")


def _checked(address: str, shown: str) -> str:
    protocol = address.partition("://")[0]
    if protocol not in PROTOCOLS:
        known = ", ".join(f"{each}://" for each in PROTOCOLS)
        raise RequestError(f"{shown} is no address of a scheduler, which begins with {known}", hint=_FORM)
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.hostname and parts.port is not None:
            return address
    raise RequestError(f"the address {shown} has no host with a port number", hint=_FORM)


def code_digest() -> str:
    """Digest the files of gravel that this process runs from: Python and CUDA, by name and content."""
    digest = blake3()
    for package in ("gravel", "kernels", "pipeline", "stages"):
        for file in sorted((ROOT / package).rglob("*")):
            if file.suffix in (".py", ".cu", ".cuh"):
                digest.update(f"{file.relative_to(ROOT).as_posix()}\0".encode())
                digest.update(blake3(file.read_bytes()).digest())
    return digest.hexdigest()


def refuse_other_versions(found: Mapping[str, Any], where: str) -> None:
    """Compare what Dask's `Client.get_versions` found; raises RequestError that lists what differs.

    This comes before gravel's own functions travel: between two versions of Python they could not.
    """
    here = found["client"]["packages"]
    parties = [("the scheduler", found["scheduler"], SCHEDULER)]
    parties += [(f"the worker {address}", facts, WORKERS) for address, facts in found["workers"].items()]
    differ = [sentence for party in parties for sentence in _differences(*party, here)]
    if not differ:
        return
    more = len(differ) - SHOWN
    listed = "; ".join(differ[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
    raise RequestError(f"the Dask cluster at {where} runs other software: {listed}", hint=SAME)


def _differences(
    who: str, facts: Mapping[str, Any], wanted: Mapping[str, int], here: Mapping[str, str | None]
) -> Iterator[str]:
    there = facts.get("packages", {})
    for name, parts in wanted.items():
        its, mine = there.get(name), here.get(name)
        if its is None:
            yield f"{who} has no {name} (here {mine})"
        elif mine is not None and its.split(".")[:parts] != mine.split(".")[:parts]:
            yield f"{who} has {name} {_short(its)} (here {_short(mine)})"


def _short(version: str) -> str:
    return version.replace(".final.0", "")
