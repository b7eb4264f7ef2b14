"""Rows that are worked on by a GPU, fewer at a time where it has less memory free than was stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")


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
