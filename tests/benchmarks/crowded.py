"""A GPU that others use: what runs do with little of it free, and what a process takes beside its arrays.

    python -m tests.benchmarks.crowded [--free 3.3 1.0 0.6] [--scale 24] [--cluster auto inline]

First `workflows/quickstart.yaml` runs alone, in one process that samples the GPU: what is taken beside what
CuPy's pool has is CUDA's context, modules, and what libraries keep. `CONTEXT_BYTES` of
`gravel.kernels.cuda.room` has to be more than the most; `MODULE_BYTES` more than what comes after the
context. Then another process takes the GPU until so many GB (10^9 bytes) are free, and the same workflow is
planned and run, with an empty cache each time: lines, exit code and seconds are printed, and whether results
are those of the run alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = "from gravel.pipeline.cli.program import program; program()"
WORKFLOW = "workflows/quickstart.yaml"
GB = 10**9
STEP = 64 << 20
SHOWN = 14


def main() -> None:
    """Measure, then fill the GPU and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--free", type=float, nargs="+", default=[3.3, 1.0], help="GB that are left free")
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--cluster", nargs="+", default=["auto", "inline"])
    parser.add_argument("--part", choices=["sampled", "filled"], help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if options.part == "sampled":
        _sampled(rest)
    elif options.part == "filled":
        _filled(int(options.free[0] * GB))
    else:
        _measure(options.scale, options.free, options.cluster)


def _measure(scale: int, frees: list[float], clusters: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / "alone"
        asked = ["run", WORKFLOW, "--set", f"scale={scale}", "--cache", str(alone), "--cluster", "inline"]
        subprocess.run([sys.executable, "-m", __spec__.name, "--part", "sampled", *asked], check=True)
        expected = _results(alone)
        for free in frees:
            with _full(free) as left:
                for cluster in clusters:
                    print(f"\n== {left / GB:.2f} GB free, scale {scale}, --cluster {cluster}", flush=True)
                    cache = Path(folder) / f"{free}-{cluster}"
                    same = ["--set", f"scale={scale}", "--cache", str(cache), "--cluster", cluster]
                    _command(["plan", WORKFLOW, *same])
                    _command(["run", WORKFLOW, *same])
                    found = _results(cache)
                    differing = sorted(key for key, one in expected.items() if found.get(key, one) != one)
                    missing = sorted(set(expected) - set(found))
                    print(f"differing: {differing or 'none'}; not computed: {missing or 'none'}")


def _command(asked: list[str]) -> None:
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", PROGRAM, *asked], capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    print(f"gravel {asked[0]}: exit {done.returncode} after {time.perf_counter() - began:.1f} s")
    for line in lines[-SHOWN:]:
        print(f"   {line}")
    sys.stdout.flush()


def _results(cache: Path) -> dict[str, list[str]]:
    """Return the ids of a run's results that do not hold times."""
    records = sorted((cache / "runs").glob("*/run.json")) if cache.exists() else []
    stages: list[dict[str, Any]] = json.loads(records[-1].read_text())["stages"] if records else []
    kept = ("ingest", "symmetrize", "verify")
    return {each["key"]: each["outputs"] for each in stages if each["stage"] in kept and each["outputs"]}


@contextmanager
def _full(free: float) -> Iterator[int]:
    """Have another process take the GPU; yields the bytes that it left."""
    filler = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "--part", "filled", "--free", str(free)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert filler.stdin is not None
    assert filler.stdout is not None
    try:
        yield int(filler.stdout.readline())
    finally:
        filler.stdin.close()
        filler.wait()


def _filled(free: int) -> None:
    import cupy

    kept = []
    while (left := cupy.cuda.runtime.memGetInfo()[0]) > free + (1 << 20):
        kept.append(cupy.cuda.runtime.malloc(min(left - free, max(STEP, (left - free) // 2))))
    print(cupy.cuda.runtime.memGetInfo()[0], flush=True)
    sys.stdin.read()


def _sampled(asked: list[str]) -> None:
    """Run a command here, and print the most that the GPU lost beside CuPy's pool, and the first of it."""
    import pynvml

    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    before = pynvml.nvmlDeviceGetMemoryInfo(gpu).used
    seen: list[int] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.005):
            cupy: Any = sys.modules.get("cupy")
            used = pynvml.nvmlDeviceGetMemoryInfo(gpu).used - before
            if cupy is not None and hasattr(cupy, "get_default_memory_pool") and used > 0:
                seen.append(used - cupy.get_default_memory_pool().total_bytes())

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    from click.testing import CliRunner

    from gravel.pipeline.cli import main as command

    done = CliRunner().invoke(command, asked)
    ended.set()
    thread.join()
    print("\n".join(done.output.splitlines()[-SHOWN:]))
    rest = [each for each in seen if each > 0]
    mib = 1 << 20
    print(
        f"beside arrays: at first {rest[0] / mib:,.0f} MiB, at most {max(rest) / mib:,.0f} MiB, in the end "
        f"{rest[-1] / mib:,.0f} MiB (samples between two allocations may count one of them)"
    )


if __name__ == "__main__":
    main()
