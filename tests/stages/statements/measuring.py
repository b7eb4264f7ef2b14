"""One case in a process of its own: `python -m tests.stages.statements.measuring FOLDER NAME SCALE BACKEND`.

It prints what is stated and what was taken, and leaves the results in the store of the folder for the cases
that read them. The same code measures on the CPU and on a GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.stages.statements.cases import CASES, filled

AMPLE = 1 << 40
DEVICE = 64 << 30
MODULE = "tests.stages.statements.measuring"
ROOT = Path(__file__).resolve().parents[3]


def machine_of(backend: str) -> Any:
    """Return the machine that statements are made for."""
    from gravel.stages.stage import Machine

    return Machine(backend, 2, AMPLE, DEVICE if backend == "cuda" else 0)


def files_of(folder: Path, scale: int) -> None:
    """Write the files that ingest reads, unless they are there."""
    import numpy

    if (folder / f"{scale}.npy").exists():
        return
    pairs = numpy.random.default_rng(scale).integers(0, 1 << scale, (8 << scale, 2))
    (folder / f"{scale}.txt").write_bytes(b"".join(b"%d %d\n" % (u, v) for u, v in pairs.tolist()))
    numpy.save(folder / f"{scale}.npy", pairs)
    command = "import gravel, numpy, sys; gravel.graph(numpy.load(sys.argv[1])).save(sys.argv[2])"
    files = [str(folder / f"{scale}.{kind}") for kind in ("npy", "graph")]
    subprocess.run([sys.executable, "-c", command, *files], check=True, cwd=ROOT)


def measure(folder: Path, name: str, scale: int, backend: str) -> dict[str, Any]:
    """Run a case once; returns what was stated and taken, and the extents of its inputs."""
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workers.peak import Peak
    from gravel.stages.context import PlainContext
    from gravel.stages.stage import all_stages

    case, cache, machine = CASES[name], Cache(folder / "cache"), machine_of(backend)
    stage = all_stages()[case.stage]
    if {"file", "folder"} & case.parameters.keys():
        files_of(folder, scale)
    parameters = stage.parameters(**filled(case.parameters, scale, str(folder)))
    ids = {slot: [made(folder, each, scale) for each in _names(given)] for slot, given in case.inputs.items()}
    extents = {slot: tuple(cache.describe(each).extent for each in found) for slot, found in ids.items()}
    need = stage.estimate(parameters, extents, machine)
    inputs = {
        slot: tuple(map(cache.open, found)) if stage.inputs[slot].many else cache.open(found[0])
        for slot, found in ids.items()
    }
    context = PlainContext(machine)
    with cache.writer() as writer:
        context.sink = writer.sink  # type: ignore[method-assign, assignment]
        with Peak(0.005, device=backend == "cuda") as peak:
            results = stage.run(context, parameters, **inputs)
        first = results[0] if isinstance(results, tuple) else results
        (folder / f"{name} {scale}.id").write_text(writer.publish(first).id)
    taken: dict[str, Any] = {"host": [need.host_bytes, peak.host_bytes]}
    taken["inputs"] = {slot: [asdict(extent) for extent in found] for slot, found in extents.items()}
    if backend == "cuda":
        taken["device"] = [need.device_bytes, peak.device_bytes]
    return taken


def made(folder: Path, name: str, scale: int) -> str:
    """Return the id of a case's result, made in another process where it is not there."""
    file = folder / f"{name} {scale}.id"
    if not file.exists():
        measured(folder, name, scale, "cpu")
    return file.read_text()


def measured(folder: Path, name: str, scale: int, backend: str) -> dict[str, Any]:
    """Measure a case in a process of its own: bytes stated and taken on each side."""
    for given in CASES[name].inputs.values():
        for each in _names(given):
            made(folder, each, scale)
    command = [sys.executable, "-m", MODULE, str(folder), name, str(scale), backend]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, f"{name} {scale} {backend}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])))
