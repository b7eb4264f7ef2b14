"""What a worker of somebody else's cluster is, and what refuses it: software, and the cache folder."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from blake3 import blake3

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import ROOT
from gravel.pipeline.core.hardware import core_count, cpu_model, find_devices
from gravel.pipeline.core.memory import host_capacity
from gravel.pipeline.workers.dask_cluster import SAME

SEEN_LIMIT = 5.0
"""Seconds until a file that a worker wrote must be seen here: network file systems remember what was not."""

SCHEDULER = {"python": 2, "dask": 4, "distributed": 4}
"""Packages that must agree with the scheduler's, and how many parts of their versions."""

WORKERS = {**SCHEDULER, "numpy": 2}
"""The same for workers, which exchange arrays."""

SHOWN = 4
"""How many differences a message lists."""


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


def refuse_other_code(address: str, facts: Any, here: Mapping[str, Any]) -> None:
    """Refuse a worker that cannot run gravel, or runs another state of it; raises RequestError."""
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


def refuse_other_cache(address: str, facts: Mapping[str, Any], cache_root: Path) -> None:
    """Refuse a worker that does not share the cache folder; raises RequestError."""
    shared = (
        "put the cache on a disk that every worker sees under the same path, or into an object store that "
        "all reach, with --cache"
    )
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
