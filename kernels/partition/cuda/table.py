"""What ranks have in memory for each other: one allocation of each, and an entry in the table of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import Buffer

ALIGNMENT = 256

ALLOCATION = 2 << 20
"""What allocations are rounded up to: another process maps whole ones, and smaller ones share theirs."""

BIN_STEP = 1 << 26
"""Arcs whose destinations are counted at once, which takes 12 bytes each."""


class Slab:
    """Arrays in one allocation of plain device memory, which other processes may map (CUDA IPC)."""

    def __init__(self, wanted: Iterable[Buffer]) -> None:
        import cupy

        self.offsets: dict[str, int] = {}
        size = 0
        for each in wanted:
            self.offsets[each.name] = size
            size += -(-each.nbytes // ALIGNMENT) * ALIGNMENT
        memory = cupy.cuda.Memory(max(1, -(-size // ALLOCATION)) * ALLOCATION)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        self.pointer = int(memory.ptr)
        self.arrays = {
            each.name: cupy.ndarray((each.length,), each.dtype, pointer + self.offsets[each.name])
            for each in wanted
        }


class Table:
    """The arrays and numbers of one rank, from which the kernel's table of ranks is made.

    `fields` names a kernel's structure field by field, 8 bytes each: those that other ranks read, which lie
    in `slab`, then `rank`, then the rest. Each is one of `arrays` or of `numbers`.
    """

    fields: Sequence[str]
    slab: Slab
    arrays: dict[str, Any]
    numbers: dict[str, int]

    def row(self) -> NDArray[numpy.uint64]:
        """Give the table's entry for this rank, as its own device sees it."""
        return numpy.array([self._field(name) for name in self.fields], numpy.uint64)

    def _field(self, name: str) -> int:
        if name in self.numbers:
            return self.numbers[name]
        array = self.arrays[name]
        return int(array.data.ptr) if len(array) else 0

    @property
    def nbytes(self) -> int:
        """Count the bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())


def seen_from_afar(row: NDArray[numpy.uint64], shift: int, fields: Sequence[str]) -> NDArray[numpy.uint64]:
    """Give a rank's entry as another device sees it: shared arrays alone, moved by `shift` bytes."""
    far = numpy.zeros_like(row)
    count = fields.index("rank")
    far[:count] = numpy.where(row[:count] == 0, 0, row[:count].astype(numpy.int64) + shift).astype(
        numpy.uint64
    )
    far[count] = row[count]
    return far


def arcs_by_owner(columns: Any, ranks: int) -> NDArray[numpy.int64]:
    """Count the arcs to the vertices of each rank, int64 (ranks,); columns are on the device."""
    import cupy

    counts = numpy.zeros(ranks, numpy.int64)
    for first in range(0, len(columns), BIN_STEP):
        owners = columns[first : first + BIN_STEP] % columns.dtype.type(ranks)
        counts += cupy.bincount(owners.astype(numpy.int32), minlength=ranks).get()
    return counts


def starts_of(counts: Any) -> NDArray[numpy.uint64]:
    """Lay regions of so many entries one after another, uint64 (regions + 1,)."""
    starts = numpy.zeros(len(counts) + 1, numpy.uint64)
    numpy.cumsum(counts, out=starts[1:], dtype=numpy.uint64)
    return starts
