"""Arrays that can only be sliced, as those in files, and know what was read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.layout import body_name
from tests.kernels.conformance import place


class Counted:
    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, array.dtype
        self.reads = numpy.zeros(len(array), int)
        """How often each element was read."""
        self.slices: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, wanted: slice) -> Any:
        self.reads[wanted] += 1
        self.slices.append((wanted.start, wanted.stop))
        return self.array[wanted]

    @property
    def longest(self) -> int:
        return max((stop - start for start, stop in self.slices), default=0)


def stored(rows: EncodedRows, backend: str = "cpu") -> EncodedRows:
    """Rows of the host as they are stored: a stream ends with the last row, and can only be sliced."""
    arrays = dict(rows.arrays)
    bulk, offsets = body_name(rows), "row_offsets" if rows.layout == "csr" else "byte_offsets"
    arrays[bulk] = Counted(arrays[bulk][: int(arrays[offsets][-1])])
    arrays[offsets] = place(backend, arrays[offsets])[0]
    return replace(rows, arrays=arrays)
