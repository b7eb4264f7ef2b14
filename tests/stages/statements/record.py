"""What cases stated and took: `python -m tests.stages.statements.record --write [--backend cuda]` records it.

A statement that is changed no longer agrees with the record and has to be measured again. What is too small
or too large is not written.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.stages.statements.cases import CASES, SCALES, filled
from tests.stages.statements.measuring import files_of, machine_of, measured

FILE = Path(__file__).with_name("recorded.json")

ROOM = 1.2
"""How far a statement may lie above the peak, beside the case's fixed part."""

NOISE = 1.02
"""How far a peak may lie above the statement: pages that the allocator keeps for itself."""

MOST_FIXED = {"host": 160 << 20, "device": 64 << 20}
"""What a fixed part may be. On the host: what Numba takes to compile where the cache on disk lacks a kernel
(up to 136 MiB, `COMPILED_ROWS`), which a peak with compiled kernels does not show. On a device: buffers."""

LARGE_FIXED = {
    ("compress auto", "host"): 400 << 20,
    ("partition", "host"): 384 << 20,
    ("partition striped", "host"): 384 << 20,
    ("distribute", "host"): 200 << 20,
    ("numpy", "host"): 256 << 20,
    ("graph500", "host"): 320 << 20,
    ("graph500", "device"): 3 << 30,
}
"""Cases with more: `compress` samples rows in all codecs; `partition` states one task for each thread and as
many that wait, which a process alone does one after the other; ranks of `distribute` each compile; ids of a
binary file may be from anywhere; `graph500` has kernels of every phase and the validation's workspace."""

Sizes = dict[str, list[int]]


def load() -> dict[str, Any]:
    """Return the record, by section, case and scale.

    `host` and `device` have the bytes stated and taken, `cuda` those that are stated for a GPU (host and
    device), `inputs` the extents that they are stated for.
    """
    recorded: dict[str, Any] = json.loads(FILE.read_text())
    return recorded


def faults(name: str, side: str, sizes: Sizes) -> list[str]:
    """Say which statements of a case are too small or too large."""
    most = LARGE_FIXED.get((name, side), MOST_FIXED[side])
    found = []
    for scale, (need, peak) in sizes.items():
        line = f"{name}, scale {scale}, {side}: {need:,} bytes stated, {peak:,} taken"
        if peak > NOISE * need:
            found.append(f"{line}: too small")
        elif need > ROOM * peak + most:
            found.append(f"{line}: too large by {need - ROOM * peak - most:,.0f}")
    return found


def stated(name: str, scale: str, backend: str, inputs: Mapping[str, Any], folder: Path) -> list[int]:
    """Return the host and device bytes that a case states now, for inputs of these extents."""
    from gravel.stages.stage import Extent, all_stages

    case = CASES[name]
    stage = all_stages()[case.stage]
    if {"file", "folder"} & case.parameters.keys():
        files_of(folder, int(scale))
    parameters = stage.parameters(**filled(case.parameters, int(scale), str(folder)))
    extents = {slot: tuple(Extent(**each) for each in given) for slot, given in inputs.items()}
    need = stage.estimate(parameters, extents, machine_of(backend))
    return [need.host_bytes, need.device_bytes]


def all_stated(recorded: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what all cases state now, in the sections of the record."""
    now: dict[str, Any] = {"host": {}, "cuda": {}}
    for name, sizes in recorded["inputs"].items():
        for scale, inputs in sizes.items():
            now["host"].setdefault(name, {})[scale] = stated(name, scale, "cpu", inputs, folder)[0]
            if CASES[name].gpu:
                now["cuda"].setdefault(name, {})[scale] = stated(name, scale, "cuda", inputs, folder)
    return now


def write(backend: str, names: list[str]) -> list[str]:
    """Measure cases and write what they took; returns the faults, of which nothing is written."""
    recorded: dict[str, Any] = load() if FILE.exists() else {}
    found: list[str] = []
    side = "device" if backend == "cuda" else "host"
    with tempfile.TemporaryDirectory(prefix="gravel-") as given:
        folder = Path(given)
        for name in names:
            taken = {str(scale): measured(folder, name, scale, backend) for scale in SCALES}
            sizes: Sizes = {scale: each[side] for scale, each in taken.items()}
            for scale, (need, peak) in sizes.items():
                print(f"{name:24} {side:6} {scale} {need >> 20:6} MiB stated {peak >> 20:6} MiB taken")
            wrong = faults(name, side, sizes)
            found += wrong
            if not wrong:
                recorded.setdefault(side, {})[name] = sizes
                recorded.setdefault("inputs", {})[name] = {s: each["inputs"] for s, each in taken.items()}
        recorded["cuda"] = all_stated(recorded, folder)["cuda"]
    FILE.write_text(json.dumps(recorded, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("names", nargs="*", help="cases; all of the backend, if none is named")
    given = parser.parse_args()
    of_backend = [name for name, case in CASES.items() if given.backend == "cpu" or case.gpu]
    raise SystemExit("\n".join(write(given.backend, given.names or of_backend)) or 0)
