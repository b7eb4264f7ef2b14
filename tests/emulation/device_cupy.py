"""A CuPy on NumPy and emulated kernels whose arrays come from a counted pool, for whole stages.

`install` puts it in the place of CuPy before any module of gravel is imported. It counts what CuPy's own
functions take beside their results, too: `SORT_BYTES_PER_TILE` and the functions below say what that is.
"""

from __future__ import annotations

import ctypes
import sys
import types
import weakref
from functools import cache
from typing import Any, ClassVar

import numpy

from tests.emulation import grid_kernels
from tests.emulation.device_pool import DevicePool

POOL = DevicePool()

SORT_TILE = 5760
"""64-bit keys of a tile of CUB's radix sort on an H100."""

SORT_BYTES_PER_TILE = 1024
"""Counters of a tile: 256 words."""


LEFT_OUT = {"wake"}
"""Kernels that no result of a stage depends on, and that the host's compiler does not take."""

PAIRS = "struct alignas(16) longlong2 { long long x, y; };\n"

SAME_AS_NUMPY = (
    "abs all any arange bincount bitwise_or clip concatenate count_nonzero cumsum diff full maximum "
    "minimum ones packbits searchsorted unpackbits where zeros zeros_like"
)
"""Functions that take nothing beside their results."""


def sort_bytes(count: int, key: int, value: int = 0) -> int:
    """Bytes that Thrust's sort takes beside keys and values: a copy of both, and counters of its tiles."""
    tile = SORT_TILE * 8 // (key + value)
    return (key + value) * count + SORT_BYTES_PER_TILE * (count // tile + 1)


class _Pointer:
    """Where an array begins."""

    def __init__(self, array: Any) -> None:
        self.ptr = array.ctypes.data

    def copy_from_device_async(self, source: Any, size: int, stream: Any) -> None:
        ctypes.memmove(self.ptr, source.ptr, size)

    def memset_async(self, value: int, size: int, stream: Any) -> None:
        ctypes.memset(self.ptr, value, size)


class Array(numpy.ndarray):
    """A NumPy array whose memory is counted as long as any view of it lives."""

    def __new__(cls, shape: Any, dtype: Any = numpy.float64, memptr: Any = None, **_: Any) -> Array:
        if memptr is None:
            made = super().__new__(cls, shape, dtype)
            # What was never written must not look like zero.
            made.view(numpy.ndarray).reshape(-1).view(numpy.uint8).fill(0x5A)
            return made
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        whole = memptr.mem.owner.array.view(numpy.uint8).reshape(-1)[memptr.offset :]
        size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        return whole[:size].view(dtype).reshape(shape).view(cls)

    def __array_finalize__(self, made_from: Any) -> None:
        if self.flags.owndata and self.nbytes:
            weakref.finalize(self, POOL.give, POOL.take(self.nbytes)).atexit = False

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, out: Any = None, **named: Any) -> Any:
        # NumPy would wrap what it has allocated as an array of its own.
        if out is not None:
            named["out"] = tuple(map(_plain, out))
        found = getattr(ufunc, method)(*map(_plain, given), **named)
        if out is not None:
            return out[0] if len(out) == 1 else out
        return _passed(found)

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, numpy.ndarray) for each in keys):
            plain = tuple(map(_plain, keys))
            return _passed(self.view(numpy.ndarray)[plain if isinstance(key, tuple) else plain[0]])
        return super().__getitem__(key)

    @property
    def data(self) -> Any:  # type: ignore[override]
        return _Pointer(self)

    @property
    def device(self) -> Any:  # type: ignore[override]
        return Device()

    def get(self, stream: Any = None, out: Any = None, blocking: bool = True) -> numpy.ndarray:
        self._gather()
        if out is None:
            return numpy.array(self.view(numpy.ndarray))
        assert (out.shape, out.dtype) == (self.shape, self.dtype)
        out[...] = self
        return out  # type: ignore[no-any-return]

    def _gather(self) -> None:
        """Take what CuPy copies scattered elements to before it reads them in a row."""
        if not self.flags.c_contiguous:
            POOL.give(POOL.take(self.nbytes))

    def set(self, values: Any, stream: Any = None) -> None:
        self[...] = values

    def sort(self, *given: Any, **named: Any) -> None:
        block = POOL.take(sort_bytes(self.size, self.itemsize))
        self.view(numpy.ndarray).sort()
        POOL.give(block)

    def argsort(self, *given: Any, **named: Any) -> Any:
        return _argsort(self)

    def max(self, *given: Any, **named: Any) -> Any:
        self._gather()
        return self.view(numpy.ndarray).max(*given, **named)

    def nonzero(self) -> Any:
        return tuple(map(on_device, _counted_nonzero(self)))


Array.__module__ = "cupy"


def on_device(values: Any) -> Array:
    """Copy values to the emulated device."""
    given = numpy.asarray(values)
    made = numpy.ndarray.__new__(Array, given.shape, given.dtype)
    made[...] = given
    return made


def _plain(given: Any) -> Any:
    return given.view(numpy.ndarray) if isinstance(given, Array) else given


def _passed(found: Any) -> Any:
    """Have what NumPy made be the device's."""
    if isinstance(found, tuple):
        return tuple(map(_passed, found))
    return on_device(found) if type(found) is numpy.ndarray else found


def _asarray(values: Any, dtype: Any = None) -> Array:
    if isinstance(values, Array) and dtype in (None, values.dtype):
        return values
    return on_device(numpy.asarray(values, dtype))


def _argsort(values: Any, axis: int = -1, kind: Any = None) -> Array:
    """As CuPy's, which is stable: of a copy of the values, with their places."""
    copy = on_device(values.view(numpy.ndarray))
    places = Array(values.shape, numpy.int64)
    block = POOL.take(sort_bytes(values.size, values.itemsize, 8))
    places[...] = numpy.argsort(copy.view(numpy.ndarray), kind="stable")
    POOL.give(block)
    return places


def _unique(values: Any) -> Array:
    """As CuPy's: a sorted copy, marks of what differs from the one before, and the places of these."""
    copy = on_device(values.reshape(-1).view(numpy.ndarray))
    copy.sort()
    marks = Array(copy.shape, numpy.bool_)
    marks[...] = True
    marks[1:] = copy.view(numpy.ndarray)[1:] != copy.view(numpy.ndarray)[:-1]
    return copy[on_device(_counted_nonzero(marks)[0])]


def _counted_nonzero(values: Any) -> tuple[numpy.ndarray, ...]:
    """As CuPy's: which are not 0, their sums, and the places that come of them."""
    sizes = 0 if values.dtype == bool else values.size, 8 * values.size
    blocks = [POOL.take(size) for size in sizes if size]
    found = numpy.nonzero(values.view(numpy.ndarray))
    for block in blocks:
        POOL.give(block)
    return found


def _passed_on(function: Any) -> Any:
    return lambda *given, **named: _passed(function(*given, **named))


class RawModule:
    """A kernel file compiled for the CPU."""

    def __init__(self, code: str, options: Any = (), enable_cooperative_groups: bool = False) -> None:
        self._code = PAIRS + code if "longlong2" in code else code
        self._defined = tuple(each for each in options if each.startswith("-D"))

    def compile(self) -> None:
        pass

    def get_function(self, name: str) -> Any:
        if name in LEFT_OUT:
            return _Idle()
        return _Kernel(grid_kernels.compiled(self._code, self._defined), name)


class _Idle:
    """A kernel that does nothing."""

    kernel = types.SimpleNamespace(ptr=0)

    def __call__(self, *_: Any, **__: Any) -> None:
        pass


class _Kernel(grid_kernels.GridKernel):
    """A kernel with as many blocks and threads as it is asked for, a few blocks at a time."""

    max_threads_per_block = 256
    kernel = types.SimpleNamespace(ptr=0)

    def _launch(self, grid: Any, block: Any, pointers: Any) -> None:
        self._run(grid[0], block[0], pointers)


@cache
def _memory_kind() -> Any:
    return types.SimpleNamespace(type=2)


class Device:
    """The only one."""

    id = 0
    compute_capability = "90"
    attributes: ClassVar[dict[str, int]] = {
        "ClockRate": 1,
        "L2CacheSize": 50 << 20,
        "MultiProcessorCount": grid_kernels.BLOCKS,
        "MaxSharedMemoryPerBlockOptin": grid_kernels.SHARED_BYTES,
    }

    def __init__(self, number: int = 0) -> None:
        assert number == 0

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def use(self) -> None:
        pass


class Stream:
    """A stream that does at once what it is told."""

    ptr = 0

    def __init__(self, non_blocking: bool = False, priority: int | None = None) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def use(self) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass


Stream.null = Stream()  # type: ignore[attr-defined]


class Event:
    """An event that has always come."""

    done = True

    def __init__(self, disable_timing: bool = False, block: bool = False) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass


def _copied(to: int, source: int, size: int, kind: int, stream: int = 0) -> None:
    ctypes.memmove(to, source, size)


class _UnownedMemory:
    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = 0) -> None:
        self.ptr, self.owner = ptr, owner


class _MemoryPointer:
    def __init__(self, memory: Any, offset: int) -> None:
        self.mem, self.offset, self.ptr = memory, offset, memory.ptr + offset


class _PinnedMemory(bytearray):
    @property
    def ptr(self) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(self))


def module() -> types.ModuleType:
    """Make the module that stands for `cupy`."""
    fake: Any = types.ModuleType("cupy")
    fake.ndarray, fake.RawModule = Array, RawModule
    fake.empty = Array
    fake.asarray, fake.array = _asarray, lambda values, dtype=None: on_device(numpy.asarray(values, dtype))
    fake.ascontiguousarray = lambda values: values if values.flags.c_contiguous else on_device(values)
    fake.asnumpy = lambda values, out=None: (
        values.get() if isinstance(values, Array) else numpy.asarray(values)
    )
    fake.argsort, fake.unique = _argsort, _unique
    fake.flatnonzero = lambda values: on_device(_counted_nonzero(values.reshape(-1))[0])
    fake.empty_like = lambda values: Array(values.shape, values.dtype)
    for name in SAME_AS_NUMPY.split():
        fake.__dict__[name] = _passed_on(getattr(numpy, name))
    fake.add = numpy.add
    for name in ("int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "bool_"):
        fake.__dict__[name] = getattr(numpy, name)
    fake.get_default_memory_pool = lambda: POOL
    fake.get_default_pinned_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)
    runtime = types.SimpleNamespace(
        CUDARuntimeError=RuntimeError,
        deviceGetAttribute=lambda attribute, device: 1,
        getDeviceProperties=lambda device: {"name": b"an emulated GPU"},
        hostRegister=lambda address, size, flags: None,
        hostUnregister=lambda address: None,
        memGetInfo=lambda: ((1 << 36) - POOL.total_bytes(), 1 << 36),
        memcpyAsync=_copied,
        memcpyDeviceToHost=2,
        memoryTypeHost=1,
        pointerGetAttributes=lambda address: _memory_kind(),
    )
    fake.cuda = types.SimpleNamespace(
        Device=Device,
        Event=Event,
        MemoryPointer=_MemoryPointer,
        Stream=Stream,
        UnownedMemory=_UnownedMemory,
        alloc_pinned_memory=lambda size: _PinnedMemory(size),
        get_current_stream=lambda: Stream.null,  # type: ignore[attr-defined]
        get_elapsed_time=lambda start, end: 1.0,
        is_available=lambda: True,
        runtime=runtime,
    )
    return fake  # type: ignore[no-any-return]


def install() -> None:
    """Let modules of gravel that are imported from now on find this CuPy."""
    import zarr  # noqa: F401  (which looks for CuPy when it is imported)

    sys.modules["cupy"] = module()
    driver = types.SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 1)
    for name in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.api"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["cupy_backends.cuda.api"].driver = driver  # type: ignore[attr-defined]
    from gravel.kernels import cuda

    # Kernels stride over the rest.
    cuda.blocks_for = lambda items, block, *, most=1 << 20: min(grid_kernels.BLOCKS, max(1, items))
