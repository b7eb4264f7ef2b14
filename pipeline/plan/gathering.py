"""What gathers data sets goes on without those that failed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gravel.pipeline.plan.model import StageRun


def without(run: StageRun, lost: Collection[str]) -> StageRun | None:
    """Return a run that gathers, without what it reads of lost runs; None if it cannot be without.

    Only slots that take several inputs can do with fewer, and none of them with nothing. Labels that name
    the inputs in order lose those of the lost ones.
    """
    inputs = {}
    for slot, refs in run.inputs.items():
        left = tuple(ref for ref in refs if ref.run not in lost)
        if len(left) < len(refs) and (not left or not run.stage.inputs[slot].many):
            return None
        inputs[slot] = left
    labels = getattr(run.parameters, "labels", None)
    every = [ref.run for slot, refs in run.inputs.items() if run.stage.inputs[slot].many for ref in refs]
    parameters = run.parameters
    if labels and tuple(labels) == tuple(every):
        kept = tuple(label for label in labels if label not in lost)
        parameters = parameters.model_copy(update={"labels": kept})
    return replace(run, inputs=inputs, parameters=parameters)
