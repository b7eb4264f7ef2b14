"""One graph of 1,000 part files: what a first run takes, and what one file more, changed or broken costs.

    python -m tests.benchmarks.many_files [--files 1000] [--edges 20000] [--texts] [--folder FOLDER]

Prints for each run what the pieces were, the seconds of `ingest`, of the whole command and of cores, the peak
memory of `ingest` and what the cache holds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

WORKFLOW = """\
workflow: many_files
stages:
  edges: {stage: ingest, files: parts, skip_broken: true}
"""


def write_part(folder: Path, number: int, edges: int, *, texts: bool, seed: int = 0) -> None:
    """Write a part file of random edges between two million vertices."""
    ends = numpy.random.default_rng([seed, number]).integers(0, 2_000_000, 2 * edges)
    words = [f"user-{end}" if texts else str(end) for end in ends]
    lines = [f"{a}\t{b}\n" for a, b in zip(words[::2], words[1::2], strict=True)]
    (folder / f"part-{number:05}.tsv").write_text("".join(lines))


def run(folder: Path, did: str) -> None:
    """Run the workflow and print a line."""
    environment = {**os.environ, "GRAVEL_CACHE": str(folder / "cache")}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    program = "from gravel.pipeline.cli.program import program; program()"
    command = [sys.executable, "-c", program, "run", str(folder / "w.yaml"), "--quiet"]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cores = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    latest = max((folder / "cache" / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    stage = json.loads((latest / "run.json").read_text())["stages"][0]
    peak = (stage["peak_host_bytes"] or 0) / (1 << 20)
    size = sum(file.stat().st_size for file in (folder / "cache" / "data").rglob("*") if file.is_file())
    files = sum(1 for file in (folder / "cache").rglob("*") if file.is_file())
    pieces = next((why for why in stage["why"] if " pieces: " in why), "")
    times = f"ingest {stage['seconds']:7.2f} s, whole {seconds:7.2f} s, cores {cores:7.2f} s"
    said = f"{did:12} {stage['state']:9} {pieces:42} {times}, "
    print(f"{said}peak {peak:5.0f} MiB, cache {size / (1 << 20):6.0f} MiB in {files:,} files", flush=True)
    for remark in stage["remarks"]:
        print(f"  {remark[:160]}")
    if done.returncode:
        print(done.stderr)


def main() -> None:
    """Write the files, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--edges", type=int, default=20_000)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="many-files-"))
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    (folder / "w.yaml").write_text(WORKFLOW)
    for number in range(given.files):
        write_part(parts, number, given.edges, texts=given.texts)
    print(
        f"{given.files:,} files, {sum(file.stat().st_size for file in parts.iterdir()) / (1 << 20):.0f} MiB"
    )
    run(folder, "first run")
    run(folder, "again")
    run(folder, "again")
    write_part(parts, given.files, given.edges, texts=given.texts)
    run(folder, "one added")
    write_part(parts, 7, given.edges, texts=given.texts, seed=1)
    run(folder, "one changed")
    with (parts / "part-00008.tsv").open("a") as file:
        file.write("1\t2\t3\t4\t5\n")
    run(folder, "one broken")


if __name__ == "__main__":
    main()
