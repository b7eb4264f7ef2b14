"""What every CUDA room shares: loading kernel files, sizing launches, timing them.

CuPy is imported by functions only. The text of kernels is in `.cu` files beside the Python that launches
them; `gravel.kernels.cuda.source` says how they are read and `python -m gravel.kernels.cuda.compile` compiles
them all.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.cuda.capability import too_old
from gravel.kernels.cuda.source import compiler_options, read_source, waits_for_the_grid

__all__ = [
    "blocks_for",
    "event_milliseconds",
    "load",
    "load_ahead",
    "multiprocessors",
    "refuse_block",
    "resident_blocks",
    "run_over",
    "shared_bytes",
    "strided_blocks",
    "vertex_macro",
]


def load(path: str, **macros: object) -> Any:
    """Compile a kernel file for the current device: a `cupy.RawModule`, made once per device and variant.

    Raises ValueError unless exactly the macros are given that the file declares.
    """
    import cupy

    device = cupy.cuda.Device()
    key = _key(device.id, path, macros)
    module = _MODULES.get(key)
    if module is None:
        device.use()  # makes this thread's context, which is not compiling
        with COMPILE_TIME.counted_for(path.removeprefix("kernels/")):
            module = _compiled(key)
    return module


def load_ahead(path: str, macros: Mapping[str, object]) -> None:
    """Compile a kernel file for whoever `load`s it later, or waits for it by then; their time is not ours.

    Raises as `load` does.
    """
    import cupy

    _compiled(_key(cupy.cuda.Device().id, path, macros))


_COOPERATIVE_LAUNCH = 95
"""CUDA's `cudaDevAttrCooperativeLaunch`."""

_Key = tuple[int, str, tuple[tuple[str, str], ...]]

_MODULES: dict[_Key, Any] = {}
_LOCKS: defaultdict[_Key, threading.Lock] = defaultdict(threading.Lock)
_GUARD = threading.Lock()


def _key(device: int, path: str, macros: Mapping[str, object]) -> _Key:
    return device, path, tuple(sorted((name, str(value)) for name, value in macros.items()))


def _compiled(key: _Key) -> Any:
    """Return a module that one thread compiles while others wait for it."""
    import cupy

    with _GUARD:
        lock = _LOCKS[key]
    with lock:
        if key not in _MODULES:
            device, path, macros = key
            version = cupy.cuda.Device(device).compute_capability
            refusal = too_old("the GPU", (int(version[:-1]), int(version[-1])))
            if refusal is not None:
                raise RuntimeError(refusal)
            text = read_source(path, dict(macros))
            # CuPy launches all kernels of such a module cooperatively, and cuts grids that are not resident.
            cooperative = waits_for_the_grid(path)
            if cooperative and not cupy.cuda.runtime.deviceGetAttribute(_COOPERATIVE_LAUNCH, device):
                raise RuntimeError(
                    f"{path} needs blocks that run at the same time, and the GPU has no cooperative launch"
                )
            options = compiler_options(text, dict(macros))
            module = cupy.RawModule(code=text, options=options, enable_cooperative_groups=cooperative)
            module.compile()
            _MODULES[key] = module
        return _MODULES[key]


def vertex_macro(dtype: Any) -> str:
    """Name, in kernel text, the type of a column index; raises ValueError for another dtype."""
    names = {"uint32": "u32", "uint64": "u64"}
    if str(dtype) not in names:
        raise ValueError(f"vertices are uint32 or uint64; found {dtype}")
    return names[str(dtype)]


def blocks_for(items: int, block: int, *, most: int = 1 << 20) -> int:
    """Blocks that give each item a thread, within `most` (kernels stride over the rest)."""
    return max(1, min(-(-items // block), most))


def run_over(
    kernel: Any, items: int, *arguments: Any, block: int = 256, most: int = 1 << 20, shared: int = 0
) -> None:
    """Launch a kernel with a thread for each item, in at most so many blocks."""
    kernel((blocks_for(items, block, most=most),), (block,), arguments, shared_mem=shared)


def strided_blocks() -> int:
    """Blocks of 256 threads that fill every multiprocessor of the current device four times over.

    2,048 threads fill one from Volta on, and four times as many even out blocks that take longer. It is for
    kernels that stride over what is left.
    """
    return multiprocessors() * 8 * 4


def multiprocessors() -> int:
    """Multiprocessors of the current device."""
    import cupy

    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


def shared_bytes() -> int:
    """Shared memory that one block may ask for on the current device."""
    import cupy

    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def resident_blocks(kernel: Any, block: int, shared: int = 0) -> int:
    """Blocks of a kernel that run at the same time on the whole device; a grid barrier needs no more.

    Raises ValueError where not even one does.
    """
    import cupy
    from cupy_backends.cuda.api import driver

    cupy.cuda.Device().use()  # a thread has no context before its first call of the runtime
    per_processor = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, shared)
    if not per_processor:
        raise ValueError(
            f"no block of {block} threads with {shared} bytes of shared memory fits a multiprocessor: "
            f"this kernel takes at most {kernel.max_threads_per_block} threads, and a block at most "
            f"{shared_bytes()} bytes"
        )
    return int(per_processor) * multiprocessors()


def refuse_block(block: int, *, least: int = 32, most: int = 1024) -> None:
    """Raise ValueError for threads that are not whole warps, or fewer than `least` or more than `most`."""
    if block % 32 or not least <= block <= most:
        raise ValueError(f"block is {block}; it must be a multiple of 32 from {least} to {most}")


def event_milliseconds(work: Callable[[], None]) -> float:
    """Run `work` on the current stream and return its time on the device, by CUDA events."""
    import cupy

    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end))
