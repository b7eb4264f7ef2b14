"""What software client, scheduler and workers of an existing cluster run, and whether it is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import ROOT

SCHEDULER = {"python": 2, "dask": 4, "distributed": 4}
"""Packages that must agree with the scheduler's, and how many parts of their versions."""

WORKERS = {**SCHEDULER, "numpy": 2}
"""The same for workers, which exchange arrays."""

SHOWN = 4
"""How many differences a message lists."""

SAME = "give client, scheduler and workers the same environment; see docs/clusters.md"


def code_digest() -> str:
    """Digest the files of gravel that this process runs from: Python and CUDA, by name and content."""
    from blake3 import blake3

    root = ROOT
    digest = blake3()
    for package in ("gravel", "kernels", "pipeline", "stages"):
        for file in sorted((root / package).rglob("*")):
            if file.suffix in (".py", ".cu", ".cuh"):
                digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
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
