"""Device memory that processes of one host hand to each other: by handle, without the host's memory between.

The owner copies an array into memory that can be named (CuPy's pool cuts its memory up, and a handle names
all of it); the other process opens that, copies it to its own GPU, and closes it. Between two GPUs the copy
takes the link between them, where they have one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

DEVICE_TO_DEVICE = 3
ANY_TO_ANY = 4
"""cudaMemcpyDefault: the runtime tells from the pointers where they lead."""


def export(array: Any) -> tuple[bytes, Callable[[], None]] | None:
    """Return a handle that another process opens, and what ends it; None if the device has no room."""
    import cupy

    runtime = cupy.cuda.runtime
    try:
        pointer = runtime.malloc(array.nbytes)
    except runtime.CUDARuntimeError:
        return None
    try:
        runtime.memcpy(pointer, array.data.ptr, array.nbytes, DEVICE_TO_DEVICE)
        runtime.deviceSynchronize()
        return bytes(runtime.ipcGetMemHandle(pointer)), partial(runtime.free, pointer)
    except runtime.CUDARuntimeError:
        runtime.free(pointer)
        return None


def bring(handle: bytes, shape: tuple[int, ...], dtype: Any) -> Any | None:
    """Return a copy of another process's array on this process's GPU; None if it has no room, or no way."""
    import cupy

    runtime = cupy.cuda.runtime
    try:
        array = cupy.empty(shape, dtype)
        pointer = runtime.ipcOpenMemHandle(handle, runtime.cudaIpcMemLazyEnablePeerAccess)
    except (runtime.CUDARuntimeError, MemoryError):
        return None
    try:
        runtime.memcpy(array.data.ptr, pointer, array.nbytes, ANY_TO_ANY)
        runtime.deviceSynchronize()
    finally:
        runtime.ipcCloseMemHandle(pointer)
    return array
