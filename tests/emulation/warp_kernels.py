"""Compiles kernel files of single warps for the CPU with `cuda_on_cpu.hpp`; every kernel can be called."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import numpy

from gravel.kernels.cuda.source import compiler_options, read_source
from tests.emulation import build

_KERNEL = re.compile(r'extern "C" void\s+(\w+)\s*\(([^{]*?)\)\s*\{')
BLOCKS = 2


def _wrapper(name: str, parameters: list[str]) -> str:
    types = [re.sub(r"\w+$", "", parameter).strip() for parameter in parameters]
    unpacked = ", ".join(f"*static_cast<{kind}*>(arguments[{i}])" for i, kind in enumerate(types))
    return f"""
static void call_{name}(void** arguments) {{ {name}({unpacked}); }}
extern "C" void run_{name}(void** arguments) {{
    for (unsigned b = 0; b < {BLOCKS}; ++b) emulated::run_block(call_{name}, arguments, b, {BLOCKS}, 32);
}}
"""


@cache
def _compiled(path: str, macros: tuple[tuple[str, object], ...]) -> tuple[ctypes.CDLL, dict[str, list[str]]]:
    text = read_source(path, dict(macros))
    defined = [option for option in compiler_options(text, dict(macros)) if option.startswith("-D")]
    kernels = {
        name: [" ".join(parameter.split()) for parameter in parameters.split(",")]
        for name, parameters in _KERNEL.findall(build.expanded(text, defined))
    }
    wrappers = "".join(_wrapper(*kernel) for kernel in kernels.items())
    return build.library(text + wrappers, defined), kernels


class WarpKernels:
    """The kernels of a file; each is launched with `BLOCKS` blocks of a warp."""

    def __init__(self, path: str, **macros: object) -> None:
        self._loaded, self._kernels = _compiled(path, tuple(sorted(macros.items())))

    def run(self, name: str, *arguments: Any) -> None:
        """Call a kernel with NumPy arrays where it takes pointers, and integers."""
        parameters = self._kernels[name]
        assert len(parameters) == len(arguments), parameters
        values = []
        for parameter, given in zip(parameters, arguments, strict=True):
            assert ("*" in parameter) or not isinstance(given, numpy.ndarray), parameter
            number = given.ctypes.data if isinstance(given, numpy.ndarray) else int(given) % (1 << 64)
            values.append(ctypes.c_uint64(number))
        self._loaded[f"run_{name}"]((ctypes.c_void_p * len(values))(*map(ctypes.addressof, values)))
