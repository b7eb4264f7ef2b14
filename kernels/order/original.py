"""The numbering as it is."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.index import index_dtype


def original(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Leave every vertex where it is; returns (vertices,)."""
    vertices = len(row_offsets) - 1
    return numpy.arange(vertices, dtype=index_dtype(vertices))
