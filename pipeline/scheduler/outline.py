"""What the record of a run says of its plan."""

from __future__ import annotations

from gravel.pipeline.plan.model import Plan
from gravel.pipeline.records.record import Outline
from gravel.pipeline.workflow.scalars import as_data
from gravel.stages.urls import hidden

__all__ = ["outline_of"]


def outline_of(plan: Plan) -> Outline:
    """Outline a plan."""
    workflow = plan.workflow
    return Outline(
        {
            "name": workflow.name,
            "about": workflow.about,
            "path": str(workflow.path),
            "file": str(workflow.path.absolute()),
            "parameters": hidden(as_data(dict(workflow.parameters), written=True)),
            "matrix": hidden({axis: list(values) for axis, values in workflow.matrix.items()}),
        },
        [
            {
                "key": key,
                "entry": run.entry,
                "stage": run.stage.name,
                "upstream": run.upstream,
                "coordinates": run.coordinates,
                **({} if run.not_run is None else {"state": "not run", "why": [run.not_run]}),
            }
            for key, run in plan.runs.items()
        ],
    )
