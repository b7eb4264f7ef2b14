"""Reading the memory of another process of this host into arrays of one's own.

Pages of memory that processes share are small, and the system hands them out one by one: to copy 1 GB there
took 0.35 to 1 s where it took 0.06 s to read it from process to process into huge pages (2 cores of a virtual
machine, pages that were used before). A system may refuse that: Yama allows it to a process's ancestors only.
"""

from __future__ import annotations

import ctypes
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE_BYTES = 16 << 20
"""Bytes that a thread reads at once."""

REFUSALS = frozenset({errno.EPERM, errno.EACCES, errno.ENOSYS})


class ReadRefused(Exception):
    """The system does not let this process read that one's memory."""


class _Range(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@cache
def _call() -> Any:
    function = ctypes.CDLL(None, use_errno=True).process_vm_readv
    at, count = ctypes.POINTER(_Range), ctypes.c_ulong
    function.argtypes = [ctypes.c_int, at, count, at, count, count]
    function.restype = ctypes.c_ssize_t
    return function


def read_memory(process: int, address: int, out: NDArray[Any]) -> None:
    """Fill a contiguous array from an address of another process, on all threads.

    Raises `ReadRefused`, and OSError if the process, or the memory, is gone.
    """
    here = out.ctypes.data

    def read(start: int) -> None:
        end = min(start + PIECE_BYTES, out.nbytes)
        while start < end:
            ours, theirs = _Range(here + start, end - start), _Range(address + start, end - start)
            count = _call()(process, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
            if count <= 0:
                raise _error(ctypes.get_errno())
            start += count

    starts = range(0, out.nbytes, PIECE_BYTES)
    if len(starts) <= 1:
        for start in starts:
            read(start)
        return
    with ThreadPoolExecutor(min(len(starts), len(os.sched_getaffinity(0)))) as threads:
        list(threads.map(read, starts))


def _error(number: int) -> Exception:
    text = os.strerror(number)
    return ReadRefused(text) if number in REFUSALS else OSError(number, text)
