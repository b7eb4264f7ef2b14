"""Distances of one search after another, in the smallest type that holds those of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

TYPES = ("int8", "int16", "int32")
"""What distances are stored as: most graphs are so shallow that a byte holds them."""


def smallest_type(depth: int) -> numpy.dtype[Any]:
    """Return the first of `TYPES` that holds distances from -1 up to `depth`."""
    import numpy

    return numpy.dtype(next(name for name in TYPES if depth <= numpy.iinfo(name).max))


class Distances:
    """Rows of distances; `make(dtype)` starts their array, a sink or anything that appends as one does.

    A search that is deeper than those before it has their rows written once more, in a wider type.
    """

    def __init__(self, make: Callable[[numpy.dtype[Any]], Any]) -> None:
        self._make = make
        self._type = smallest_type(0)
        self._rows: Any = None

    def append(self, distance: NDArray[numpy.int32]) -> None:
        """Add the distances of one search: int32 (vertices,), NumPy or CuPy, -1 for what it did not reach."""
        self._fit(smallest_type(int(distance.max())))
        self._rows.append(distance.astype(self._type).reshape(1, -1))

    def close(self) -> Any:
        """End the array and hand it out, (searches, vertices)."""
        self._fit(self._type)
        return self._rows.close()

    def _fit(self, wanted: numpy.dtype[Any]) -> None:
        if self._rows is None:
            self._rows, self._type = self._make(wanted), wanted
        elif wanted.itemsize > self._type.itemsize:
            narrow = self._rows.close()
            self._rows, self._type = self._make(wanted), wanted
            for row in range(len(narrow)):
                self._rows.append(narrow[row : row + 1].astype(wanted))
