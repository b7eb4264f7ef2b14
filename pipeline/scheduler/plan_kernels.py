"""What CUDA code a plan compiles, which is done before the stages that use it begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.kernels_ahead import SLOW, Kernel, Made, kernels_ahead
from gravel.stages.operations_ahead import operations_ahead

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment


def plan_kernels(plan: Plan, environment: RunEnvironment) -> tuple[Kernel, ...]:
    """Return what runs of gravel's own stages on a GPU here will load, each once.

    What takes longest comes first, the rest in the plan's order.
    """
    if environment.backend != "cuda" or any(device.fake for device in environment.devices):
        return ()
    found: list[Kernel] = []
    for made, run in zip(made_by(plan).values(), plan.runs.values(), strict=True):
        if run.stage.origin is None and environment.backend_of(run.stage) == "cuda":
            found += [*kernels_ahead(made), *operations_ahead(made)]
    each = {str(kernel): kernel for kernel in found}.values()
    return tuple(sorted(each, key=lambda kernel: kernel[0] not in SLOW))


def made_by(plan: Plan) -> dict[str, Made]:
    """Tell of each run, by key, what it makes and from what."""
    found: dict[str, Made] = {}
    for key, run in plan.runs.items():
        inputs = {slot: found[refs[0].run] for slot, refs in run.inputs.items() if refs}
        found[key] = Made(run.stage.name, run.parameters, inputs)
    return found
