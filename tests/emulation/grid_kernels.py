"""Cooperative kernels with dynamic shared memory, compiled for the CPU, and a CuPy for their callers."""

from __future__ import annotations

import ctypes
import re
import types
from functools import cache
from typing import Any

import numpy

from gravel.kernels.cuda.source import compiler_options, read_source
from tests.emulation import build
from tests.emulation.kernel_library import _without_assembly

_KERNEL = re.compile(r'extern "C" void\s+(\w+)\s*\(([^{]*?)\)\s*\{')
_ARENA = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")
BLOCKS, THREADS = 2, 64
ARENA_WORDS = 1 << 15
"""64-bit words of shared memory of a block: what `SHARED_BYTES` promises."""
SHARED_BYTES = 8 * ARENA_WORDS

_WRAPPER = """
static void call_{name}(void** arguments) {{ {name}({unpacked}); }}
extern "C" void run_{name}(unsigned blocks, unsigned threads, void** arguments) {{
    emulated::run_grid(call_{name}, arguments, blocks, threads, {at_once});
}}
"""


def _own_arena(found: re.Match[str]) -> str:
    """Give a block of its own what kernels have as dynamic shared memory."""
    words = f"alignas(16) static thread_local u64 shared_words[{ARENA_WORDS}];"
    if found[2] == "arena":
        return f"{words}\n#define arena (reinterpret_cast<{found[1]}*>(shared_words))"
    return f"{words}\n{found[1]}* {found[2]} = reinterpret_cast<{found[1]}*>(shared_words);"


def _wrapper(name: str, parameters: str) -> str:
    plain = parameters.replace("__restrict__", "")
    kinds = [re.sub(r"\w+$", "", " ".join(each.split())).strip() for each in plain.split(",")]
    unpacked = ", ".join(f"*static_cast<{kind}*>(arguments[{i}])" for i, kind in enumerate(kinds))
    return _WRAPPER.format(name=name, unpacked=unpacked, at_once=BLOCKS)


@cache
def _compiled(path: str, macros: tuple[tuple[str, object], ...]) -> ctypes.CDLL:
    text = read_source(path, dict(macros))
    return compiled(
        text, tuple(each for each in compiler_options(text, dict(macros)) if each.startswith("-D"))
    )


def without_cuda_alone(text: str) -> str:
    """Replace what only CUDA compiles by what `cuda_on_cpu.hpp` has for it, or a block has of its own."""
    return _ARENA.sub(_own_arena, _without_assembly(text))


@cache
def compiled(text: str, defined: tuple[str, ...]) -> ctypes.CDLL:
    """Compile the text of a kernel file; kept for the process."""
    text = without_cuda_alone(text)
    kernels = _KERNEL.findall(build.expanded(text, defined))
    return build.library(text + "".join(_wrapper(*kernel) for kernel in kernels), defined)


class GridKernel:
    """A kernel that is launched with `BLOCKS` blocks of at most `THREADS`, whatever was asked for."""

    max_dynamic_shared_size_bytes = 0
    max_threads_per_block = THREADS

    def __init__(self, loaded: ctypes.CDLL, name: str) -> None:
        self._run = getattr(loaded, f"run_{name}")

    def __call__(self, grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
        assert shared_mem <= SHARED_BYTES
        values: list[Any] = []
        for given in arguments:
            if isinstance(given, numpy.ndarray):
                values.append(ctypes.c_uint64(given.ctypes.data))
            elif hasattr(given, "get"):
                values.append(ctypes.c_uint64(given.data.ptr))
            elif isinstance(given, numpy.float64):
                values.append(ctypes.c_double(float(given)))
            else:
                values.append(ctypes.c_uint64(int(given)))
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self._launch(grid, block, pointers)

    def _launch(self, grid: Any, block: Any, pointers: Any) -> None:
        self._run(min(grid[0], BLOCKS), min(block[0], THREADS), pointers)


def load(path: str, **macros: object) -> Any:
    """Stand for `gravel.kernels.cuda.load`."""
    loaded = _compiled(path, tuple(sorted(macros.items())))
    return types.SimpleNamespace(get_function=lambda name: GridKernel(loaded, name))
