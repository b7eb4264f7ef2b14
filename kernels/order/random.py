"""A random numbering: what locality is worth, seen from below."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.index import index_dtype


def random(row_offsets: NDArray[numpy.int64], seed: int) -> NDArray[Any]:
    """Shuffle the vertices by NumPy's PCG64 with this seed; returns (vertices,)."""
    vertices = len(row_offsets) - 1
    order = numpy.arange(vertices, dtype=index_dtype(vertices))
    numpy.random.Generator(numpy.random.PCG64(seed)).shuffle(order)
    return order
