"""What every CUDA room shares: loading kernel files, sizing launches, timing them.

CuPy is imported by functions only. The text of kernels is in `.cu` files beside the Python that launches
them; `gravel.kernels.cuda.source` says how they are read and `python -m gravel.kernels.cuda.compile` compiles
them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.cuda.capability import too_old
from gravel.kernels.cuda.source import compiler_options, read_source

__all__ = ["blocks_for", "event_milliseconds", "load", "resident_blocks", "shared_bytes", "vertex_macro"]


def load(path: str, **macros: object) -> Any:
    """Compile a kernel file for the current device: a `cupy.RawModule`, made once per device and variant.

    Raises ValueError unless exactly the macros are given that the file declares.
    """
    import cupy

    return _load(cupy.cuda.Device().id, path, tuple(sorted(macros.items())))


@cache
def _load(device: int, path: str, macros: tuple[tuple[str, object], ...]) -> Any:
    import cupy

    major_minor = cupy.cuda.Device(device).compute_capability
    refusal = too_old("the GPU", (int(major_minor[:-1]), int(major_minor[-1])))
    if refusal is not None:
        raise RuntimeError(refusal)
    text = read_source(path)
    # CuPy launches all kernels of such a module cooperatively, and cuts grids that are not resident.
    cooperative = "grid_barrier(" in text
    module = cupy.RawModule(
        code=text, options=compiler_options(text, dict(macros)), enable_cooperative_groups=cooperative
    )
    with COMPILE_TIME.counted():
        module.compile()
    return module


def vertex_macro(dtype: Any) -> str:
    """Name, in kernel text, the type of a column index; raises ValueError for another dtype."""
    names = {"uint32": "u32", "uint64": "u64"}
    if str(dtype) not in names:
        raise ValueError(f"vertices are uint32 or uint64; found {dtype}")
    return names[str(dtype)]


def blocks_for(items: int, block: int, *, most: int = 1 << 20) -> int:
    """Blocks that give each item a thread, within `most` (kernels stride over the rest)."""
    return max(1, min(-(-items // block), most))


def shared_bytes() -> int:
    """Shared memory that one block may ask for on the current device."""
    import cupy

    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def resident_blocks(kernel: Any, block: int, shared: int = 0) -> int:
    """Blocks of a kernel that run at the same time on the whole device; a grid barrier needs no more."""
    import cupy
    from cupy_backends.cuda.api import driver

    per_processor = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, shared)
    return int(per_processor * cupy.cuda.Device().attributes["MultiProcessorCount"])


def event_milliseconds(work: Callable[[], None]) -> float:
    """Run `work` on the current stream and return its time on the device, by CUDA events."""
    import cupy

    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end))
