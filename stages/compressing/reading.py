"""Columns of which parts are read into host memory, wherever they are."""

from __future__ import annotations

from typing import Any

from gravel.kernels.arrays import on_host


class Parts:
    """An array that is read in slices, as stored ones are, each of which comes to the host."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.dtype = array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, wanted: slice) -> Any:
        return on_host(self._array[wanted])
