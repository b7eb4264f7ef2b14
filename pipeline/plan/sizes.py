"""What each stage run will need, from cached results where there are some, else from estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.plan.recipes import PSEUDO
from gravel.pipeline.store.cache import Cache
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine, Need, Parameters, Stage


def plan_extents(
    plan: Plan,
    cache: Cache | None,
    machine: Machine | Callable[[Stage], Machine],
    known: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Need]:
    """Return each run's need by key.

    `known` holds the output ids of runs whose results exist; their true extents then stand in for
    estimates. A run whose need cannot be known (its input file cannot be read) is left out, and so is what
    rests on it.
    """
    needs: dict[str, Need] = {}
    outputs: dict[str, tuple[Extent, ...]] = {}
    for key, run in plan.runs.items():
        stored = _stored(cache, () if known is None else known.get(key, ()))
        if all(upstream in outputs for upstream in run.upstream):
            inputs = {
                slot: tuple(outputs[ref.run][ref.output] for ref in refs) for slot, refs in run.inputs.items()
            }
            there = machine if isinstance(machine, Machine) else machine(run.stage)
            try:
                needs[key] = stated_need(run, run.parameters, inputs, there)
            except (StageError, OSError):
                pass
            else:
                outputs[key] = needs[key].outputs
        if stored is not None:
            outputs[key] = stored
    return needs


def stated_need(
    run: StageRun, parameters: Parameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """Return what the stage states; with `keep: false` also its outputs, which stay in memory.

    Raises StageError for a stage that is not gravel's own and whose estimate fails.
    """
    try:
        need = run.stage.estimate(parameters, inputs, machine)
    except (StageError, OSError):
        raise
    except Exception as error:
        if run.stage.origin is None:
            raise
        message = f"the estimate of stage {run.stage.name} failed: {type(error).__name__}: {error}"
        raise StageError(message, hint=f"fix it in {run.stage.origin.place}") from error
    if run.keep:
        return need
    return replace(need, host_bytes=need.host_bytes + sum(extent.bytes for extent in need.outputs))


def resident_inputs(plan: Plan, needs: Mapping[str, Need]) -> dict[str, int]:
    """Count, by run, the bytes of inputs that are not kept: they are in memory beside what the run needs."""
    resident: dict[str, int] = {}
    for key, run in plan.runs.items():
        sources = [source for source in run.upstream if not plan.runs[source].keep and source in needs]
        size = sum(extent.bytes for source in sources for extent in needs[source].outputs)
        if size:
            resident[key] = size
    return resident


def _stored(cache: Cache | None, ids: tuple[str, ...]) -> tuple[Extent, ...] | None:
    if cache is None or not ids or any(each.startswith(PSEUDO) for each in ids):
        return None
    try:
        return tuple(cache.describe(each).extent for each in ids)
    except DamagedArtifact:
        return None
