"""A centrality stopped by kill -9 and finished later beside one that was not; memory stated and taken.

    python -m tests.drills.stopped 14 16 18
    python -m tests.drills.stopped 20 --cluster local --workers 2 --measure closeness
    python -m tests.drills.stopped 18 20 22 --backend cuda
    python -m tests.drills.stopped cnr-2000.graph-txt.gz

The graph is Kronecker's of each scale, edge factor 16, or a file of shared/data. The first run compiles, as
what is stated includes that. All processes of the second are killed when its checkpoint has half of the
sources; the third goes on.
Results must have the same id, which is a digest of all bits, and what is stated of memory must be 1 to 1.2
times what is taken. Inline, checkpoints are written more often than usual: short runs have none otherwise.
`--no-kill` compares memory alone. Exits with 1 where something differs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gravel.stages.artifacts  # noqa: F401 (artifacts are read by their kinds)
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.checkpoints import FOLDER, StoredCheckpoint
from tests.drills.gravel import PROGRAM, Gravel, wait_until_gone
from tests.zoo import DATA

WORKFLOW = """
workflow: stopped
parameters: {measure: closeness, workers: auto, memory: null}
stages:
  edges: {stage: ingest, %s}
  graph: {stage: symmetrize, input: edges}
  measured:
    {stage: centrality, input: graph, measure: "${measure}", workers: "${workers}", memory: "${memory}"}
"""

MARGIN = 1.2
"""What is stated may be so many times what is taken."""

MIB = 1 << 20


OFTEN = (
    PROGRAM[0],
    "-c",
    "from gravel.pipeline.store import checkpoints; checkpoints.INTERVAL = 0.2; "
    "from gravel.pipeline.cli.program import program; program()",
)
"""The program, which writes checkpoints inline as often as their cost allows: some runs are short."""


def stage_of(gravel: Gravel) -> dict[str, Any]:
    """Return the record of the centrality in the last run."""
    found: dict[str, Any] = next(each for each in gravel.records()[-1]["stages"] if each["key"] == "measured")
    return found


def finish(gravel: Gravel, *words: str) -> float:
    """Run to the end, and return the seconds; exits with what was said if it fails."""
    started = time.monotonic()
    process = gravel.start(*words)
    said = process.communicate()
    if process.returncode:
        sys.exit(f"exit {process.returncode}: {''.join(said)[-2000:]}")
    return time.monotonic() - started


def sources_of(gravel: Gravel) -> int:
    """Return from how many sources the last run searched."""
    batches = Cache(gravel.cache).open(stage_of(gravel)["outputs"][1])
    return sum(each["sources"] for each in batches.batches)


def checkpoint(gravel: Gravel) -> tuple[int, float]:
    """Return the sources that the checkpoint has, and when it was written; 0 without one."""
    try:
        path = next(gravel.cache.glob(f"{FOLDER}/{'?' * 64}"))  # and not a file that is being written
        written = path.stat().st_mtime
        found = StoredCheckpoint(Cache(gravel.cache).files, path.name, say).load()
    except (StopIteration, OSError):
        return 0, 0.0
    return (0, 0.0) if found is None else (int(found["ends"][-1]), written)


def kill(gravel: Gravel, sources: int, *words: str) -> tuple[float, float] | None:
    """Kill a run when its checkpoint has so many sources; None if it had ended by then.

    Returns the seconds since its start, and since that checkpoint.
    """
    started = time.time()
    process = gravel.start(*words)
    while process.poll() is None:
        done, written = checkpoint(gravel)
        if done >= sources:
            os.killpg(process.pid, signal.SIGKILL)
            ended = time.time()
            process.communicate()
            wait_until_gone(process.pid, 30)
            return ended - started, ended - written
        time.sleep(0.05)
    process.communicate()
    return None


def memory(stage: dict[str, Any]) -> tuple[str, bool]:
    """Say what was stated and what was taken, and whether they agree."""
    lines, agrees = [], True
    for name in ("host", "device"):
        stated, taken = stage["need"][name], stage[f"peak_{name}_bytes"] or 0
        if not stated:
            continue
        ratio = stated / max(1, taken)
        agrees &= 1 <= ratio <= MARGIN
        lines.append(f"{name} {stated / MIB:,.0f} MiB stated, {taken / MIB:,.0f} taken: {ratio:.2f}")
    return "; ".join(lines), agrees


def drill(folder: Path, graph: str, chosen: argparse.Namespace) -> bool:
    """Run one graph three times and print what came of it; returns whether all agrees."""
    file = folder / "stopped.yaml"
    made = f"source: {{rmat: {{scale: {graph}, edge_factor: 16, seed: 1}}}}"
    file.write_text(WORKFLOW % (made if graph.isdigit() else f"file: {DATA / graph}"))
    name = f"kron{graph}" if graph.isdigit() else graph
    values = {"measure": chosen.measure, "workers": chosen.workers, "memory": chosen.memory}
    settings = tuple(f"--set={name}={value}" for name, value in values.items())
    words = ["--quiet", "--cluster", chosen.cluster, "--backend", chosen.backend]
    whole = Gravel(folder / "whole", file, settings)
    finish(whole, *words, "--only", "graph")
    shutil.copytree(whole.cache, folder / "killed")
    first = finish(whole, *words)
    stage = stage_of(whole)
    said, agrees = memory(stage)
    say(f"{name} {chosen.measure}: {stage['seconds']:.1f} s, run {first:.1f} s; {said}")
    if chosen.no_kill:
        return agrees
    killed = Gravel(folder / "killed", file, settings, program=OFTEN)
    stopped = kill(killed, sources_of(whole) // 2, *words)
    if stopped is None:
        say(f"{name}: the second run had ended before it could be killed")
        return False
    last = finish(killed, *words)
    again = stage_of(killed)
    log = next(killed.cache.glob(f"runs/{killed.records()[-1]['run']}/logs/measured*")).read_text()
    went_on = next((line for line in log.splitlines() if "goes on after" in line), "- it started anew")
    equal = again["outputs"][0] == stage["outputs"][0]
    say(
        f"{name}: killed after {stopped[0]:.1f} s, {stopped[1]:.1f} s after its last checkpoint, then "
        f"{last:.1f} s; {went_on.partition(' ')[2]}; {'equal to the last bit' if equal else 'DIFFERENT'}"
    )
    return agrees and equal and "goes on after" in log


def say(*words: Any) -> None:
    print(*words, flush=True)


def main() -> None:
    """Drill each graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+", help="scales, or names of files")
    parser.add_argument("--measure", choices=("closeness", "harmonic", "betweenness"), default="closeness")
    parser.add_argument("--cluster", default="inline")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--workers", default="auto", help="as the stage's parameter")
    parser.add_argument("--memory", default="null", help="as the stage's parameter")
    parser.add_argument("--no-kill", action="store_true")
    chosen = parser.parse_args()
    agree = []
    for graph in chosen.graphs:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = f"{folder}/compiled"
            agree.append(drill(Path(folder), graph, chosen))
    sys.exit(0 if all(agree) else 1)


if __name__ == "__main__":
    main()
