"""Arrays that do not fit in memory, in a file that has no name: nothing of it outlives the process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ScratchFile:
    """Arrays one after the other, by the places where they begin; made when the first one is written.

    Raises StageError where the disk takes no more.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._end = 0

    def append(self, array: NDArray[Any]) -> int:
        """Write an array at the end, and return where it begins."""
        begin = self._end
        self.write(begin, array)
        self._end += array.nbytes
        return begin

    def write(self, place: int, array: NDArray[Any]) -> None:
        """Write an array at a place."""
        import numpy

        view = numpy.ascontiguousarray(array).view(numpy.uint8).data
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            self._file.seek(place)
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise StageError(
                f"what does not fit in memory could not be written to {self._folder}: {error.strerror}",
                hint="free disk space there, allow more open files, or give this stage more memory",
            ) from None

    def read(self, place: int, count: int, dtype: Any) -> NDArray[Any]:
        """Read so many elements from a place on."""
        import numpy

        found = numpy.empty(count, dtype)
        view = found.view(numpy.uint8).data
        if self._file is not None:
            self._file.seek(place)
        while len(view):
            done = self._file.readinto(view) if self._file is not None else 0  # type: ignore[attr-defined]
            if not done:
                raise OSError(f"a file in {self._folder} lost its end")
            view = view[done:]
        return found

    def close(self) -> None:
        """Give up the disk."""
        if self._file is not None:
            self._file.close()
            self._file = None
