"""Compiles every `.cu` file of the tree, in all declared variants, with NVRTC and without a GPU.

    python -m kernels.cuda.compile --arch sm_80 --arch sm_90

Prints one line per variant: file, macros, architecture, seconds, and registers, shared and spilled bytes
of each kernel as the assembler reports them. Exit status 1 if any variant fails.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence

from kernels.cuda.source import compiler_options, each_variant, kernel_files, read_source

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_USAGE = re.compile(r"Used (\d+) registers")
_SPILL = re.compile(r"(\d+) bytes spill stores")


def compile_variant(path: str, macros: Mapping[str, str], architecture: str) -> str:
    """Compile one variant to machine code and return the compiler's log.

    Raises RuntimeError with that log when it fails.
    """
    from cuda.bindings import nvrtc

    text = read_source(path)
    options = [
        *compiler_options(text, macros),
        f"--gpu-architecture={architecture}",
        "--ptxas-options=-v",
    ]
    status, program = nvrtc.nvrtcCreateProgram(text.encode(), path.encode(), 0, [], [])
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"{path}: NVRTC could not start: {status}")
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    buffer = b" " * size
    nvrtc.nvrtcGetProgramLog(program, buffer)
    nvrtc.nvrtcDestroyProgram(program)
    log: str = buffer.decode(errors="replace").rstrip("\0 \n")
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"{path} with {dict(macros)} for {architecture} does not compile:\n{log}")
    return log


def kernel_usage(log: str) -> dict[str, str]:
    """Registers of each kernel, and spilled bytes where there are any, from the compiler's log."""
    usage: dict[str, str] = {}
    name, spilled = "", 0
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, spilled = entry[1], 0
        if found := _SPILL.search(line):
            spilled = int(found[1])
        if found := _USAGE.search(line):
            usage[name] = f"{found[1]} registers" + (f", {spilled} bytes spilled" if spilled else "")
    return usage


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is asked for; returns the number of failures, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m kernels.cuda.compile", description=__doc__)
    parser.add_argument("--arch", action="append", help="such as sm_90; may be given more than once")
    parser.add_argument("files", nargs="*", help="kernel files (default: all)")
    chosen = parser.parse_args(arguments)
    failed = False
    for path in chosen.files or kernel_files():
        for macros in each_variant(read_source(path)):
            for architecture in chosen.arch or ["sm_90"]:
                label = " ".join([path, *(f"{name}={value}" for name, value in macros.items()), architecture])
                start = time.perf_counter()
                try:
                    log = compile_variant(path, macros, architecture)
                except RuntimeError as error:
                    failed = True
                    print(f"{label}: FAILED\n{error}", file=sys.stderr)
                    continue
                usage = "; ".join(f"{kernel} {used}" for kernel, used in kernel_usage(log).items())
                print(f"{label}: {time.perf_counter() - start:.2f} s; {usage}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
