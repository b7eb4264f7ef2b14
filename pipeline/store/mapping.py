"""A file of the cache in this process's memory: mapped, shared with all who map it, never written.

What may be cut while it is read is read by `read_at`: a page that is gone would end the process.
"""

from __future__ import annotations

import ctypes
import errno
import math
import mmap
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy

from gravel.pipeline.core.errors import NotEnoughMemory
from gravel.pipeline.store.layout import LEAF_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_local = threading.local()

_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def map_file(handle: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array that is the beginning of an open file, which may be closed after.

    Its pages cannot be written: to try ends the process. NumPy takes them for writable, so that a kernel that
    Numba has compiled for arrays in memory takes the array, too; `locked` is for those who are not known to
    read only. Raises `NotEnoughMemory`, and OSError for what else the system refuses.
    """
    return numpy.asarray(_Pages(handle, numpy.dtype(dtype), shape))


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that NumPy does not write to."""
    view = array.view()
    view.flags.writeable = False
    return view


class _Pages:
    """The pages of a file, as long as an array that lies in them is used.

    The module `mmap` keeps a descriptor for each, of which a process may have few.
    """

    is_file = True
    """For who pins memory: what is not written by others either."""

    def __init__(self, handle: int, dtype: numpy.dtype[Any], shape: tuple[int, ...]) -> None:
        size = dtype.itemsize * math.prod(shape)
        address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
        if address == _FAILED:
            number = ctypes.get_errno()
            if number == errno.ENOMEM:
                raise NotEnoughMemory(
                    f"the system maps no more memory: {size:,} bytes were asked for",
                    hint="raise the limit on address space (ulimit -v), or that of the system "
                    "(vm.max_map_count, vm.overcommit_memory)",
                )
            raise OSError(number, os.strerror(number))
        weakref.finalize(self, _libc.munmap, address, size)
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "typestr": dtype.newbyteorder("<").str,
            "shape": shape,
        }


def read_at(handle: int, view: memoryview, start: int) -> None:
    """Fill a view from a place of a file; raises ValueError where the file ends before."""
    if os.preadv(handle, [view], start) != len(view):
        raise ValueError("the file ends too early")


def leaf_buffer() -> memoryview:
    """Return memory of this thread for one piece: it stays in the core's cache."""
    buffer: memoryview | None = getattr(_local, "buffer", None)
    if buffer is None:
        buffer = _local.buffer = memoryview(bytearray(LEAF_BYTES))
    return buffer
