"""What NVRTC makes of one variant of a kernel file, and what each of its kernels takes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from gravel.kernels.cuda.source import compiler_options, read_source

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_USAGE = re.compile(r"Used (\d+) registers")
_SPILL = re.compile(r"(\d+) bytes spill stores")

_INSTRUCTION_BYTES = 16
"""Of every architecture since Volta."""


@dataclass(frozen=True)
class CompiledKernel:
    """One kernel as the assembler reports it; `code` is a digest of its machine code."""

    name: str
    registers: int
    spilled: int
    instructions: int
    code: str

    def __str__(self) -> str:
        return f"{self.name} {self.registers} registers" + (
            f", {self.spilled} bytes spilled" if self.spilled else ""
        )


def compile_variant(
    path: str, macros: Mapping[str, str], architecture: str, options: Sequence[str] = ()
) -> list[CompiledKernel]:
    """Compile one variant for an architecture such as `sm_90`; gives its kernels.

    For a virtual one such as `compute_80` nothing is optimized or assembled, and no kernels are given: its
    front end refuses what the architecture lacks. Raises RuntimeError with the compiler's log when it fails.
    """
    from cuda.bindings import nvrtc

    text = read_source(path, macros)
    given = [
        *compiler_options(text, macros),
        f"--gpu-architecture={architecture}",
        "--fdevice-syntax-only" if architecture.startswith("compute_") else "--ptxas-options=-v",
        *options,
    ]
    status, program = nvrtc.nvrtcCreateProgram(text.encode(), path.encode(), 0, [], [])
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"{path}: NVRTC could not start: {status}")
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), [option.encode() for option in given])
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = bytes(size)
        nvrtc.nvrtcGetProgramLog(program, log)
        report = log.decode(errors="replace").rstrip("\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"{path} with {dict(macros)} for {architecture} does not compile:\n{report}")
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = bytes(size)
        nvrtc.nvrtcGetCUBIN(program, cubin)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return list(kernels_of(report, machine_code(cubin))) if cubin else []


def kernels_of(log: str, code: Mapping[str, bytes]) -> Iterator[CompiledKernel]:
    """Give what the assembler's log says of each kernel, with the machine code of each."""
    name, spilled = "", 0
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, spilled = entry[1], 0
        if found := _SPILL.search(line):
            spilled = int(found[1])
        if found := _USAGE.search(line):
            its = code.get(name, b"")
            digest = sha256(its).hexdigest()[:16]
            yield CompiledKernel(name, int(found[1]), spilled, len(its) // _INSTRUCTION_BYTES, digest)


def machine_code(cubin: bytes) -> dict[str, bytes]:
    """Machine code of each kernel in a cubin, a 64-bit ELF file whose sections `.text.NAME` hold it."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    strings = headers[names][4]
    code = {}
    for name_at, _, _, _, offset, length in headers:
        begin = strings + name_at
        name = cubin[begin : cubin.index(b"\0", begin)].decode()
        if name.startswith(".text."):
            code[name.removeprefix(".text.")] = cubin[offset : offset + length]
    return code
