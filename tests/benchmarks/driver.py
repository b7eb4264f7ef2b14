"""What planning and driving a run takes when its stages compute nothing.

    python -m tests.benchmarks.driver --runs 250 1000 10000 [--cluster inline local] [--peers] [--arrays]

A study of one stage over an axis of so many values. For each size it prints the seconds of whole commands and
the most memory that one of their processes had: `gravel plan` before anything is computed, `gravel run` that
computes everything, and the same command again, which finds everything cached. The last columns are
milliseconds and kilobytes for each further run beyond the smallest study: without the start of interpreter
and cluster.

With `--peers` Snakemake and DVC do the same at 1,000 steps (a shell's `:` and an empty file each) in the same
minutes. Durations depend on the disk: what one fsync of a small file takes is told first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.benchmarks.program import parser_of

STUDY = Path(__file__).parent / "driver_study"
PEERS = ("snakemake", "dvc")
PEER_RUNS = 1000
LIMIT = 3600


class Took(NamedTuple):
    """Seconds and bytes of a command."""

    seconds: float
    peak: int


def main() -> None:
    """Measure what is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[250, 1000, 10000])
    parser.add_argument("--cluster", nargs="+", default=["inline", "local"], choices=["inline", "local"])
    parser.add_argument("--peers", action="store_true", help="Snakemake and DVC, too")
    parser.add_argument("--arrays", action="store_true", help="each result has an array")
    for name in PEERS:
        parser.add_argument(f"--{name}", default=name, help=f"the {name} to measure")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"fsync of a small file: {1000 * fsync_seconds(Path(folder)):.2f} ms (median of 21)", flush=True
        )
        for cluster in asked.cluster:
            known: dict[str, tuple[int, Took]] = {}
            for runs in sorted(asked.runs):
                for what, took in study(Path(folder), runs, cluster, arrays=asked.arrays):
                    tell(f"gravel {cluster}", what, runs, took, known.setdefault(what, (runs, took)))
        if asked.peers:
            for name in PEERS:
                program = shutil.which(getattr(asked, name))
                if program is None:
                    print(f"{name}: not installed", flush=True)
                    continue
                for what, took in peer(Path(folder) / name, name, program):
                    tell(name, what, PEER_RUNS, took, (PEER_RUNS, took))


def fsync_seconds(folder: Path) -> float:
    """Return how long it takes to have a small new file on the disk."""
    times = []
    for number in range(21):
        began = time.perf_counter()
        with (folder / f"fsync{number}").open("wb") as file:
            file.write(b"x" * 1000)
            file.flush()
            os.fsync(file.fileno())
        times.append(time.perf_counter() - began)
    return median(times)


def study(root: Path, runs: int, cluster: str, *, arrays: bool) -> list[tuple[str, Took]]:
    """Plan, execute and repeat a study of so many runs."""
    folder = root / f"{cluster}-{runs}"
    shutil.copytree(STUDY, folder, ignore=shutil.ignore_patterns("__pycache__"))
    values = "".join(f"    - {value}\n" for value in range(runs))
    (folder / "study.yaml").write_text(
        "workflow: nothing\nplugins: [nothing.py]\nmatrix:\n  value:\n"
        f"{values}stages:\n"
        f'  item: {{stage: nothing, value: "${{value}}", arrays: {str(arrays).lower()}}}\n'
    )
    gravel = [str(Path(sys.executable).with_name("gravel"))]
    options = ["study.yaml", "--cache", "cache", "--cluster", cluster, "--backend", "cpu"]
    found = [("plan", ask([*gravel, "plan", *options], folder))]
    found += [(what, ask([*gravel, "run", "-q", *options], folder)) for what in ("executed", "no-op")]
    shutil.rmtree(folder)
    return found


def ask(words: list[str], folder: Path) -> Took:
    """Run a command to its end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"DVC_NO_ANALYTICS": "1"}
    with (folder / "output.txt").open("wb") as output:
        began = time.perf_counter()
        child = subprocess.Popen(words, cwd=folder, env=environment, stdout=output, stderr=output)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        told = (folder / "output.txt").read_text(errors="replace")[-2000:]
        print(f"{' '.join(words)} ended with {child.returncode}:\n{told}", flush=True)
    return Took(seconds, used.ru_maxrss * 1024)


def peer(folder: Path, name: str, program: str) -> list[tuple[str, Took]]:
    """Have another program do as many steps that compute nothing."""
    folder.mkdir()
    steps = range(PEER_RUNS)
    if name == "snakemake":
        (folder / "Snakefile").write_text(
            f"rule all:\n    input: expand('out/{{value}}.txt', value=range({PEER_RUNS}))\n"
            "rule item:\n    output: touch('out/{value}.txt')\n    shell: ':'\n"
        )
        commands = {
            "plan": ["-n", "-q", "all"],
            "executed": ["-c2", "-q", "all"],
            "no-op": ["-c2", "-q", "all"],
        }
    else:
        stages = "".join(
            f"  item{step}:\n    cmd: echo {step} > out{step}.txt\n    outs: [out{step}.txt]\n"
            for step in steps
        )
        (folder / "dvc.yaml").write_text(f"stages:\n{stages}")
        subprocess.run([program, "init", "-q", "--no-scm"], cwd=folder, check=True)
        commands = {"plan": ["status", "-q"], "executed": ["repro", "-q"], "no-op": ["repro", "-q"]}
    return [(what, ask([program, *words], folder)) for what, words in commands.items()]


def tell(name: str, what: str, runs: int, took: Took, smallest: tuple[int, Took]) -> None:
    """Print a line."""
    line = f"{name:14} {what:9} {runs:6} runs: {took.seconds:8.2f} s, {took.peak / 1e6:7.1f} MB"
    more = runs - smallest[0]
    if more:
        each = (took.seconds - smallest[1].seconds) / more, (took.peak - smallest[1].peak) / more
        line += f"; each further run {1000 * each[0]:7.3f} ms, {each[1] / 1000:6.2f} kB"
    print(line, flush=True)


if __name__ == "__main__":
    main()
