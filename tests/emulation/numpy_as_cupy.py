"""A CuPy whose every function is NumPy's, for callers that use much of it beside their own kernels."""

from __future__ import annotations

import types
from typing import Any

import numpy

from tests.emulation.grid_kernels import Array, _empty, cupy


def _on_device(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_on_device, found))
    return found.view(Array) if isinstance(found, numpy.ndarray) else found


def _passed_on(function: Any) -> Any:
    return lambda *given, **named: _on_device(function(*given, **named))


def _searchsorted(ascending: Any, values: Any, side: str = "left") -> Any:
    # CuPy's takes arrays alone.
    assert isinstance(values, Array)
    return _on_device(numpy.searchsorted(ascending, values, side=side))


def module() -> types.ModuleType:
    """Make the module that stands for `cupy`."""
    fake: Any = cupy()
    fake.empty = _empty
    fake.searchsorted = _searchsorted
    for name in (
        "arange",
        "argsort",
        "asarray",
        "bincount",
        "concatenate",
        "count_nonzero",
        "cumsum",
        "diff",
        "flatnonzero",
        "minimum",
        "packbits",
        "unpackbits",
        "zeros",
    ):
        fake.__dict__[name] = _passed_on(getattr(numpy, name))
    return fake  # type: ignore[no-any-return]
