"""A CuPy whose arrays refuse what CuPy's refuse: whatever reads them on the host has to ask for a copy.

NumPy takes any subclass of its arrays as its own, unasked. These are none: they hold one. Tests may read them
as they are.
"""

from __future__ import annotations

import ctypes
import importlib
import pkgutil
import sys
import types
import weakref
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

import gravel.kernels
from gravel.kernels.layouts import EncodedRows, encode
from tests.emulation import grid_kernels

REFUSAL = "Implicit conversion to a NumPy array is not allowed. Please use `.get()`"
"""What CuPy says."""

LIKE_NUMPY = (
    *("add", "arange", "argsort", "bincount", "bitwise_or", "clip", "concatenate", "count_nonzero", "cumsum"),
    *("diff", "flatnonzero", "full", "maximum", "minimum", "ones", "packbits", "repeat", "sort", "unique"),
    *("unpackbits", "where", "zeros", "zeros_like"),
)
MADE_OF_ANYTHING = ("array", "asarray", "ascontiguousarray")
_NUMPY = str(Path(numpy.__file__).parent)
_TESTS = str(Path(__file__).parents[1])
TYPES = ("bool_", "float64", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Pointer:
    """An address of device memory, with who keeps it."""

    def __init__(self, ptr: int, owner: Any) -> None:
        self.ptr, self.owner = ptr, owner
        self.mem = owner

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.ptr + offset, self.owner)


class Array(NDArrayOperatorsMixin):
    """An array on the device; only `get`, `item` and `tolist` and whole numbers of one element leave it."""

    def __init__(self, values: numpy.ndarray) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if not _asked_by_a_test():
            raise TypeError(REFUSAL)
        return numpy.array(self._values, dtype)

    def __array_ufunc__(self, function: Any, method: str, *given: Any, **named: Any) -> Any:
        return _called(getattr(function, method), given, named)

    def __array_function__(self, function: Any, kinds: Any, given: Any, named: Any) -> Any:
        own = all(kind is Array for kind in kinds) or _asked_by_a_test()
        return _called(function, given, named) if own else NotImplemented

    def __getattr__(self, name: str) -> Any:
        """Pass on what an array is and does; results stay on the device."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._values, name)
        if name == "base":
            return None if found is None else _wrapped(found)
        return (lambda *given, **named: _called(found, given, named)) if callable(found) else _wrapped(found)

    @property
    def data(self) -> Pointer:
        return Pointer(self._values.ctypes.data, self)

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        if out is None:
            return numpy.array(self._values)
        assert type(out) is not Array
        assert (out.shape, out.dtype) == (self.shape, self.dtype)
        out[...] = self._values
        return out

    def set(self, values: Any, stream: Any = None) -> None:
        assert isinstance(values, numpy.ndarray)
        assert (values.shape, values.dtype) == (self.shape, self.dtype)
        self._values[...] = values

    def item(self) -> Any:
        return self._values.item()

    def tolist(self) -> Any:
        return self._values.tolist()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Any:
        return map(_wrapped, self._values)

    def __getitem__(self, key: Any) -> Any:
        found = self._values[_key(key)]
        return Array(found if isinstance(found, numpy.ndarray) else numpy.array(found))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_key(key)] = _unwrapped(value)

    def __int__(self) -> int:
        return int(self._values)

    def __index__(self) -> int:
        return self._values.item().__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __repr__(self) -> str:
        return f"on the device: {self._values!r}"


Array.__name__, Array.__module__ = "ndarray", "cupy"


def _asked_by_a_test() -> bool:
    """Whether a test reads an array itself, or through NumPy's functions for tests."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(_NUMPY)
    ):
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(_TESTS)


def _wrapped(found: Any) -> Any:
    if isinstance(found, tuple) and any(isinstance(each, numpy.ndarray) for each in found):
        return tuple(map(_wrapped, found))
    # Also numbers: a sum is an array of no dimension, on the device.
    return Array(numpy.asarray(found)) if isinstance(found, numpy.ndarray | numpy.generic) else found


def _unwrapped(given: Any) -> Any:
    if isinstance(given, Array):
        return given._values
    if isinstance(given, tuple | list):
        return type(given)(map(_unwrapped, given))
    if isinstance(given, numpy.ndarray) and given.ndim and not _asked_by_a_test():
        raise TypeError(f"Unsupported type {type(given)}")
    return given


def _key(key: Any) -> Any:
    """Indices may be of NumPy: CuPy uploads those."""
    if isinstance(key, tuple):
        return tuple(map(_key, key))
    return key._values if isinstance(key, Array) else key


def _called(function: Any, given: Any, named: Any) -> Any:
    return _wrapped(function(*_unwrapped(given), **{name: _unwrapped(each) for name, each in named.items()}))


def _passed_on(function: Any) -> Any:
    return lambda *given, **named: _called(function, given, named)


def _made(name: str) -> Any:
    def make(values: Any, *given: Any, **named: Any) -> Array:
        if isinstance(values, Array):
            if name == "asarray" and not given and not named:
                return values
            values = values._values
        return Array(numpy.array(values, *given, **named))

    return make


def on_device(values: Any) -> Array:
    """Upload."""
    return Array(numpy.array(values))


def encoded(layout: str, rows: Any, *, on_host: bool = False) -> EncodedRows:
    """Encode rows, and upload them; a stream may stay on the host as it is stored, without padding."""
    made = encode(layout, *rows)
    arrays = {name: on_device(array) for name, array in made.arrays.items()}
    if on_host:
        arrays["stream"] = made.arrays["stream"][: int(made.arrays["byte_offsets"][-1])]
    return replace(made, arrays=arrays)


def held(one: Any, *given: Array) -> int:
    """Count the bytes of an object's arrays, lists of them too, without those that it was given."""
    attributes = (each if isinstance(each, list) else [each] for each in vars(one).values())
    arrays = [each for listed in attributes for each in listed if isinstance(each, Array)]
    of_others = {each.data.ptr for each in given}
    return sum(int(each.nbytes) for each in arrays if each.data.ptr not in of_others)


def _empty(shape: Any, dtype: Any = numpy.float64) -> Array:
    # What was never written must not look like zero.
    return Array(numpy.full(shape, 0x5A5A5A5A, numpy.int64).astype(dtype))


def _asnumpy(values: Any, stream: Any = None, out: Any = None) -> Any:
    return values.get(out=out) if isinstance(values, Array) else numpy.asarray(values)


def _searchsorted(ascending: Any, values: Any, side: str = "left") -> Array:
    # CuPy's takes arrays alone.
    assert isinstance(values, Array)
    return _called(numpy.searchsorted, (ascending, values), {"side": side})  # type: ignore[no-any-return]


def module() -> types.ModuleType:
    """Make the module that stands for `cupy`; streams do at once what they are told."""
    fake: Any = types.ModuleType("cupy")
    fake.ndarray = Array
    fake.asnumpy, fake.searchsorted, fake.empty = _asnumpy, _searchsorted, _empty
    fake.empty_like = lambda array: _empty(array.shape, array.dtype)
    for name in LIKE_NUMPY:
        if not hasattr(fake, name):
            setattr(fake, name, _passed_on(getattr(numpy, name)))
    for name in MADE_OF_ANYTHING:
        setattr(fake, name, _made(name))
    for name in TYPES:
        setattr(fake, name, getattr(numpy, name))
    attributes = {"ClockRate": 1, "MultiProcessorCount": grid_kernels.BLOCKS, "L2CacheSize": 1 << 20}
    device = types.SimpleNamespace(id=0, synchronize=lambda: None, attributes=attributes)
    stream = types.SimpleNamespace(ptr=0, wait_event=lambda event: None, synchronize=lambda: None)
    event = types.SimpleNamespace(record=lambda stream=None: None, synchronize=lambda: None)
    pool = types.SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=lambda: None, total_bytes=lambda: 0)
    fake.get_default_memory_pool = lambda: pool
    fake.cuda = types.SimpleNamespace(
        Device=lambda *_: device,
        Stream=lambda **_: stream,
        Event=lambda **_: event,
        get_current_stream=lambda: stream,
        get_elapsed_time=lambda start, end: 1.0,
        alloc_pinned_memory=lambda size: numpy.zeros(size, numpy.uint8).view(_PinnedMemory),
        runtime=types.SimpleNamespace(
            memGetInfo=lambda: (1 << 30, 1 << 30),
            memcpyAsync=_copy,
            memcpyDeviceToHost=2,
            memoryTypeHost=1,
            pointerGetAttributes=lambda address: types.SimpleNamespace(type=1 if address in PINNED else 2),
        ),
    )
    return fake


class _PinnedMemory(numpy.ndarray):
    """Pinned host memory, with its address."""

    @property
    def ptr(self) -> int:
        return int(self.ctypes.data)


def _copy(target: int, source: int, size: int, *_: Any) -> None:
    ctypes.memmove(target, source, size)


PINNED: set[int] = set()
"""Where pinned memory begins."""


class Pinned:
    """Stands for `gravel.kernels.placement.pinned.Pinned`."""

    def __init__(self, array: Any, host: Any = None) -> None:
        self.array = array
        PINNED.add(array.ctypes.data)
        weakref.finalize(self, PINNED.discard, array.ctypes.data)

    def view(self) -> Array:
        seen = Array(self.array)
        seen.keeps = self
        return seen


class Packed:
    """Stands for `gravel.kernels.papers.flexbfs.flex.PackedKernel`."""

    def __init__(self, kernel: Any, arguments: Any, changing: int, *, cooperative: bool) -> None:
        self._kernel, self._arguments, self._changing = kernel, tuple(arguments), changing

    def launch(self, blocks: int, block: int, numbers: Any) -> None:
        assert len(numbers) == self._changing
        self._kernel((blocks,), (block,), (*self._arguments, *numbers))


class Kernel(grid_kernels.GridKernel):
    """A kernel, which takes device memory and numbers alone."""

    def __call__(self, grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
        for each in arguments:
            assert not isinstance(each, numpy.ndarray) or _asked_by_a_test(), "a kernel was given host memory"
        super().__call__(grid, block, arguments, shared_mem)


def load(path: str, **macros: object) -> Any:
    """Stand for `gravel.kernels.cuda.load`."""
    loaded = grid_kernels._compiled(path, tuple(sorted(macros.items())))
    return types.SimpleNamespace(get_function=lambda name: Kernel(loaded, name))


STANDING_IN = {
    "load": load,
    "resident_blocks": lambda *_: grid_kernels.BLOCKS,
    "event_milliseconds": lambda work: work() or 1.0,
    "shared_bytes": lambda: grid_kernels.SHARED_BYTES,
    "PackedKernel": Packed,
    "pin": Pinned,
}
"""What kernels' launchers ask the device for, by the names that they import."""


@cache
def _launchers() -> list[tuple[types.ModuleType, str]]:
    """Find all modules of kernels for a GPU that have such a name."""
    found = []
    for each in pkgutil.walk_packages(gravel.kernels.__path__, "gravel.kernels."):
        if any(part in each.name for part in ("cuda", "placement", "layouts", "papers")):
            launcher = importlib.import_module(each.name)
            found += [(launcher, name) for name in STANDING_IN.keys() & vars(launcher).keys()]
    return found


def install(patch: pytest.MonkeyPatch) -> None:
    """Let all that runs on one GPU run on CPU threads, whichever module launches it."""
    patch.setitem(sys.modules, "cupy", module())
    for launcher, name in _launchers():
        patch.setattr(launcher, name, STANDING_IN[name])
    patch.setattr("gravel.memory.demand_gpu", lambda: None)
    patch.setattr("gravel.kernels.cuda.wake.wake", lambda *_: None)
    # Its kernel has a macro for the threads of a block.
    patch.setattr("gravel.kernels.components.cuda.afforest_rows.BLOCK", grid_kernels.THREADS)
