"""The CUDA kernels of a plan, which are compiled before the stages that use them begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.cupy_ahead import PREFIX
from gravel.stages.kernel_variants import Kernel
from gravel.stages.kernels_ahead import kernels_ahead

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan, StageRun
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.stages.stage import Parameters


def plan_kernels(plan: Plan, environment: RunEnvironment) -> tuple[Kernel, ...]:
    """Return kernels that runs of gravel's own stages on a GPU here will load, in the plan's order.

    Those that searches load take longest to compile, and come first; operations of CuPy's come last.
    """
    if environment.backend != "cuda" or any(device.fake for device in environment.devices):
        return ()
    runs = [
        run
        for run in plan.runs.values()
        if run.stage.origin is None and environment.backend_of(run.stage) == "cuda"
    ]
    runs.sort(key=lambda run: run.stage.name != "traverse")
    kernels = [
        kernel
        for run in runs
        for kernel in kernels_ahead(run.stage.name, run.parameters, _made_by(plan, run))
    ]
    return tuple(sorted(kernels, key=lambda kernel: kernel[0].startswith(PREFIX)))


def _made_by(plan: Plan, run: StageRun) -> list[tuple[str, Parameters]]:
    """List what made the first input, and the first input of that, and so on."""
    found = []
    given = next(iter(run.inputs.values()), ())
    if run.stage.name == "verify":
        given = run.inputs["traversal"]
    while given:
        made = plan.runs[given[0].run]
        found.append((made.stage.name, made.parameters))
        given = next(iter(made.inputs.values()), ())
    return found
