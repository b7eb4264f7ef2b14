"""The dtype of a vertex index."""

from __future__ import annotations

from typing import Any

import numpy


def index_dtype(vertex_count: int) -> numpy.dtype[Any]:
    """uint32 below 2^32 vertices, else uint64."""
    return numpy.dtype(numpy.uint32 if vertex_count < 1 << 32 else numpy.uint64)
