"""What of the machine an answer hangs on: measurements are known by the hardware, a plan tells the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.core.hardware import hardware

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.machine import RunEnvironment

__all__ = ["hardware_words", "memory_words"]


def hardware_words(environment: RunEnvironment) -> dict[str, object]:
    """Return the hardware by which measurements are known here."""
    gpus = hardware("cuda", devices=environment.devices) if environment.devices else None
    return {"backend": environment.backend, "cpu": hardware("cpu"), "gpus": gpus}


def memory_words(environment: RunEnvironment) -> dict[str, object]:
    """Return what stages state their needs for."""
    capacity = environment.capacity
    return {"memory": [capacity.host_bytes, capacity.device_bytes], "cores": environment.cores}
