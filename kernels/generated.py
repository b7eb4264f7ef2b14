"""Functions of CPU kernels that generate their code, and what stands for them where kernels run as Python.

With NUMBA_DISABLE_JIT=1 Numba leaves every kernel the Python function that it is, which a debugger can enter.
Intrinsics and overloads have no such function, so each names one, or gives it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy
from numba import config, types
from numba.extending import intrinsic

_LOCK = threading.Lock()


def generated(python: Callable[..., Any]) -> Callable[[Any], Any]:
    """Make an intrinsic of a function that generates code; `python` takes the same arguments, as values."""
    return (lambda generates: python) if config.DISABLE_JIT else intrinsic


def external(compiled: Any, python: Callable[..., Any]) -> Any:
    """Choose between a function of C and one of Python."""
    return python if config.DISABLE_JIT else compiled


def changed(change: Callable[..., Any]) -> Callable[..., Any]:
    """Make an atomic change of an element, which returns what was there."""

    def python(array: Any, index: Any, *values: Any) -> Any:
        with _LOCK, numpy.errstate(over="ignore"):
            before = array[index]
            array[index] = change(before, *(numpy.asarray(value).astype(array.dtype)[()] for value in values))
        return before

    return python


def class_of(rows: Any) -> type | None:
    """Return the class of encoded rows, given as they are or as their Numba type; None of other things."""
    if isinstance(rows, types.NamedTuple):
        return rows.instance_class  # type: ignore[no-any-return]
    return type(rows) if isinstance(rows, tuple) else None
