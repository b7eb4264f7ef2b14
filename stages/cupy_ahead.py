"""CuPy's own kernels that a stage uses, for whoever has them compiled before it runs.

CuPy compiles an operation when it is first called for some dtypes, which takes 0.1 to 0.5 s on a fresh
machine; on few elements it compiles what it compiles for many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

PREFIX = "cupy: "
"""Before the name of an operation, where others are kernel files."""

Operation = Callable[[Any, "Few"], object]


class Few:
    """Device arrays of a few elements."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __getattr__(self, dtype: str) -> Any:
        return self._cupy.zeros(64, dtype)


OPERATIONS: dict[str, Operation] = {
    "difference of int64": lambda cupy, few: few.int64[1:] - few.int64[:-1],
    "int64 plus a number": lambda cupy, few: few.int64 + 1,
    "int64 plus int64": lambda cupy, few: few.int64 + few.int64,
    "int64 by a number": lambda cupy, few: few.int64 // 2,
    "int64 times a number": lambda cupy, few: few.int64 * 64,
    "minus int64": lambda cupy, few: -few.int64,
    "int64 above a number": lambda cupy, few: few.int64 > 3,
    "int64 at most a number": lambda cupy, few: _capped(cupy, few.int64),
    "which int64 are not 0": lambda cupy, few: cupy.flatnonzero(few.int64),
    "which uint32 are not 0": lambda cupy, few: cupy.flatnonzero(few.uint32),
    "which uint8 are not 0": lambda cupy, few: cupy.flatnonzero(few.uint8),
    "which are true": lambda cupy, few: cupy.flatnonzero(few.bool),
    "sums of int64": lambda cupy, few: cupy.cumsum(few.int64, out=few.int64),
    "sums of uint32": lambda cupy, few: cupy.cumsum(few.uint32, dtype="uint32", out=few.uint32),
    "sum of int64": lambda cupy, few: few.int64.sum(),
    "largest int64": lambda cupy, few: few.int64.max(),
    "smallest int64": lambda cupy, few: few.int64.min(),
    "largest int32": lambda cupy, few: few.int32.max(),
    "largest uint8": lambda cupy, few: few.uint8.max(),
    "uint32 of int64": lambda cupy, few: few.int64.astype("uint32"),
    "uint16 of int64": lambda cupy, few: few.int64.astype("uint16"),
    "int32 of uint16": lambda cupy, few: few.uint16.astype("int32"),
    "int8 of int32": lambda cupy, few: few.int32.astype("int8"),
    "int64 at int64": lambda cupy, few: few.int64[few.int64],
    "int64 at uint32": lambda cupy, few: few.int64[few.uint32],
    "every other int64": lambda cupy, few: few.int64[::2].copy(),
    "int64 one after the other": lambda cupy, few: cupy.arange(64, dtype="int64"),
    "int64 joined": lambda cupy, few: cupy.concatenate([few.int64, few.int64]),
    "uint64 all alike": lambda cupy, few: cupy.full(64, 1, "uint64"),
    "place of int64": lambda cupy, few: cupy.searchsorted(few.int64, few.int64),
    "place of int64 from the right": lambda cupy, few: cupy.searchsorted(few.int64, few.int64, side="right"),
    "how often int32 occur": lambda cupy, few: cupy.bincount(few.int32, minlength=100),
    "whether uint32 differ": lambda cupy, few: few.uint32[1:] != few.uint32[:-1],
    "bits of flags": lambda cupy, few: cupy.packbits(few.bool, bitorder="little"),
    "difference of uint32": lambda cupy, few: few.uint32[1:] - few.uint32[:-1],
}

OF_STAGES: dict[str, tuple[str, ...]] = {
    "symmetrize": ("sums of int64",),
    "reorder": (
        *("difference of int64", "largest int64", "int64 plus a number", "int64 above a number"),
        *("place of int64 from the right", "which are true", "uint64 all alike"),
    ),
    "partition": (
        *("difference of int64", "int64 at most a number", "uint16 of int64", "int32 of uint16"),
        *("how often int32 occur", "int64 plus int64", "int64 above a number", "which are true"),
        *("int64 at int64", "int64 plus a number", "int64 joined", "int64 one after the other"),
        *("int64 times a number", "place of int64", "uint32 of int64", "sums of int64", "every other int64"),
        *("sums of uint32", "which uint32 are not 0", "whether uint32 differ", "bits of flags"),
        "largest int64",
    ),
    "compress": ("smallest int64", "largest int64", "difference of int64"),
    "traverse": (
        *("largest int32", "int8 of int32", "difference of int64", "uint32 of int64"),
        *("int64 at uint32", "largest uint8"),
    ),
}
"""Operations of the stages of `workflows/quickstart.yaml`, by their first use."""

RCM = ("difference of uint32", "sums of uint32", "which uint8 are not 0", "largest int64")
SHAPE = ("minus int64", "sum of int64", "which int64 are not 0", "int64 by a number")
"""Where a search looks at the graph's shape first."""


def named(operations: Iterable[str]) -> tuple[tuple[str, dict[str, str]], ...]:
    """Name operations as kernel files are, without macros."""
    return tuple((PREFIX + each, {}) for each in operations)


def run(name: str) -> None:
    """Have an operation compiled by its name."""
    import cupy

    OPERATIONS[name.removeprefix(PREFIX)](cupy, Few(cupy))


def _capped(cupy: Any, values: Any) -> None:
    cupy.minimum(values, 3, out=values)
