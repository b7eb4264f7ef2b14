"""Whole runs of a workflow, from the command to the page: seconds of each stage, and what the machine did.

    python -m tests.benchmarks.whole_runs workflows/quickstart.yaml --cluster cuda --folder /tmp /dev/shm \
        --set scale=22,sources=64 scale=24,sources=16 [--checkout OLD ...] [--rounds 1]

Each round runs `gravel run` with an empty cache in each folder. `idle` is the share of the samples, 20 a
second, in which no core-second, no GPU and no disk is more than 90 % busy: of the cores all of them
together, of the disk the bytes written against its measured rate.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from gravel.pipeline.store.disk import write_rate

SAMPLES = 20
BUSY = 0.9
RUN = "from gravel.pipeline.cli.program import program; program()"


class Usage:
    """Samples the machine while a `with` block runs; `idle` is the share of samples with nothing busy."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._idle = self._count = 0
        self._gpu = _gpu_use()

    def __enter__(self) -> Usage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def idle(self) -> float:
        return self._idle / max(1, self._count)

    def _sample(self) -> None:
        psutil.cpu_percent()
        before, then = _written(), time.monotonic()
        while not self._end.wait(1 / SAMPLES):
            now, written = time.monotonic(), _written()
            disk = (written - before) / (now - then) / self._rate
            before, then = written, now
            busy = max(psutil.cpu_percent() / 100, self._gpu(), disk)
            self._count += 1
            self._idle += busy < BUSY


def _written() -> int:
    counters = psutil.disk_io_counters()
    return counters.write_bytes if counters is not None else 0


def _gpu_use() -> Any:
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    except Exception:
        return lambda: 0.0
    return lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100


def run(checkout: Path, arguments: list[str], cache: Path) -> tuple[float, dict[str, float], float]:
    """Run the command with an empty cache; returns wall seconds, seconds by stage, and the idle share."""
    path = os.pathsep.join([os.fspath(checkout), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "GRAVEL_CACHE": os.fspath(cache)}
    (cache / "data").mkdir(parents=True)
    with Usage(write_rate(cache)) as usage:
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", RUN, "run", *arguments, "--json"],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
        )
        took = time.perf_counter() - began
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        print(done.stderr[-3000:], [each for each in events if "fail" in each["event"]])
    stages = {each["stage"]: each["seconds"] for each in events if each["event"] == "stage_finished"}
    starts = [each["seconds"] for each in events if each["event"] == "cluster_started"]
    ended = max((each["time"] for each in events if each["event"] == "stage_finished"), default=0.0)
    last = next((each["time"] for each in events if each["event"] == "run_finished"), ended)
    return took, {"cluster": sum(starts), **stages, "end": last - ended}, usage.idle


def main() -> None:
    """Run everything and print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workflow")
    parser.add_argument("--cluster", default="local")
    parser.add_argument("--folder", type=Path, nargs="+", default=[Path("/tmp")])
    parser.add_argument("--set", nargs="+", default=["scale=18,sources=8"])
    parser.add_argument("--checkout", type=Path, nargs="+", default=[Path.cwd()])
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    for _ in range(options.rounds):
        for values in options.set:
            for folder in options.folder:
                for checkout in options.checkout:
                    arguments = [options.workflow, "--cluster", options.cluster]
                    for value in values.split(","):
                        arguments += ["--set", value]
                    with tempfile.TemporaryDirectory(dir=folder) as root:
                        took, stages, idle = run(checkout.resolve(), arguments, Path(root) / "cache")
                    shown = "  ".join(f"{name} {seconds:.2f}" for name, seconds in stages.items())
                    print(f"{values} {folder} {checkout}: {took:.2f} s, idle {idle:.0%}; {shown}", flush=True)


if __name__ == "__main__":
    main()
