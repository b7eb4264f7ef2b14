"""The CUDA kernels of a plan, which are compiled before the stages that use them begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.kernels_ahead import Kernel, kernels_ahead

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment


def plan_kernels(plan: Plan, environment: RunEnvironment) -> tuple[Kernel, ...]:
    """Return kernels that runs of gravel's own stages on a GPU here will load, in the plan's order."""
    if environment.backend != "cuda" or any(device.fake for device in environment.devices):
        return ()
    return tuple(
        kernel
        for run in plan.runs.values()
        if run.stage.origin is None and environment.backend_of(run.stage) == "cuda"
        for kernel in kernels_ahead(run.stage.name, run.parameters)
    )
