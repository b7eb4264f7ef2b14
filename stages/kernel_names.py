"""Kernels by name, to be compiled before a stage needs them: files with macros, and CuPy's operations.

CuPy compiles an operation when it is first called for some dtypes, which takes 0.1 to 0.5 s on a fresh
machine; on few elements it compiles what it compiles for many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Kernel = tuple[str, Mapping[str, str]]
"""A file with its macros, or the name of an operation of CuPy's, after `PREFIX`, without any."""
MadeBy = Sequence[tuple[str, Any]]
"""Stages that made an input and what went into it, the last first, with their parameters."""

U32 = {"VERTEX": "u32"}

PATHS = {**U32, "WORD": "u32", "WEIGHT": "u32"}
"""Weights are taken to be integers, of which no path is longer than int32 holds."""

PREFIX = "cupy: "
"""Before the name of an operation, where others are kernel files."""

Operation = Callable[[Any, "Few"], object]


class Few:
    """Device arrays of a few elements."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __getattr__(self, dtype: str) -> Any:
        return self._cupy.zeros(64, dtype)

    def assigned(self, dtype: str) -> None:
        """Assign to a part of an array, which may take a kernel."""
        self._cupy.zeros(64, dtype)[2:] = self._cupy.zeros(62, dtype)


OPERATIONS: dict[str, Operation] = {
    "difference of int64": lambda cupy, few: few.int64[1:] - few.int64[:-1],
    "int64 plus a number": lambda cupy, few: few.int64 + 1,
    "int64 by a number": lambda cupy, few: few.int64 // 2,
    "minus int64": lambda cupy, few: -few.int64,
    "int64 above a number": lambda cupy, few: few.int64 > 3,
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
    "int8 of int32": lambda cupy, few: few.int32.astype("int8"),
    "int64 at int64": lambda cupy, few: few.int64[[0, 1]],
    "int64 at uint32": lambda cupy, few: few.int64[few.uint32],
    "every other int64": lambda cupy, few: few.int64[::2].copy(),
    "uint8 joined": lambda cupy, few: cupy.concatenate([few.uint8, few.uint8]),
    "uint32 filled": lambda cupy, few: few.uint32.fill(1),
    "uint64 filled": lambda cupy, few: few.uint64.fill(1),
    "uint64 all alike": lambda cupy, few: _all_alike(cupy),
    "place of int64 from the right": lambda cupy, few: cupy.searchsorted(few.int64, few.int64, side="right"),
    "which uint32 differ from a number": lambda cupy, few: few.uint32 != 3,
    "bits of flags": lambda cupy, few: cupy.packbits(few.bool, bitorder="little"),
    "difference of uint32": lambda cupy, few: few.uint32[1:] - few.uint32[:-1],
    "flags assigned": lambda cupy, few: few.assigned("bool"),
    "int8 assigned": lambda cupy, few: few.assigned("int8"),
    "int32 assigned": lambda cupy, few: few.assigned("int32"),
    "int64 assigned": lambda cupy, few: few.assigned("int64"),
    "uint32 assigned": lambda cupy, few: few.assigned("uint32"),
}

LONG_ROWS = ("difference of int64", "int64 above a number", "which are true")

ENCODED = (
    *("smallest int64", "difference of int64", "uint64 all alike"),
    *("int64 above a number", "which are true", "sums of int64", "int64 plus a number", "int64 assigned"),
)
"""Of rows that become bytes, or whose lengths are counted in them."""

OF_STAGES: dict[str, tuple[str, ...]] = {
    "symmetrize": ("sums of int64",),
    "reorder": (
        *("difference of int64", "largest int64", "uint64 all alike", "sums of int64", "int64 plus a number"),
        *("place of int64 from the right", "int64 at int64", *LONG_ROWS),
    ),
    "partition": (
        *("sums of int64", "every other int64", "sums of uint32", "which uint32 are not 0"),
        *("uint32 of int64", "flags assigned", "bits of flags", "largest int64"),
        *("difference of int64", "which uint32 differ from a number"),
    ),
    "compress": (*ENCODED, "largest int64"),
    "traverse": (
        *("difference of int64", "uint64 all alike", "sums of int64", "int64 at uint32", "largest int32"),
        *("int8 of int32", "int8 assigned", "int32 assigned", "uint32 of int64", "uint32 assigned"),
        *(*ENCODED, "uint8 joined", "largest uint8"),
    ),
}
"""Operations of the stages of `workflows/quickstart.yaml`, by their first use."""

RCM = (
    *("largest int64", "uint32 filled", "uint64 filled", "sums of uint32", "difference of uint32"),
    "which uint8 are not 0",
)
SHAPE = (
    *("minus int64", "int64 by a number", "sum of int64", "int64 above a number", "which are true"),
    "which int64 are not 0",
)
"""Where a search looks at the graph's shape first."""


def tree_of(output: str) -> dict[str, str]:
    """Make TREE of a search: with predecessors a label is a key of 64 bits, 32 of them the predecessor's."""
    return {"TREE": "0" if output == "distance" else "32"}


def columns_searched(output: str) -> tuple[Kernel, ...]:
    """Name what a direction-optimizing search of columns loads."""
    # The graph decides: large ones with hubs have deferred rows, small ones have none.
    file = "kernels/bfs/cuda/direction_optimizing.cu"
    deferred, none = ((file, {**U32, **tree_of(output), "DEFER_ROWS": each}) for each in ("1", "0"))
    # First neighbours by degree, of distances in another order than by degree.
    by_degree = (("kernels/bfs/cuda/by_degree.cu", U32),) if output == "distance" else ()
    return (deferred, ("kernels/bfs/cuda/deferred_rows.cu", U32), *by_degree, none)


def named(operations: Iterable[str]) -> tuple[Kernel, ...]:
    """Name operations as kernel files are, without macros."""
    return tuple((PREFIX + each, {}) for each in operations)


def run(name: str) -> None:
    """Have an operation compiled by its name."""
    import cupy

    OPERATIONS[name.removeprefix(PREFIX)](cupy, Few(cupy))


def _all_alike(cupy: Any) -> Any:
    import numpy

    return cupy.full(64, numpy.uint64((1 << 64) - 1))
