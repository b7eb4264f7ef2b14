"""The dtype of a vertex index, and its bits."""

from __future__ import annotations

from typing import Any

import numpy


def index_dtype(vertex_count: int) -> numpy.dtype[Any]:
    """uint32 below 2^32 vertices, else uint64."""
    return numpy.dtype(numpy.uint32 if vertex_count < 1 << 32 else numpy.uint64)


def index_bits(vertex_count: int) -> int:
    """Count the bits that hold every vertex, at least one."""
    return max(1, (vertex_count - 1).bit_length())
