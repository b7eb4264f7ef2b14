"""Whole runs of a workflow, from the command to the page: seconds of each stage, and what the machine did.

    python -m tests.benchmarks.whole_runs workflows/quickstart.yaml --cluster auto cuda \
        --folder /tmp /dev/shm --set scale=22,sources=64 scale=24,sources=16 [--cached 2] [--bare] \
        [--checkout OLD ...] [--rounds 1]

Each round runs `gravel run` with an empty cache in each folder, and `--cached` times more with everything
cached. With `--bare` no kernel is compiled yet, neither of gravel's nor of CuPy's; else all rounds but the
first find them compiled. All of the wall time is accounted for: `before` is what passed from the command to
the first stage, `stages` to the end of the last, `after` to the end of the process, of which `exit` is what
no record can tell. The parts of both follow, and what went on beside them. `idle` is the share of the
samples, 20 a second, in which no core-second, no GPU and no disk is more than 90 % busy: of the cores all of
them together, of the disk the bytes written against its measured rate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import psutil

from gravel.pipeline.records.profile import whole_run
from tests.benchmarks.program import parser_of, write_rate

SAMPLES = 20
BUSY = 0.9
RUN = """\
try:
    from gravel.pipeline.cli.program import program as main
except ImportError:  # of an older checkout
    from gravel.pipeline.cli import main
main()
"""


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


def command(checkout: Path, arguments: list[str], cache: Path) -> tuple[float, list[dict[str, Any]]]:
    """Run `gravel run`; returns the wall seconds and the events."""
    path = os.pathsep.join([os.fspath(checkout), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "GRAVEL_CACHE": os.fspath(cache)}
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
    return took, events


def accounted(cache: Path, took: float) -> str:
    """Say what the wall time of the run in a cache went into, from its record."""
    [record] = (cache / "runs").glob("*/run.json")
    whole = whole_run(json.loads(record.read_text()))
    if whole is None:
        return "(not profiled)"
    ended = max(0.0, took - whole.seconds)
    parts = [
        f"before {sum(whole.before.values()):.2f}: {_listed(whole.before)}",
        f"stages {whole.stages:.2f}",
        f"after {sum(whole.after.values()) + ended:.2f}: {_listed({**whole.after, 'exit': ended})}",
    ]
    return "; ".join([*parts, f"beside: {_listed(whole.beside)}"] if whole.beside else parts)


def _listed(parts: Mapping[str, float]) -> str:
    return "  ".join(f"{what} {seconds:.2f}" for what, seconds in parts.items())


def run(checkout: Path, arguments: list[str], cache: Path, cached: int) -> str:
    """Run the command with an empty cache, then with everything in it; returns what to print."""
    (cache / "data").mkdir(parents=True)
    with Usage(write_rate(cache)) as usage:
        took, events = command(checkout, [*arguments, "--profile"], cache)
    stages = {each["stage"]: each["seconds"] for each in events if each["event"] == "stage_finished"}
    lines = [f"{took:.2f} s, idle {usage.idle:.0%}; {_listed(stages)}", accounted(cache, took)]
    again = [command(checkout, arguments, cache)[0] for _ in range(cached)]
    if again:
        lines.append(f"cached: {', '.join(f'{seconds:.2f}' for seconds in again)} s")
    return "\n    ".join(lines)


def main() -> None:
    """Run everything and print some lines for each run."""
    parser = parser_of(__doc__)
    parser.add_argument("workflow")
    parser.add_argument("--cluster", nargs="+", default=["local"])
    parser.add_argument("--folder", type=Path, nargs="+", default=[Path("/tmp")])
    parser.add_argument("--set", nargs="+", default=["scale=18,sources=8"])
    parser.add_argument("--checkout", type=Path, nargs="+", default=[Path.cwd()])
    parser.add_argument("--cached", type=int, default=0)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    axes = (options.set, options.folder, options.cluster, options.checkout)
    for _, values, folder, cluster, checkout in product(range(options.rounds), *axes):
        arguments = [options.workflow, "--cluster", cluster]
        for value in values.split(","):
            arguments += ["--set", value] if value else []
        with tempfile.TemporaryDirectory(dir=folder) as root:
            if options.bare:
                os.environ["GRAVEL_COMPILED"] = f"{root}/compiled"
                os.environ["CUPY_CACHE_DIR"] = f"{root}/cupy"
            found = run(checkout.resolve(), arguments, Path(root) / "cache", options.cached)
        print(f"{values} {folder} --cluster {cluster} {checkout}: {found}", flush=True)


if __name__ == "__main__":
    main()
