"""What a stage uses of CuPy beside gravel's kernels, for whoever has CuPy compile it before the stage runs.

CuPy compiles an elementwise kernel when it is first called with some dtypes, in 0.15 to 0.5 s each, measured
on a machine with one H100. Each operation is run once on a few elements. Sorts, minima, maxima and sums of
whole arrays come compiled with CuPy, and copies need no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.kernels_ahead import Kernel, Made

FEW = 8
"""Elements that an operation is run on."""


def _array(dtype: str) -> Any:
    import cupy

    return cupy.zeros(FEW, dtype)


def _cupy(name: str) -> Any:
    import cupy

    return getattr(cupy, name)


def _numpy_uint64(value: int) -> Any:
    import numpy

    return numpy.uint64(value)


def _copy(dtype: str) -> None:
    """Assign to a part, which may take a kernel."""
    _array(dtype)[2:] = _array(dtype)[2:]


OPERATIONS: Mapping[str, Callable[[], object]] = {
    "add int64": lambda: _array("int64") + 1,
    **{f"copy {dtype}": partial(_copy, dtype) for dtype in ("bool", "int8", "int32", "int64", "uint32")},
    "cumsum int64": lambda: _cupy("cumsum")(_array("int64"), out=_array("int64")),
    "cumsum uint32": lambda: _cupy("cumsum")(_array("uint32"), dtype="uint32", out=_array("uint32")),
    "diff int64": lambda: _cupy("diff")(_array("int64")),
    "divide int64": lambda: _array("int64") // 2,
    "fill uint32": lambda: _array("uint32").fill(1),
    "fill uint64": lambda: _array("uint64").fill(1),
    "find bool": lambda: _cupy("flatnonzero")(_array("bool")),
    "find int64": lambda: _cupy("flatnonzero")(_array("int64")),
    "find uint8": lambda: _cupy("flatnonzero")(_array("uint8")),
    "find uint32": lambda: _cupy("flatnonzero")(_array("uint32")),
    "first is 0": lambda: _array("int64")[0] != 0,
    "full uint64": lambda: _cupy("full")(FEW, _numpy_uint64((1 << 64) - 1)),
    "gather int64": lambda: _array("int64")[::2].copy(),
    "greater int64": lambda: _array("int64") > 1,
    "int32 to int8": lambda: _array("int32").astype("int8"),
    "int64 to uint32": lambda: _array("int64").astype("uint32"),
    "join uint8": lambda: _cupy("concatenate")([_array("uint8"), _array("uint8")]),
    "negative int64": lambda: -_array("int64"),
    "not equal uint32": lambda: _array("uint32") != _array("uint32"),
    "packbits": lambda: _cupy("packbits")(_array("bool"), bitorder="little"),
    "search int64": lambda: _cupy("searchsorted")(_array("int64"), _array("int64"), side="right"),
    "subtract uint32": lambda: _array("uint32") - _array("uint32"),
    "take int64": lambda: _array("int64")[[0, 1]],
    "take int64 by uint32": lambda: _array("int64")[_array("uint32")],
}
"""The operations by name."""

LONG_ROWS = ("diff int64", "greater int64", "find bool")

RENUMBERING = (*LONG_ROWS, "full uint64", "cumsum int64", "add int64", "search int64", "take int64")

RCM = ("fill uint32", "fill uint64", "cumsum uint32", "subtract uint32", "find uint8")

DIVIDING = (
    *("cumsum int64", "gather int64", "cumsum uint32", "find uint32", "int64 to uint32"),
    *("not equal uint32", "copy bool", "packbits"),
)

ENCODING = (*LONG_ROWS, "first is 0", "full uint64", "copy int64", "cumsum int64", "add int64")

SEARCHING = (
    *("full uint64", "int32 to int8", "diff int64", "int64 to uint32"),
    *("copy int8", "copy int32", "copy uint32"),
)

PLAIN_ROWS = ("negative int64", "divide int64", "greater int64", "find bool", "find int64")

RELABELLING = ("diff int64", "take int64 by uint32", "cumsum int64")


def operations_ahead(made: Made) -> tuple[Kernel, ...]:
    """Return the names of what a stage uses, in the order in which it does, with no macros."""
    return tuple((name, {}) for name in dict.fromkeys(_names(made, made.parameters)))


def run_ahead(name: str) -> None:
    """Have CuPy compile an operation for the current device; raises KeyError for an unknown one."""
    OPERATIONS[name]()


def _names(made: Made, asked: Any) -> tuple[str, ...]:
    from gravel.stages.kernels_ahead import layout_of

    if made.stage == "symmetrize":
        return ("cumsum int64",)
    if made.stage == "reorder" and asked.method != "original":
        return (*(RCM if "rcm" in asked.method else ()), *RENUMBERING)
    if made.stage == "partition":
        return DIVIDING
    if made.stage == "compress":
        return ENCODING if asked.codec != "csr" else ("divide int64",)
    if made.stage == "traverse" and asked.algorithm == "bfs" and asked.backend != "cpu":
        graph = made.inputs.get("input")
        rows = PLAIN_ROWS if layout_of(graph) == "csr" else (*ENCODING, "join uint8")
        back = RELABELLING if any(each.stage == "reorder" for each in made.lineage()) else ()
        return (*rows, *SEARCHING, *back)
    return ()
