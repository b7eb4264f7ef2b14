"""Compiles a kernel for the CPU with `cuda_on_cpu.hpp`, and launches it as CuPy does."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import numpy

from gravel.kernels.cuda.source import compiler_options, read_source
from tests.emulation import build

ASSEMBLY = (
    "load_relaxed",
    "store_relaxed",
    "load_acquire",
    "store_release",
    "increment_release",
    "fence",
    "load_relaxed_system",
    "store_relaxed_system",
    "fence_system",
    "nanoseconds",
    "permute_bytes",
    "prefetch",
)
"""Functions that `cuda_on_cpu.hpp` has in their place."""

_SIGNATURE = re.compile(r'extern "C" __global__ void\s+(\w+)\(([^)]*)\)')


def _without_assembly(text: str) -> str:
    for name in ASSEMBLY:
        pattern = rf"__device__ __forceinline__ \w+ {name}\([^)]*\) \{{(?:\n(?:.*\n)*?| .*)\}}\n"
        text, count = re.subn(pattern, "", text)
        assert count <= 1, name
    return text


def _launchers(text: str) -> str:
    """Give C++ that calls each of the file's kernels with pointers to its arguments."""
    text = re.sub(r"__launch_bounds__\([^)]*\)", "", text)
    found = list(_SIGNATURE.finditer(text))
    assert found
    launchers = "".join(_launcher(each[1], each[2]) for each in found)
    return f"""{launchers}
extern "C" void* first_launch(unsigned blocks, unsigned threads, void** arguments) {{
    return launch_{found[0][1]}(blocks, threads, arguments);
}}
"""


def _launcher(name: str, parameters: str) -> str:
    kinds = [parameter.strip().rsplit(" ", 1)[0] for parameter in parameters.split(",")]
    unpacked = ", ".join(
        f"*static_cast<{kind}{'*' if star else ''}*>(arguments[{place}])"
        for place, (kind, star) in enumerate((kind.rstrip("*"), "*" in kind) for kind in kinds)
    )
    return f"""
static void call_{name}(void** arguments) {{ {name}({unpacked}); }}
extern "C" void* launch_{name}(unsigned blocks, unsigned threads, void** arguments) {{
    return emulated::start_grid(call_{name}, arguments, blocks, threads);
}}
"""


@cache
def library(path: str, macros: tuple[tuple[str, object], ...]) -> ctypes.CDLL:
    """Compile a variant of a kernel file; kept for the process."""
    text = read_source(path, dict(macros))
    options = [option for option in compiler_options(text, dict(macros)) if option.startswith("-D")]
    body = re.sub(r"__launch_bounds__\([^)]*\)", "", _without_assembly(text))
    loaded = build.library(f"{body}\n{_launchers(text)}", options)
    loaded.emulated_wait.argtypes = [ctypes.c_void_p]
    return loaded


class Launch:
    """A kernel that runs, the file's first unless it is named; `wait` returns when it has ended."""

    def __init__(
        self,
        loaded: ctypes.CDLL,
        blocks: int,
        threads: int,
        arguments: tuple[Any, ...],
        name: str | None = None,
    ) -> None:
        self._loaded = loaded
        launch = loaded["first_launch" if name is None else f"launch_{name}"]
        launch.restype = ctypes.c_void_p
        self._kept = arguments
        values = [
            ctypes.c_uint64(int(a)) if isinstance(a, numpy.generic | int) else ctypes.c_uint64(a.data.ptr)
            for a in arguments
        ]
        self._values = values
        self._pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        self._running = ctypes.c_void_p(launch(blocks, threads, self._pointers))

    def wait(self) -> None:
        if self._running:
            self._loaded.emulated_wait(self._running)
            self._running = ctypes.c_void_p(0)
