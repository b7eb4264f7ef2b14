"""How kernels read labels of any integer type (integers.cuh)."""

from __future__ import annotations

from typing import Any

import numpy


def kind_of(dtype: Any) -> numpy.uint32:
    """Say how `integers.cuh` reads labels of a dtype; raises ValueError for what is no integer."""
    dtype = numpy.dtype(dtype)
    if dtype.kind not in "iu":
        raise ValueError(f"labels are integers; found {dtype}")
    unsigned = dtype.kind == "u" and dtype.itemsize < 8
    return numpy.uint32(dtype.itemsize | (16 if unsigned else 0))
