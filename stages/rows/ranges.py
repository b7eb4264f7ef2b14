"""Ranges of rows: read on the host, or brought to a GPU, smaller ones where its memory is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.kernels.arrays import on_host

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.stages.artifact import Array

Result = TypeVar("Result")

ROWS_AT_ONCE = 1 << 20
ARCS_AT_ONCE = 1 << 23
"""A range of rows holds about 100 MB of working memory: large enough to keep threads and a GPU busy."""


def row_ranges(
    row_offsets: Array, *, rows: int = ROWS_AT_ONCE, arcs: int = ARCS_AT_ONCE
) -> Iterator[tuple[int, NDArray[numpy.int64]]]:
    """Yield (first row, its offsets and one more) for ranges of at most `rows` rows.

    A range holds at most `arcs` arcs, or one row that is longer. Only a range's offsets are read.
    """
    import numpy

    count = len(row_offsets) - 1
    first = 0
    while first < count:
        part = on_host(row_offsets[first : min(first + rows, count) + 1])
        offsets = part.astype(numpy.int64, copy=False)
        fitting = int(numpy.searchsorted(offsets, offsets[0] + arcs, side="right")) - 1
        taken = min(max(fitting, 1), len(offsets) - 1)
        yield first, offsets[: taken + 1]
        first += taken


def range_on_device(row_offsets: Array, columns: Array, first: int, last: int) -> tuple[Any, Any]:
    """Return the offsets, of all arcs, and the columns of rows `first` to `last` - 1 on the device."""
    from gravel.kernels.placement.device_copies import part_on_device

    offsets = part_on_device(row_offsets, first, last + 1)
    return offsets, part_on_device(columns, int(offsets[0]), int(offsets[-1]))


def refusal(what: str, needed: int, free: int) -> str:
    """Say what a GPU lacks for a stage that the CPU runs instead."""
    mib = 1 << 20
    return f"{what} needs {-(-needed // mib):,} MiB of GPU memory, and {free // mib:,} MiB are free"


def bytes_there(*arrays: Any) -> int:
    """Count the bytes of arrays that the device has already."""
    from gravel.kernels.arrays import backend_of
    from gravel.kernels.placement.device_copies import where_it_is

    there = [where_it_is(array) for array in arrays]
    return sum(int(array.nbytes) for array in there if backend_of(array) == "cuda")


def free_bytes() -> int:
    """Give back what is unused, and return how much of the device is free."""
    import cupy

    from gravel.kernels.cuda.room import give_free_blocks_back

    give_free_blocks_back()
    return int(cupy.cuda.runtime.memGetInfo()[0])


def lacking(free: int) -> str:
    """Say that an allocation failed."""
    return f"out of device memory, of which {free:,} bytes are free"


def tried(
    work: Callable[[int, int], Result], first: int, last: int, log: Callable[[str], None]
) -> Iterator[Result]:
    """Yield `work(first, last)`, or that of halves of these rows where the device has no room for it.

    Raises MemoryError where there is none for one row.
    """
    from gravel.kernels.cuda.room import is_out_of_memory

    try:
        found = work(first, last)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    else:
        yield found
        return
    # Outside of the handler, whose traceback keeps the arrays of what failed.
    message = lacking(free_bytes())
    if last - first == 1:
        raise MemoryError(f"{message}, for row {first} alone")
    log(f"{message}; ranges become smaller")
    middle = (first + last) // 2
    yield from tried(work, first, middle, log)
    yield from tried(work, middle, last, log)
