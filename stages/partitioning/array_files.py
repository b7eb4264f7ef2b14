"""Arrays in files of their own that all workers of a host map; what tasks carry tells how to read them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True)
class ArrayFile:
    """A one-dimensional array in a file without a header.

    The header of an NPY file is read by Python's parser, which fails now and then where threads of a process
    parse at the same time (`SystemError: AST constructor recursion depth mismatch`, Python 3.11).
    """

    path: Path
    dtype: str
    length: int

    def map(self, mode: str = "r") -> NDArray[Any]:
        """Map the array; an empty one, which no system maps, is made."""
        import numpy

        if not self.length:
            return numpy.empty(0, self.dtype)
        mapped: NDArray[Any] = numpy.memmap(self.path, self.dtype, mode, shape=(self.length,))  # type: ignore[call-overload]
        return mapped


def allocated(path: Path, dtype: DTypeLike, length: int) -> ArrayFile:
    """Make a file of zeros; raises OSError where the disk has no room."""
    import numpy

    kind = numpy.dtype(dtype)
    with path.open("wb") as out:
        if length:
            # Writing to a mapped page that the disk has no room for would end the process.
            os.posix_fallocate(out.fileno(), 0, length * kind.itemsize)
    return ArrayFile(path, kind.str, length)


def written(path: Path, array: NDArray[Any]) -> ArrayFile:
    """Write an array; raises OSError where the disk has no room."""
    import numpy

    with path.open("wb") as out:
        # `tofile` would lose what the system says of a full disk.
        out.write(numpy.ascontiguousarray(array).view(numpy.uint8).data)
    return ArrayFile(path, array.dtype.str, len(array))
