"""Arrays of a rank that sends: plain device memory, pinned host memory, and regions for each rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

CHUNK_WORDS = 1024
"""Words of 32 bits in a chunk of a bitmap that chooses; in `kernels/partition/nccl/chosen.cuh` too."""


def empty(count: int, dtype: Any) -> Any:
    """Allocate a device array outside CuPy's pool, whose memory every carrier can register."""
    import cupy

    memory = cupy.cuda.Memory(max(1, count) * numpy.dtype(dtype).itemsize)
    return cupy.ndarray((count,), dtype, cupy.cuda.MemoryPointer(memory, 0))


def pinned(count: int) -> NDArray[numpy.uint64]:
    """Allocate host memory that the device writes without waiting, uint64."""
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(8 * count)
    return numpy.frombuffer(memory, numpy.uint64, count)


class Regions:
    """A region for each rank in an array of things, and in a bitmap that chooses among them.

    `starts` (ranks + 1) are in things; `first_words` (ranks + 1) in words of the bitmap, whole chunks for
    each.
    """

    def __init__(self, capacities: Sequence[int]) -> None:
        self.starts = [0]
        self.first_words = [0]
        for capacity in capacities:
            self.starts.append(self.starts[-1] + capacity)
            chunks = -(-capacity // (32 * CHUNK_WORDS))
            self.first_words.append(self.first_words[-1] + chunks * CHUNK_WORDS)

    @property
    def chunks(self) -> int:
        """Chunks of the bitmap."""
        return self.first_words[-1] // CHUNK_WORDS

    def part(self, rank: int, first: int, last: int) -> slice:
        """Give the place of things `first` to `last` of a rank."""
        return slice(self.starts[rank] + first, self.starts[rank] + last)

    def words(self, rank: int, count: int) -> slice:
        """Give the place of the bits of a rank's first things."""
        first = self.first_words[rank]
        return slice(first, first + -(-count // 32))

    def chosen(self, positions: NDArray[Any], rank: int) -> slice:
        """Give the place of a rank's things among those that were chosen, by the positions of chunks."""
        first, last = (self.first_words[place] // CHUNK_WORDS for place in (rank, rank + 1))
        return slice(int(positions[first]), int(positions[last]))
