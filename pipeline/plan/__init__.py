"""From a workflow to stage runs, their recipes, what they need, and what will happen to each."""

from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.plan.model import InputRef, Plan, RunStatus, StageRun
from gravel.pipeline.plan.recipes import RecipeMaker, pseudo_ids
from gravel.pipeline.plan.sizes import held_inputs, plan_extents, stated_need
from gravel.pipeline.plan.status import plan_status

__all__ = [
    "InputRef",
    "Plan",
    "RecipeMaker",
    "RunStatus",
    "StageRun",
    "build_plan",
    "held_inputs",
    "plan_extents",
    "plan_status",
    "pseudo_ids",
    "stated_need",
]
