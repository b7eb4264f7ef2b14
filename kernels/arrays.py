"""Arrays as kernels know them: on which side they lie, and the types of vertex indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy


def backend_of(array: Any) -> str:
    """`cuda` for a CuPy array, else `cpu`, without importing CuPy."""
    return "cuda" if type(array).__module__.split(".")[0] == "cupy" else "cpu"


def array_module(array: Any) -> Any:
    """CuPy for its arrays, else NumPy."""
    import numpy

    if backend_of(array) == "cuda":
        import cupy

        return cupy
    return numpy


def on_host(array: Any) -> Any:
    """Return an array in host memory, or None: copied from a GPU, or read whole where it is stored."""
    import numpy

    if array is None:
        return None
    return array.get() if backend_of(array) == "cuda" else numpy.asarray(array)


def index_dtype(vertex_count: int) -> numpy.dtype[Any]:
    """uint32 below 2^32 vertices, else uint64."""
    import numpy

    return numpy.dtype(numpy.uint32 if vertex_count < 1 << 32 else numpy.uint64)


def index_bits(vertex_count: int) -> int:
    """Count the bits that hold every vertex, at least one."""
    return max(1, (vertex_count - 1).bit_length())
