"""The time of a command that finds everything done, beside that of DVC, Snakemake and doit.

    python -m tests.benchmarks.noop --dvc /else/bin/dvc --rounds 15

A chain of eight steps each: stages of gravel for gravel, copies of a text file for the others. Every round
asks each command once, in turn, so that a machine whose speed drifts slows all of them; the ratios to DVC are
of the same round. Told are the medians of the wall time and of the processor time (user and system) of whole
processes, children included. Programs that are not there are left out.
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

from tests.benchmarks.program import parser_of

CHAIN = Path(__file__).parent / "noop_chain"

COMMANDS = {
    "gravel": {"no-op": "run chain.yaml", "plan": "plan chain.yaml", "help": "--help"},
    "dvc": {"no-op": "repro", "plan": "status", "help": "--help"},
    "snakemake": {"no-op": "-c1", "plan": "-n", "help": "--help"},
    "doit": {"no-op": "run", "plan": "list --status --all", "help": "help"},
}
"""What is asked of each program; a plan is what it would do now."""

FIRST = {"dvc": ("init -q --no-scm", "repro -q")}
"""What comes before, where that is not the no-op's own command."""

Times = tuple[float, float]


def main() -> None:
    """Prepare the chains, then ask."""
    parser = parser_of(__doc__)
    for program in COMMANDS:
        parser.add_argument(f"--{program}", default=program, help=f"the {program} to measure")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=["no-op", "plan", "help"], help="measure this alone")
    asked = vars(parser.parse_args())
    # Told not to write bytecode, Python would compile every module at each start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"DVC_NO_ANALYTICS": "1"}
    programs = {name: found for name in COMMANDS if (found := shutil.which(asked[name]))}
    print("left out:", ", ".join(sorted(set(COMMANDS) - set(programs))) or "nothing", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, program in programs.items():
            prepare(Path(folder) / name, name, program, environment)
        for what in [asked["only"]] if asked["only"] else ["no-op", "plan", "help"]:
            measure(Path(folder), what, programs, environment, asked["rounds"])


def prepare(folder: Path, name: str, program: str, environment: dict[str, str]) -> None:
    """Do the chain once, and see that doing it again finds nothing to do."""
    shutil.copytree(CHAIN, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "s0.txt").write_text("a line\n" * 100)
    began = time.monotonic()
    for words in FIRST.get(name, (COMMANDS[name]["no-op"],)):
        subprocess.run(
            [program, *words.split()], cwd=folder, env=environment, check=True, capture_output=True
        )
        time.sleep(2.5 if name == "gravel" else 0)  # what was written this lately is looked at again
    print(f"{name}: prepared in {time.monotonic() - began:.1f} s", flush=True)


def measure(
    folder: Path, what: str, programs: dict[str, str], environment: dict[str, str], rounds: int
) -> None:
    """Ask every program in turn, and tell its times."""
    commands = {name: [program, *COMMANDS[name][what].split()] for name, program in programs.items()}
    found: dict[str, list[Times]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, words in commands.items():
            times = ask(words, folder / name, environment)
            if number:  # the first warms the files up
                found[name].append(times)
    for name, times in found.items():
        wall, cpu = (median(each[at] for each in times) for at in (0, 1))
        line = f"{what:6} {name:10} {wall:.3f} s wall, {cpu:.3f} s of processors"
        if "dvc" in found and name != "dvc":
            pairs = list(zip(times, found["dvc"], strict=True))
            ratios = [sorted(mine[at] / dvc[at] for mine, dvc in pairs) for at in (0, 1)]
            told = [f"{median(each):.2f} ({each[0]:.2f}-{each[-1]:.2f})" for each in ratios]
            line += f"; of DVC's {told[0]} and {told[1]}"
        print(line, flush=True)


def ask(words: list[str], folder: Path, environment: dict[str, str]) -> Times:
    """Run a command to its end; returns seconds of wall time and of processors."""
    began = time.perf_counter()
    child = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(words)} ended with {child.returncode}")
    return wall, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
