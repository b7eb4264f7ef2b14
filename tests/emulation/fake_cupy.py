"""The part of CuPy that `gravel.kernels.partition.cuda` uses, on NumPy arrays and emulated kernels."""

from __future__ import annotations

import threading
import types
from typing import Any

import numpy

from tests.emulation.kernel_library import Launch, library

THREADS, BLOCKS = 64, 2
"""Of an emulated launch, whatever size was asked for: fibers are slow."""

_running: dict[int, list[Launch]] = {}


class _Current(threading.local):
    """The current devices of a thread, the innermost last."""

    def __init__(self) -> None:
        self.devices = [0]


_current = _Current()


class Pointer:
    def __init__(self, ptr: int, owner: Any = None) -> None:
        self.ptr, self.owner = ptr, owner

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.ptr + offset, self.owner)


class Array(numpy.ndarray):
    """A NumPy array whose `data` has a pointer, as CuPy's has."""

    @property
    def data(self) -> Pointer:  # type: ignore[override]
        return Pointer(self.ctypes.data, self)

    def get(self) -> numpy.ndarray:
        return numpy.array(self)

    def set(self, values: Any) -> None:
        self[...] = values


def _array(values: Any) -> Array:
    return numpy.ascontiguousarray(values).view(Array)


class Memory:
    def __init__(self, size: int) -> None:
        self._bytes = numpy.full(size + 256, 0xA5, numpy.uint8)
        self.ptr = -(-self._bytes.ctypes.data // 256) * 256

    def at(self, pointer: int, count: int, dtype: Any) -> Array:
        first = pointer - self._bytes.ctypes.data
        size = count * numpy.dtype(dtype).itemsize
        return self._bytes[first : first + size].view(dtype).view(Array)


class Device:
    def __init__(self, number: int | None = None) -> None:
        self.id = _current.devices[-1] if number is None else number
        self.attributes = {"MultiProcessorCount": BLOCKS}
        self.pci_bus_id = f"0000:{self.id:02x}:00.0"

    def __enter__(self) -> Device:
        _current.devices.append(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        _current.devices.pop()

    def synchronize(self) -> None:
        for launch in _running.pop(self.id, []):
            launch.wait()


class Event:
    def __init__(self) -> None:
        self._device = _current.devices[-1]

    def record(self) -> None:
        pass

    def synchronize(self) -> None:
        Device(self._device).synchronize()


class Kernel:
    def __init__(self, path: str, name: str, macros: dict[str, object]) -> None:
        self._library, self._name = library(path, tuple(sorted(macros.items()))), name

    def __call__(self, grid: Any, block: Any, arguments: Any) -> None:
        # Launches on a device follow one another.
        Device().synchronize()
        _running.setdefault(_current.devices[-1], []).append(
            Launch(self._library, BLOCKS, THREADS, tuple(arguments), self._name)
        )


def load(path: str, **macros: object) -> Any:
    """Stand for `gravel.kernels.cuda.load`."""
    return types.SimpleNamespace(get_function=lambda name: Kernel(path, name, macros))


def _filled(make: Any) -> Any:
    return lambda count, dtype: make(count, dtype).view(Array)


def _on_device(make: Any) -> Any:
    return lambda *given, **named: _array(make(*given, **named))


def module() -> types.ModuleType:
    """Make the module that stands for `cupy`."""
    fake: Any = types.ModuleType("cupy")
    fake.asarray = _array
    # What was never written must not look like zero.
    fake.empty = lambda count, dtype: _array(numpy.full(count, 0x5A5A5A5A, numpy.int64).astype(dtype))
    fake.zeros = _filled(numpy.zeros)
    fake.full = lambda count, value, dtype=None: _array(numpy.full(count, value, dtype))
    fake.ascontiguousarray = _array
    for name in ("int32", "int64", "uint32", "uint64"):
        setattr(fake, name, getattr(numpy, name))
    fake.packbits = lambda bits, bitorder: _array(numpy.packbits(bits, bitorder=bitorder))
    fake.unpackbits = lambda words, bitorder: _array(numpy.unpackbits(words, bitorder=bitorder))
    fake.flatnonzero = lambda values: _array(numpy.flatnonzero(values))
    fake.minimum, fake.where = numpy.minimum, numpy.where
    for name in ("arange", "argsort", "cumsum", "diff", "searchsorted"):
        setattr(fake, name, _on_device(getattr(numpy, name)))
    fake.add = numpy.add
    fake.empty_like = lambda array: fake.empty(len(array), array.dtype)
    fake.bincount = lambda values, minlength: _array(numpy.bincount(values, minlength=minlength))
    fake.get_default_memory_pool = lambda: types.SimpleNamespace(
        free_bytes=lambda: 0, total_bytes=lambda: 0, free_all_blocks=lambda: None
    )
    fake.ndarray = lambda shape, dtype, pointer: pointer.owner.at(pointer.ptr, shape[0], dtype)
    runtime = types.SimpleNamespace(
        deviceCanAccessPeer=lambda device, other: True,
        deviceGetByPCIBusId=lambda bus: int(bus.split(":")[1], 16),
        deviceEnablePeerAccess=lambda other: None,
        CUDARuntimeError=RuntimeError,
        cudaIpcMemLazyEnablePeerAccess=1,
        getDeviceProperties=lambda device: {"name": b"an emulated GPU"},
        memGetInfo=lambda: (1 << 40, 1 << 40),
        ipcGetMemHandle=lambda pointer: pointer.to_bytes(64, "little"),
        ipcOpenMemHandle=lambda handle, flags: int.from_bytes(handle, "little"),
        ipcCloseMemHandle=lambda pointer: None,
    )
    fake.cuda = types.SimpleNamespace(
        Device=Device,
        Event=Event,
        Memory=Memory,
        MemoryPointer=lambda memory, offset: Pointer(memory.ptr + offset, memory),
        get_elapsed_time=lambda start, end: 1.0,
        runtime=runtime,
    )
    return fake
