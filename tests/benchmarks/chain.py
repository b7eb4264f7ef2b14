"""A chain of stages whose results are large: how long the whole takes beside the stages' own time.

    python -m tests.benchmarks.chain --folder /tmp /dev/shm [--stages 12] [--seconds 0.7] [--bytes 1GB]

Each stage reads the result before it, makes one of `--bytes`, and takes `--seconds`. The whole ends when
all results are published. For each folder it prints the wall time of one chain, and of two that run at once
in processes of their own, the ratio to the stages' own time, and what the disk alone would take.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gravel.pipeline.core.memory import parse_bytes
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from tests.benchmarks.disk_rate import write_rate
from tests.pipeline.memory_stages import FILL
from tests.pipeline.tiny_stages import plan_of, stage_run


def main() -> None:
    """Run chains, in every folder alone and two at once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=Path, nargs="+", default=[Path("/tmp")])
    parser.add_argument("--stages", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--bytes", default="1GB")
    parser.add_argument("--cluster", default="inline")
    parser.add_argument("--value", type=int, default=1)
    parser.add_argument("--into", type=Path, help="run one chain with its cache here, and print its seconds")
    options = parser.parse_args()
    if options.into is not None:
        print(one(options), flush=True)
        return
    own = options.stages * options.seconds
    print(f"{options.stages} stages of {options.seconds} s and {options.bytes} each: own {own:.1f} s")
    for folder in options.folder:
        for together in (1, 2):
            with tempfile.TemporaryDirectory(dir=folder) as root:
                rate = write_rate(Path(root))
                took = at_once(options, Path(root), together)
            disk = together * options.stages * parse_bytes(options.bytes) / rate
            limit = max(own, disk)
            shown = ", ".join(f"{seconds:.2f}" for seconds in took)
            print(
                f"{folder}  {together} at once: {shown} s, {max(took) / own:.2f} of the stages' own time, "
                f"{max(took) / limit:.2f} of the larger of that and the disk's {disk:.1f} s",
                flush=True,
            )


def at_once(options: argparse.Namespace, root: Path, count: int) -> list[float]:
    """Run so many chains at once; returns the seconds of each."""
    arguments = ["--stages", str(options.stages), "--seconds", str(options.seconds), "--bytes", options.bytes]
    children = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.benchmarks.chain", *arguments, "--cluster", options.cluster),
                *("--value", str(place), "--into", str(root / str(place))),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for place in range(count)
    ]
    said = [child.communicate()[0].strip().splitlines() for child in children]
    print("\n".join(line for lines in said for line in lines[:-1]))
    return [float(lines[-1]) for lines in said]


def one(options: argparse.Namespace) -> float:
    """Run one chain and return its seconds."""
    count = parse_bytes(options.bytes) // 8
    runs = [
        stage_run(
            f"s{place}",
            FILL,
            *([f"s{place - 1}"] if place else []),
            count=count,
            value=options.value + 7 * place,
            lasts=options.seconds,
        )
        for place in range(options.stages)
    ]
    began = time.perf_counter()
    outcome = execute(
        plan_of(*runs), RunOptions(options.into, cluster=options.cluster, backend="cpu", workers=1)
    )
    took = time.perf_counter() - began
    shutil.rmtree(options.into)
    stages = sum(stage["seconds"] for stage in outcome.record["stages"])
    print(f"  stages with what identifies their results {stages:.2f} s, then until all is published")
    if outcome.exit_code:
        raise SystemExit(f"the chain failed: {outcome.record['stages']}")
    return took


if __name__ == "__main__":
    main()
