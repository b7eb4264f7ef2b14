"""Pinned host memory that a GPU reads over its link, and buffers that are filled before they are pinned.

Pages are taken and filled first and pinned after that by `cudaHostRegister`, which takes a fraction of the
time of `cudaHostAlloc` (docs/tuning.md). A system may refuse: `pin` then raises `PinnedRefused`, and the
caller goes on without.
"""

from __future__ import annotations

import contextlib
import mmap
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from gravel.kernels.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

PORTABLE, MAPPED, READ_ONLY = 1, 2, 8  # cudaHostRegisterPortable, -Mapped, -ReadOnly

PIECE_BYTES = 16 << 20
"""Bytes that a thread copies at once."""


LINE_BYTES = 128
"""Of the link: what a warp reads at once, if it begins at a multiple of as many."""

LEAST_IN_PLACE = 64 << 20
"""Bytes from which an array in memory is pinned where it is: from 32 MiB on, glibc gives an array pages of
its own. Pages that two arrays share cannot be pinned for both."""


class PinnedRefused(Exception):
    """The system does not pin this memory; the message says what it answered."""


class Host(Protocol):
    """What pins memory; the GPU's driver, or a stand-in in tests."""

    def register(self, address: int, size: int, *, read_only: bool = False) -> None:
        """Pin and map; raises `PinnedRefused`."""
        ...

    def unregister(self, address: int) -> None:
        """Undo it."""
        ...


class CudaHost:
    """The CUDA runtime."""

    def register(self, address: int, size: int, *, read_only: bool = False) -> None:
        """Pin for all devices, mapped at its own address; raises `PinnedRefused`."""
        import cupy

        flags = PORTABLE | MAPPED | (READ_ONLY if read_only else 0)
        try:
            cupy.cuda.runtime.hostRegister(address, size, flags)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise PinnedRefused(str(error)) from error

    def unregister(self, address: int) -> None:
        """Undo it."""
        import cupy

        cupy.cuda.runtime.hostUnregister(address)


class Pinned:
    """A NumPy array whose memory is pinned until nobody uses it any more."""

    def __init__(self, array: NDArray[Any], host: Host) -> None:
        self.array = array
        address = array.ctypes.data
        if array.nbytes:
            if lies_in_file(array):
                host.register(address, array.nbytes, read_only=True)
            else:
                host.register(address, array.nbytes)
            weakref.finalize(self, _release, host, address, array)

    def view(self) -> Any:
        """Return the memory as a CuPy array, which kernels read over the link; it keeps the memory pinned."""
        import cupy

        if not self.array.nbytes:
            return cupy.empty(self.array.shape, self.array.dtype)
        memory = cupy.cuda.UnownedMemory(
            self.array.ctypes.data, self.array.nbytes, self, device_id=cupy.cuda.Device().id
        )
        return cupy.ndarray(self.array.shape, self.array.dtype, cupy.cuda.MemoryPointer(memory, 0))


def _release(host: Host, address: int, array: NDArray[Any]) -> None:
    # The argument kept the pages until now: memory must not go while it is pinned.
    host.unregister(address)
    del array


def pin(array: NDArray[Any], host: Host | None = None) -> Pinned:
    """Pin the memory of an array where it is; raises `PinnedRefused`.

    The array must be contiguous and writable: the driver maps its pages for writing as well. One that lies in
    a file is pinned for reading, or copied where the system refuses that.
    """
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise PinnedRefused("the array is not contiguous and writable")
    try:
        return Pinned(array, host or CudaHost())
    except PinnedRefused:
        if not lies_in_file(array):
            raise
    copy = buffer(array.size, array.dtype)
    fill(copy, array.reshape(-1))
    return Pinned(copy.reshape(array.shape), host or CudaHost())


def lies_in_file(array: NDArray[Any]) -> bool:
    """Say whether an array is the mapped memory of a file, which cannot be written whatever NumPy says."""
    import numpy

    owner: Any = array
    while isinstance(owner, numpy.ndarray):
        owner = owner.base
    return bool(getattr(owner, "is_file", False))


def buffer(length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros on pages of their own, in huge pages where the system has them."""
    import numpy

    dtype = numpy.dtype(dtype)
    size = length * dtype.itemsize
    if not size:
        return numpy.empty(0, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # Fewer pages to pin, and to look up for every line that crosses the link.
        with contextlib.suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return numpy.frombuffer(pages, dtype)


def pinnable(length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros that can be pinned where they are, if they are large enough for that."""
    import numpy

    if length * numpy.dtype(dtype).itemsize >= LEAST_IN_PLACE:
        return buffer(length, dtype)
    return numpy.zeros(length, dtype)


def lines_begin(array: NDArray[Any]) -> bool:
    """Whether an array begins where a line of the link does.

    What a warp reads of an array that begins elsewhere lies in two lines, as in NumPy's large arrays, which
    begin 16 bytes after a page does (docs/tuning.md).
    """
    return bool(array.ctypes.data % LINE_BYTES == 0)


def fill(out: NDArray[Any], array: Any, first: int = 0) -> None:
    """Write `array[first : first + len(out)]` into `out`.

    A stored array is read straight into `out` (`read_into`); NumPy's are copied by several threads, since
    fresh pages cost more than the copy; others a piece at a time.
    """
    if hasattr(array, "read_into"):
        array.read_into(out, first)
        return
    if type(array).__module__.split(".")[0] == "cupy":
        array[first : first + len(out)].get(out=out)
        return
    import numpy

    step = max(1, PIECE_BYTES // max(1, out.itemsize))

    def copy(start: int) -> None:
        stop = min(start + step, len(out))
        out[start:stop] = array[first + start : first + stop]

    starts = range(0, len(out), step)
    if len(starts) > 1 and isinstance(array, numpy.ndarray):
        with ThreadPoolExecutor(min(len(starts), thread_count())) as threads:
            list(threads.map(copy, starts))
        return
    for start in starts:
        copy(start)
