"""Compiles every `.cu` file of the tree, in all declared variants, with NVRTC and without a GPU.

    python -m gravel.kernels.cuda.compile --arch sm_90
    python -m gravel.kernels.cuda.compile --arch sm_80 --each-value

With `--each-value` a file is compiled in as few variants as have every value of every macro once, with
`--first` in one. Each processor compiles a variant at a time. Prints one line per variant: file, macros,
architecture, seconds, and registers, shared and spilled bytes of each kernel as the assembler reports them.
Exit status 1 if any variant fails or spills more than `--most-spilled` bytes; a file may allow itself more by
a line `// spills BYTES: why`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

from gravel.kernels.cuda.compiled import compile_variant
from gravel.kernels.cuda.source import (
    covering_variants,
    each_variant,
    kernel_files,
    read_source,
)

_ALLOWED = re.compile(r"^// spills (\d+): \S", re.MULTILINE)


def allowed_spills(text: str, least: int) -> int:
    """Return the bytes that kernels of a file may spill: what it says with a reason, at least `least`."""
    return max([least, *map(int, _ALLOWED.findall(text))])


@dataclass(frozen=True)
class Job:
    """One variant of one file for one architecture."""

    path: str
    macros: Mapping[str, str]
    architecture: str
    most_spilled: int

    def __str__(self) -> str:
        return " ".join(
            [self.path, *(f"{name}={value}" for name, value in self.macros.items()), self.architecture]
        )

    def report(self) -> tuple[bool, str]:
        """Compile it; returns whether that worked and the line to print."""
        start = time.perf_counter()
        try:
            kernels = compile_variant(self.path, self.macros, self.architecture)
        except RuntimeError as error:
            return False, f"{self}: FAILED\n{error}"
        kept = all(kernel.spilled <= self.most_spilled for kernel in kernels)
        line = "; ".join([f"{self}: {time.perf_counter() - start:.2f} s", *map(str, kernels)])
        return kept, line if kept else f"{line}; FAILED, at most {self.most_spilled} bytes may be spilled"


def _jobs(chosen: argparse.Namespace) -> Iterator[Job]:
    variants = covering_variants if chosen.each_value else each_variant
    for path in chosen.files or kernel_files():
        text = read_source(path)
        most = allowed_spills(text, chosen.most_spilled)
        for macros in islice(variants(text), 1 if chosen.first else None):
            for architecture in chosen.arch or ["sm_90"]:
                yield Job(path, macros, architecture, most)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is asked for; returns the number of failures, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m gravel.kernels.cuda.compile", description=__doc__)
    parser.add_argument("--arch", action="append", help="such as sm_90; may be given more than once")
    # A few spilled words lie outside the inner loops; many mean that a kernel outgrew its block size. Up to
    # 108 bytes are those of direction_optimizing, whose probes side by side need registers and were worth it.
    parser.add_argument("--most-spilled", type=int, default=144, metavar="BYTES", help="default 144")
    parser.add_argument("--each-value", action="store_true", help="few variants, with each value once")
    parser.add_argument("--first", action="store_true", help="one variant of each file")
    parser.add_argument("files", nargs="*", help="kernel files (default: all)")
    chosen = parser.parse_args(arguments)
    jobs = list(_jobs(chosen))
    failed = False
    # NVRTC compiles one program at a time in a process.
    workers = max(1, min(len(jobs), os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for worked, line in pool.map(Job.report, jobs):
            print(line, file=sys.stdout if worked else sys.stderr, flush=True)
            failed = failed or not worked
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
