"""Memory and GPU of this machine, and the checks of what fits before anything is allocated."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

from gravel.errors import NotEnoughMemory
from gravel.pipeline.core import hardware
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.memory import available_bytes, format_bytes, host_capacity
from gravel.stages.sizes import Machine, Need


def this_machine(backend: str = "cpu", host_memory: str | int | None = None) -> Machine:
    """Return this machine: all cores, and the given host memory or all that there is."""
    option = None if host_memory is None else str(host_memory)
    memory, _ = host_capacity(option)
    machine = Machine(backend="cpu", threads=hardware.core_count(), host_memory=memory)
    return on_gpu(machine) if backend == "cuda" else machine


def usable_backend() -> str:
    """Return the default backend: "cuda" if a GPU can be used, else "cpu"."""
    return "cuda" if _refused_gpu() is None else "cpu"


def demand_gpu() -> None:
    """Raise `RequestError` where no GPU can be used."""
    reason = _refused_gpu()
    if reason is not None:
        raise RequestError(f"a GPU is asked for, and {reason}", hint="use backend='cpu', or place('host')")


def _refused_gpu() -> str | None:
    """Say why no GPU can be used; None where one can."""
    devices = hardware.find_devices()
    if not devices:
        return "this machine has none that can be used"
    if devices[0].refusal is None and (devices[0].fake or importlib.util.find_spec("cupy") is None):
        return "CuPy is not installed"
    return devices[0].refusal


def on_gpu(machine: Machine) -> Machine:
    """Return the machine with the current GPU of CuPy, and the memory of it that is free."""
    import cupy

    from gravel.kernels.cuda.room import MODULE_BYTES, usable_bytes

    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().total_bytes()
    return replace(machine, backend="cuda", device_memory=usable_bytes(int(free), MODULE_BYTES))


def free_host_bytes(machine: Machine, limited: bool) -> tuple[int, str]:
    """Return the host memory that is free in bytes, and the name of the limit."""
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
