"""What will happen to every stage run, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.plan.model import Plan, RunStatus
from pipeline.plan.recipes import RecipeMaker
from stages.stage import Machine

if TYPE_CHECKING:
    from pipeline.store import Cache


def plan_status(
    plan: Plan, maker: RecipeMaker, cache: Cache, *, machine: Machine | None = None
) -> list[RunStatus]:
    """Tell the state of each run in the plan's order; with a machine also what it needs."""
    raise RuntimeError("being written")
