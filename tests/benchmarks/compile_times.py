"""How long NVRTC compiles each kernel, and what for: processor seconds, largest first. It needs no GPU.

    python -m tests.benchmarks.compile_times
    python -m tests.benchmarks.compile_times --with LAYOUT=blocks --with VERTEX=u64

A row is one variant of one file: seconds of processor time in all, those on the clock that NVRTC tells of its
optimiser and assembler, and of the kernel with most instructions its name, how many, registers and spilled
bytes. Variants are those that searches meet by default; `--with` chooses others. A loaded compiler compiles
one after another.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gravel.kernels.cuda.compiled import CompiledKernel, compile_variant
from gravel.kernels.cuda.source import each_variant, kernel_files, read_source

BY_DEFAULT = {
    "VERTEX": ["u32"],
    "TREE": ["0", "32", "i32"],
    "ONE_LANE": ["0"],
    "OFFSET": ["u64"],
    "RUNS": ["0"],
    "BLOCK": ["512"],
    "WORD": ["u32"],
    "DISTANCE": ["i32"],
    "ID": ["u32"],
}
"""Values of macros in graphs of fewer than 2^32 vertices, with unit or 32-bit weights."""

GOAL = 1.5
"""Seconds, of the first compile of a search."""


@dataclass(frozen=True)
class Measured:
    """What one variant took."""

    path: str
    macros: Mapping[str, str]
    seconds: float
    optimiser: float
    assembler: float
    kernels: Sequence[CompiledKernel]

    def __str__(self) -> str:
        kernel = max(self.kernels, key=lambda each: each.instructions)
        macros = " ".join(f"{name}={value}" for name, value in self.macros.items())
        return (
            f"{self.seconds:6.2f} {self.optimiser:6.2f} {self.assembler:6.2f} {kernel.instructions:7d} "
            f"{kernel.registers:4d} {kernel.spilled:5d}  {self.path} {macros} ({kernel.name})"
        )


COLUMNS = f"{'all s':>6} {'opt.':>6} {'asm.':>6} {'instr.':>7} {'reg.':>4} {'spill':>5}"
HEADER = f"{COLUMNS}  kernel file, variant, largest kernel"


def measured(path: str, macros: Mapping[str, str], architecture: str) -> Measured:
    """Compile one variant, and say what it took."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "phases.csv"
        start = time.process_time()
        kernels = compile_variant(path, macros, architecture, (f"--time={table}",))
        seconds = time.process_time() - start
        phases = {row[1].strip(): float(row[2]) / 1000 for row in list(csv.reader(table.open()))[1:]}
    return Measured(
        path, macros, seconds, phases.get("NVVM Optimizer", 0), phases.get("PTX Translation", 0), kernels
    )


def variants(path: str, wanted: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Those variants of a file that have the wanted values, of macros for which it declares any of them."""
    every = list(each_variant(read_source(path)))
    declared = {name: {each[name] for each in every} for name in every[0]}
    for each in every:
        if all(
            value in wanted[name] or not declared[name] & set(wanted[name])
            for name, value in each.items()
            if name in wanted
        ):
            yield each


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns how many variants are above the goal, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.compile_times", description=__doc__)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--with", action="append", default=[], dest="wanted", metavar="NAME=VALUE,VALUE")
    parser.add_argument("--most", type=int, default=60, help="rows that are printed (default 60)")
    parser.add_argument("files", nargs="*", help="kernel files (default: all)")
    chosen = parser.parse_args(arguments)
    wanted = dict(BY_DEFAULT)
    for each in chosen.wanted:
        name, _, values = each.partition("=")
        wanted[name] = values.split(",")
    compile_variant("kernels/cuda/wake.cu", {}, chosen.arch)  # loads the compiler
    rows = [
        measured(path, macros, chosen.arch)
        for path in chosen.files or kernel_files()
        for macros in variants(path, wanted)
    ]
    rows.sort(key=lambda each: -each.seconds)
    print(HEADER)
    for each in rows[: chosen.most]:
        print(each)
    above = sum(each.seconds > GOAL for each in rows)
    print(f"{above} of {len(rows)} variants take more than {GOAL} s")
    return int(above > 0)


if __name__ == "__main__":
    raise SystemExit(main())
