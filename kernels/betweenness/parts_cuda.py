"""Sums over parts of the sources on a GPU, each from zero, added up in the order of the parts.

So the sums of all are the same to the last bit wherever each part was summed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

SHARES = 32
"""Parts of the sources at least, where batches are as many: several GPUs are busy to the end with these."""

PART_ARCS = 1 << 39
"""Arcs that the searches of a part go over at most: some 3 s on an H200, which does 1.8e11 a second at
Kronecker 21. To bring the sums of a part to another process takes 0.13 s there at Kronecker 24."""


def part_of(batch: int, sources: int, arcs: int) -> int:
    """Return the sources of a part: whole batches, by what every GPU of a kind knows alike."""
    return batch * max(1, min(sources // (SHARES * batch), PART_ARCS // (max(1, arcs) * batch)))


class InParts:
    """Searches of a GPU with the sums of one part, `kind(memory)`, and the sums of all; both on the device.

    A run is a part, of several batches.
    """

    def __init__(self, kind: Any, sources: int, arcs: int, sums: int, memory: int) -> None:
        import cupy

        self._searches = kind(memory - 8 * sums)
        self.part = self.batch = part_of(self._searches.batch, sources, arcs)
        self.bytes = self._searches.bytes + 8 * sums
        self.form = f"{self._searches.form}, parts of {self.part}"
        self.milliseconds = 0.0
        self._sums = cupy.zeros(sums, cupy.float64)

    def run(self, sources: NDArray[numpy.int64]) -> None:
        """Add the shares of up to `batch` sources; `milliseconds` is the time of the last run's searches."""
        self._search(sources)
        self._sums += self._searches.sums

    def parts(self, sources: NDArray[numpy.int64]) -> Iterator[NDArray[numpy.float64]]:
        """Yield the sums of each `part` sources in turn, on the host."""
        for first in range(0, len(sources), self.part):
            self._search(sources[first : first + self.part])
            yield self._searches.sums.get()

    def get(self) -> NDArray[numpy.float64]:
        """Return a copy of the sums so far, on the host."""
        sums: NDArray[numpy.float64] = self._sums.get()
        return sums

    def set(self, sums: NDArray[numpy.float64]) -> None:
        """Go on from these sums."""
        self._sums.set(numpy.ascontiguousarray(sums))

    def _search(self, sources: NDArray[numpy.int64]) -> None:
        searches = self._searches
        searches.sums.fill(0)
        self.milliseconds = 0.0
        for first in range(0, len(sources), searches.batch):
            searches.run(sources[first : first + searches.batch])
            self.milliseconds += searches.milliseconds
