"""Runs every family of CUDA kernels under NVIDIA's compute-sanitizer, over a reduced zoo.

    python -m tests.drills.sanitizers memcheck racecheck initcheck synccheck --strategy two_phase
    python -m tests.drills.sanitizers memcheck --strategy layout:blocks family:sssp family:varint-persistent

Families are searches of each strategy, readers of each layout (`layout:`), and the rest (`family:`).

memcheck finds accesses outside of allocations, initcheck reads of device memory that nothing wrote, and
synccheck barriers that not all threads reach. racecheck sees shared memory alone: what blocks do to one
another through device memory is for the conformance suite, which compares results, to find.

Every array has an allocation of its own here, so that memcheck sees where one ends, and grids are small,
since a tool slows every block down and the blocks of one kernel do the same. Prints each reported place
once, with the reason where `BENIGN` has one; exit status 1 if a report is left. The name of a tool instead of
a strategy runs a kernel with a fault that it must find.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
GRAPHS = ("one_loop", "two_parts", "star_300", "many_duplicates", "lattice_9x6x5", "tail_on_clique")
GRID = 8
MARK = "## strategy "
CUPY = "cupy_"  # before the name of a kernel that CuPy brings
LAYOUT = "layout:"  # before the name of a layout, in the place of a strategy
FAMILY = "family:"  # before the name of a run of `tests.drills.families`
REPORT = re.compile(r"^========= +(Error|Warning|Invalid|Uninitialized|Barrier error|Program hit)\b")
PLACE = re.compile(r"\bat (\w+)[(+](?:.*\.cu:(\d+))?")
ENDED = re.compile(r"^========= .*SUMMARY: (.*)")
SECONDS = 300

_HISTORY = (
    "the block's threads overwrite one another's cell by intent, and a vertex that is overwritten is a"
    " duplicate that is kept (Merrill et al., PPoPP 2012, section 4.2)"
)

BENIGN: dict[tuple[str, str], str] = {
    (
        "racecheck",
        "winners[cell] =",
    ): "lanes overwrite one another's cell by intent, and whichever stays culls the"
    " others' duplicates (Merrill et al., PPoPP 2012, section 4.2)",
    ("racecheck", "known = *cell;"): _HISTORY,
    ("racecheck", "*cell = mine;"): _HISTORY,
}
"""Reports that are meant to be: the tool and a piece of the reported line, and the reason. All lines of a
report, both sides of a race, must be here."""

BENIGN_FUNCTIONS: dict[tuple[str, str], str] = {
    (
        "racecheck",
        "place_root",
    ): "threads shorten the same paths of a forest in shared memory: every parent that is ever stored is an"
    " ancestor, and only atomics join roots (docs/memory-model.md)",
}
"""The same by function, for families of kernels, whose lines are of many files."""

_MERRILL: list[dict[str, object]] = [
    {},
    {"claim": "racing", "tiles": "stealing"},
    {"gather": "warp", "warp_culling": True, "history_culling": True},
]

WAYS: dict[str, list[dict[str, object]]] = {
    "two_phase": _MERRILL,
    "expand_contract": _MERRILL,
    "contract_expand": _MERRILL,
    "hybrid": _MERRILL,
    "quadratic": [{}, {"mapping": "warp"}],
    "flex": [{}, {"configuration": "baseline"}, {"configuration": "config1"}],
    "direction_optimizing": [
        {},
        {"alpha": 1e18, "beta": 1e18, "deferred_rows": False},
        {"alpha": 1e18, "beta": 1e18, "deferred_rows": True},
    ],
    "multi_source": [{}, {"alpha": 1e18, "beta": 1e18}],
}
"""Settings that lead through other code, by strategy."""

SEEDED = r"""
extern "C" __global__ void memcheck(int* array) { array[threadIdx.x] = 1; }
extern "C" __global__ void racecheck(int* array) {
    __shared__ int cells[64];
    cells[threadIdx.x] = threadIdx.x;
    array[threadIdx.x % 8] = cells[63 - threadIdx.x];
}
extern "C" __global__ void initcheck(int* array) { array[0] = array[threadIdx.x % 8] + 1; }
extern "C" __global__ void synccheck(int* array) {
    if (threadIdx.x % 32 == 1) __syncwarp(1);
}
"""
"""A fault for each tool to find in a launch of 64 threads with an array of eight."""


@dataclass(frozen=True, order=True)
class Report:
    """What a tool says about a strategy: the kind of fault, and the functions and lines it is in."""

    tool: str
    strategy: str
    kind: str
    places: tuple[tuple[str, str], ...]

    def reason(self) -> str | None:
        """Why this report is no fault, if it is none."""
        if self.places and all(name.startswith(CUPY) for name, _ in self.places):
            return "a kernel of CuPy's own"
        functions = {name for name, _ in self.places}
        if len(functions) == 1 and (self.tool, *functions) in BENIGN_FUNCTIONS:
            return BENIGN_FUNCTIONS[self.tool, functions.pop()]
        reasons = [
            next((BENIGN[tool, piece] for tool, piece in BENIGN if tool == self.tool and piece in text), None)
            for text in self.lines()
        ]
        return reasons[0] if reasons and None not in reasons else None

    def lines(self) -> list[str]:
        """Texts of the lines it is in, as far as they are known."""
        from gravel.kernels.cuda.source import kernel_files, read_source

        if self.strategy in TOOLS or self.strategy.startswith((LAYOUT, FAMILY)):
            return [f"line {line}" for _, line in self.places]
        path = next(each for each in kernel_files() if each.endswith(f"/{self.strategy}.cu"))
        text = read_source(path).splitlines()
        return [
            text[int(line) - 1].strip() if line and int(line) <= len(text) else f"line {line}"
            for _, line in self.places
        ]

    def __str__(self) -> str:
        where = [f"{name}, {text}" for (name, _), text in zip(self.places, self.lines(), strict=True)]
        return f"{self.tool} {self.strategy}: {self.kind} in {' and '.join(where) or 'no function'}"


def sanitizer() -> str | None:
    """Find the program: on the path, else where CUDA is installed."""
    installed = sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (str(installed[-1]) if installed else None)


def search_all(strategies: list[str]) -> None:
    """Search the reduced zoo with each strategy and compare with the answers."""
    import cupy

    import gravel.kernels.cuda

    resident, options = gravel.kernels.cuda.resident_blocks, gravel.kernels.cuda.compiler_options
    gravel.kernels.cuda.resident_blocks = lambda *launch: min(resident(*launch), GRID)
    gravel.kernels.cuda.compiler_options = lambda *text: (*options(*text), "-lineinfo")
    cupy.cuda.set_allocator(None)

    from gravel.kernels.bfs import prepare
    from gravel.kernels.strategy import strategies_in
    from tests.kernels.conformance import check, csr_of, place

    known = strategies_in("gravel.kernels.bfs")
    for name in strategies:
        cupy.cuda.Device().synchronize()
        print(f"{MARK}{name}", flush=True)
        if name in TOOLS:
            kernel = cupy.RawModule(code=SEEDED).get_function(name)
            kernel((1,), (64,), (cupy.empty(8, cupy.int32),))
            continue
        if name.startswith(LAYOUT):
            from tests.drills.layout_readers import read_layout

            read_layout(name.removeprefix(LAYOUT))
            continue
        if name.startswith(FAMILY):
            from tests.drills.families import FAMILIES

            FAMILIES[name.removeprefix(FAMILY)]()
            continue
        for graph in GRAPHS:
            symmetric = not known[name].directed or graph != "many_duplicates"
            csr = csr_of(graph, symmetric, raw=True)
            placed = place("cuda", *csr)
            for output, way in itertools.product(("distance", "both"), WAYS.get(name, [{}])):
                search = prepare(*placed, strategy=name, symmetric=symmetric, output=output, **way)
                check(search.run(len(csr[0]) // 3), csr, len(csr[0]) // 3, output)
    cupy.cuda.Device().synchronize()
    print(f"{MARK}none", flush=True)


def run(tool: str, strategies: list[str]) -> tuple[list[Report], list[str]]:
    """Every report once, and the last lines of what was printed unless all came to its end."""
    program = sanitizer()
    if program is None:
        raise FileNotFoundError("compute-sanitizer is not installed; it comes with the CUDA toolkit")
    inside = [sys.executable, "-m", "tests.drills.sanitizers", "--inside", *strategies]
    done = subprocess.run(
        [program, "--tool", tool, "--print-limit", "1000", *inside],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    found: list[Report] = []
    now, open_report, ended = "start", False, False
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            now = line.removeprefix(MARK)
        elif kind := REPORT.match(line):
            found.append(Report(tool, now, kind[1], tuple(PLACE.findall(line))))
            open_report = True
        elif ENDED.match(line):
            ended = True
        elif open_report and line.startswith("=========  "):
            if len(found[-1].places) < (2 if tool == "racecheck" else 1):
                found[-1] = replace(found[-1], places=(*found[-1].places, *PLACE.findall(line)))
        else:
            open_report = False
    found = [replace(report, places=tuple(sorted(set(report.places)))) for report in found]
    whole = ended and now == "none" and not (done.returncode and not found)
    return sorted(set(found)), [] if whole else [
        *done.stdout.splitlines()[-20:],
        *done.stderr.splitlines()[-20:],
    ]


def main() -> int:
    """Run what is asked for; returns 1 if something is left to explain."""
    from gravel.kernels.layouts import LAYOUTS
    from gravel.kernels.strategy import strategies_in
    from tests.drills.families import FAMILIES

    every = [name for name, each in sorted(strategies_in("gravel.kernels.bfs").items()) if each.cuda]
    every += [f"{LAYOUT}{layout}" for layout in LAYOUTS]
    every += [f"{FAMILY}{family}" for family in FAMILIES]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tools", nargs="*", help=f"of {', '.join(TOOLS)} (default: all)")
    parser.add_argument("--strategy", action="extend", nargs="+", help="one or several (default: all)")
    parser.add_argument("--inside", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        search_all(chosen.inside)
        return 0
    failed = False
    for tool in chosen.tools or TOOLS:
        strategies = chosen.strategy or every
        reports, left = run(tool, strategies)
        for report in reports:
            print(f"{report}: {report.reason() or 'NOT EXPLAINED'}")
        print(f"{tool}: {len(strategies)} strategies, {len(reports)} reports", *left, sep="\n")
        failed |= bool(left) or any(report.reason() is None for report in reports)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
