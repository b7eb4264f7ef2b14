"""What compiles CPU kernels, as far as it decides what comes out."""

from __future__ import annotations

import sys
from functools import cache

import llvmlite
import numba
import numpy
from numba import config

SETTINGS = (
    *("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML", "USING_SVML"),
    *("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "CAPTURED_ERRORS"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "DISABLE_PERFORMANCE_WARNINGS", "USE_LEGACY_TYPE_SYSTEM"),
    *("USE_LLVMLITE_MEMORY_MANAGER", "LLVM_PASS_TIMINGS", "NRT_STATS", "EXTEND_VARIABLE_LIFETIMES"),
)
"""Numba's settings that the code may depend on; those that a version does not have count as None."""


@cache
def toolchain() -> str:
    """Name compiler, interpreter and settings; the processor is in what Numba says of its code generator."""
    versions = (numba.__version__, llvmlite.__version__, numpy.__version__, sys.version, sys.abiflags)
    settings = [(name, getattr(config, name, None)) for name in SETTINGS]
    return f"{versions} {settings}"
