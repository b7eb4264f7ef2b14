"""The time of a warm run in two checkouts, by turns: everything is cached and nothing is computed.

    python -m tests.benchmarks.warm --old /else/gravel --rounds 15

The old checkout needs an environment of its own in `.venv`, made as for this one. Every round asks each
command once in each checkout, in turn, so that a machine whose speed drifts slows both; ratios are of the
same round. Told are the medians of the wall time and of the processor time of whole processes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.benchmarks.noop import Times, ask

QUICKSTART = "workflows/quickstart.yaml"
COMMANDS = {
    "run": ["run", QUICKSTART, "--set", "scale=8", "--cluster", "inline"],
    "plan": ["plan", QUICKSTART, "--set", "scale=8"],
    "help": ["--help"],
}
FIRST = ["run", "run", "run", "plan", "plan"]
"""What comes before: the first run computes, and plans are kept once nothing has changed for two seconds."""


def main() -> None:
    """Fill a cache for each checkout, then ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--new", type=Path, default=Path.cwd(), help="this one by default")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    checkouts: dict[str, Path] = {"old": options.old.resolve(), "new": options.new.resolve()}
    with tempfile.TemporaryDirectory() as folder:
        told = {name: environment | {"GRAVEL_CACHE": f"{folder}/{name}"} for name in checkouts}
        for name, checkout in checkouts.items():
            for what in FIRST:
                ask(command(checkout, what), checkout, told[name])
                time.sleep(2.5)
        for what in COMMANDS:
            measure(what, checkouts, told, options.rounds)


def command(checkout: Path, what: str) -> list[str]:
    """Return a command line of a checkout."""
    program = checkout / ".venv/bin/gravel"
    if not program.exists():
        sys.exit(f"{program} is not there: make an environment and install the checkout into it")
    return [str(program), *COMMANDS[what]]


def measure(what: str, checkouts: dict[str, Path], told: dict[str, dict[str, str]], rounds: int) -> None:
    """Ask both checkouts in turn, each first in every other round, and tell their times."""
    found: dict[str, list[Times]] = {name: [] for name in checkouts}
    for number in range(rounds + 1):
        names = list(checkouts)[:: 1 if number % 2 else -1]
        for name in names:
            times = ask(command(checkouts[name], what), checkouts[name], told[name])
            if number:  # the first warms the files up
                found[name].append(times)
    for name, times in found.items():
        wall, cpu = (median(each[at] for each in times) for at in (0, 1))
        print(f"{what:5} {name:4} {wall:.3f} s wall, {cpu:.3f} s of processors", flush=True)
    ratios = []
    for at in (0, 1):
        pairs = sorted(new[at] / old[at] for new, old in zip(found["new"], found["old"], strict=True))
        ratios.append(f"{median(pairs):.2f} ({pairs[0]:.2f}-{pairs[-1]:.2f})")
    print(f"{what:5} new/old {ratios[0]} of the wall time, {ratios[1]} of processors", flush=True)


if __name__ == "__main__":
    main()
