"""One case in a process of its own: `python -m tests.stages.statements.measuring FOLDER NAME SCALE BACKEND`.

It prints what is stated and what was taken, and leaves the results in the store of the folder for the cases
that read them. The same code measures on the CPU and on a GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.stages.statements.cases import CASES, Case, filled

AMPLE = 1 << 40
DEVICE = 64 << 30
MODULE = "tests.stages.statements.measuring"
ROOT = Path(__file__).resolve().parents[3]

Sizes = dict[str, tuple[Any, ...]]


def machine_of(backend: str, case: Case) -> Any:
    """Return the machine that statements are made for."""
    from gravel.stages.stage import Machine

    usual = {"threads": 2, "host_memory": AMPLE, "device_memory": DEVICE if backend == "cuda" else 0}
    return Machine(backend, **{**usual, **case.machine})


def stated(name: str, scale: int, backend: str, inputs: Sizes, folder: Path) -> Any:
    """Return what a case states for inputs of these sizes."""
    from gravel.stages.stage import all_stages

    case = CASES[name]
    stage = all_stages()[case.stage]
    parameters = stage.parameters(**filled(case.parameters, scale, str(folder)))
    return stage.estimate(parameters, inputs, machine_of(backend, case))


def measure(
    folder: Path, name: str, scale: int, backend: str, looking: Any = None, *, keeps: bool = False
) -> dict[str, Any]:
    """Run a case once; returns what was stated and taken, and the sizes of its inputs.

    `looking` measures instead of `gravel.pipeline.workers.peak.Peak`. With `keeps`, results stay on the
    device, which is stated for them beside, and nobody reads them.
    """
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workers.peak import Peak
    from gravel.stages.stage import all_stages
    from tests.stages.statements.mapping import MappingContext

    case, cache = CASES[name], Cache(folder / "cache")
    stage = all_stages()[case.stage]
    parameters = stage.parameters(**filled(case.parameters, scale, str(folder)))
    sizes = sizes_of(folder, name, scale)
    need = stated(name, scale, backend, sizes, folder)
    inputs = {
        slot: tuple(map(cache.open, found)) if stage.inputs[slot].many else cache.open(found[0])
        for slot, found in ids_of(folder, name, scale).items()
    }
    context = MappingContext(machine_of(backend, case), reserved=case.reserved)
    with cache.writer() as writer:
        context.sink = writer.sink  # type: ignore[method-assign, assignment]
        context.ranges = writer.ranges  # type: ignore[method-assign]
        context.keeps_device_arrays = keeps
        with looking or Peak(0.005, device=backend == "cuda") as peak:
            results = stage.run(context, parameters, **inputs)
        first = results[0] if isinstance(results, tuple) else results
        if not keeps:
            (folder / f"{name} {scale}.id").write_text(writer.publish(first).id)
    taken: dict[str, Any] = {"host": [host_bytes(need, case), peak.host_bytes], "inputs": plain(sizes)}
    if backend == "cuda":
        kept = sum(each.bytes for each in need.outputs) if keeps else 0
        taken["device"] = [need.device_bytes + kept, peak.device_bytes]
    return taken


def host_bytes(need: Any, case: Case) -> int:
    """Return the host bytes of a stage with all its ranks, which are threads of one process here."""
    from gravel.stages.traversal.rank_memory import COMPILED_RANKS

    return int(need.host_bytes + max(0, case.reserved - 1) * (need.each_host_bytes - COMPILED_RANKS))


def plain(sizes: Sizes) -> dict[str, list[dict[str, Any]]]:
    """Return sizes as the record has them."""
    return {slot: [asdict(size) for size in found] for slot, found in sizes.items()}


def ids_of(folder: Path, name: str, scale: int) -> dict[str, list[str]]:
    """Return the ids of a case's inputs, which are made first where they are not there."""
    return {
        slot: [made(folder, each, scale) for each in names(given)] for slot, given in inputs_of(name).items()
    }


def sizes_of(folder: Path, name: str, scale: int) -> Sizes:
    """Return the sizes of a case's inputs."""
    from gravel.pipeline.store.cache import Cache

    cache = Cache(folder / "cache")
    return {
        slot: tuple(cache.describe(each).extent for each in found)
        for slot, found in ids_of(folder, name, scale).items()
    }


def made(folder: Path, name: str, scale: int) -> str:
    """Return the id of a case's result, made in another process where it is not there."""
    file = folder / f"{name} {scale}.id"
    if not file.exists():
        measured(folder, name, scale, "cpu")
    return file.read_text()


def measured(folder: Path, name: str, scale: int, backend: str, *, anew: bool = False) -> dict[str, Any]:
    """Measure a case in a process of its own: bytes stated and taken on each side.

    With `anew`, no kernel of it has been compiled before.
    """
    from tests.stages.statements.files import write_files

    ids_of(folder, name, scale)
    write_files(filled(CASES[name].parameters, scale, str(folder)), scale)
    command = [sys.executable, "-m", MODULE, str(folder), name, str(scale), backend]
    with tempfile.TemporaryDirectory(prefix="gravel-") as empty:
        environment = {**os.environ, "GRAVEL_COMPILED": f"{empty}/compiled"} if anew else None
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.returncode == 0, f"{name} {scale} {backend}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def inputs_of(name: str) -> Mapping[str, str | tuple[str, ...]]:
    """Return the names of the cases that a case reads."""
    return CASES[name].inputs


def names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return one name or several as several."""
    return (given,) if isinstance(given, str) else given


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])))
