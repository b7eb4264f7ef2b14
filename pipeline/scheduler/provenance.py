"""Who made a result, from what, when and where: kept beside the recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.scheduler.node import Node
from gravel.stages.artifact import Json

if TYPE_CHECKING:
    from gravel.pipeline.workers.stage_task import StageOutcome
    from gravel.pipeline.workflow.model import Workflow


def provenance(
    node: Node, outcome: StageOutcome, *, run: str, workflow: Workflow, facts: dict[str, Json], hardware: str
) -> dict[str, Json]:
    """Return the provenance of a computed stage run; `facts` are those of `machine_facts`."""
    recipe = node.recipe
    assert recipe is not None
    need = node.need
    remarks = {"remarks": list(outcome.remarks)} if outcome.remarks else {}
    return {
        "stage": node.run.stage.name,
        "key": node.key,
        "workflow": workflow.name,
        "file": str(workflow.path.absolute()),
        "run": run,
        "recipe": recipe.digest,
        "inputs": recipe.parts["inputs"],
        "started": outcome.started,
        "seconds": outcome.seconds,
        "host": outcome.host,
        "user": facts["user"],
        "hardware": hardware,
        "versions": facts["versions"],
        "peak_host_bytes": outcome.peak_host_bytes,
        "peak_device_bytes": outcome.peak_device_bytes,
        "need": None if need is None else {"host": need.host_bytes, "device": need.device_bytes},
        **remarks,
    }
