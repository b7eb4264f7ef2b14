"""What fits into this machine, asked before anything is allocated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.errors import NotEnoughMemory
from gravel.pipeline.core.hardware import core_count
from gravel.pipeline.core.memory import available_bytes, format_bytes, host_capacity, parse_bytes
from gravel.stages.sizes import Machine

if TYPE_CHECKING:
    from gravel.stages.sizes import Need


def this_machine(backend: str = "cpu", host_memory: str | int | None = None) -> Machine:
    """Return what may be used here: all cores, and the host memory that is given or that there is."""
    option = None if host_memory is None else str(host_memory)
    memory, _ = host_capacity(option)
    machine = Machine(backend="cpu", threads=core_count(), host_memory=memory)
    return on_gpu(machine) if backend == "cuda" else machine


def usable_backend() -> str:
    """Return where a graph is searched if nothing else is asked for: on a GPU if one can be used."""
    from importlib.util import find_spec

    from gravel.pipeline.core.hardware import find_devices

    devices = find_devices()
    usable = devices and not devices[0].fake and devices[0].refusal is None
    return "cuda" if usable and find_spec("cupy") else "cpu"


def on_gpu(machine: Machine) -> Machine:
    """Return the machine with the GPU that CuPy uses now, and what others leave of it to this process."""
    import cupy

    from gravel.kernels.cuda.room import MODULE_BYTES, usable_bytes

    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().total_bytes()
    return replace(machine, backend="cuda", device_memory=usable_bytes(int(free), MODULE_BYTES))


def free_host_bytes(machine: Machine, limited: bool) -> tuple[int, str]:
    """Return the bytes that may still be taken, and what limits them."""
    if limited:
        return machine.host_memory, "host_memory"
    there = available_bytes()
    return (
        (there, "what is free") if there < machine.host_memory else (machine.host_memory, host_capacity()[1])
    )


def refuse(what: str, needed: int, machine: Machine, host_memory: str | int | None, hint: str) -> None:
    """Raise `NotEnoughMemory`, with the numbers, where `what` takes more host memory than there is."""
    free, source = free_host_bytes(machine, host_memory is not None)
    if needed > free:
        raise NotEnoughMemory(
            f"{what} needs {format_bytes(needed)} of host memory; there are {format_bytes(free)} ({source}). "
            f"{hint}",
            hint=hint,
        )


def refuse_need(what: str, need: Need, machine: Machine, host_memory: str | int | None, hint: str) -> None:
    """Raise `NotEnoughMemory` where what a stage states does not fit."""
    if need.refusal:
        raise NotEnoughMemory(f"{what} does not fit: {need.refusal}")
    refuse(what, need.host_bytes, machine, host_memory, hint)
    refuse_device(what, need.device_bytes, machine)


def refuse_device(
    what: str, needed: int, machine: Machine, elsewhere: str = "place('pinned') or place('split')"
) -> None:
    """Raise `NotEnoughMemory`, with the numbers, where `what` takes more GPU memory than there is.

    `elsewhere` is how the graph can be placed instead.
    """
    if needed > machine.device_memory:
        raise NotEnoughMemory(
            f"{what} needs {format_bytes(needed)} of GPU memory; there are "
            f"{format_bytes(machine.device_memory)}. Keep the data on the host (backend='cpu'), or place the "
            f"graph with {elsewhere}"
        )


__all__ = [
    "free_host_bytes",
    "on_gpu",
    "parse_bytes",
    "refuse",
    "refuse_device",
    "refuse_need",
    "this_machine",
    "usable_backend",
]
