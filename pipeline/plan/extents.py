"""What each stage run will need, from cached results where there are some, else from estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.plan.model import Plan
from stages.stage import Machine, Need

if TYPE_CHECKING:
    from pipeline.store import Cache


def plan_extents(
    plan: Plan, cache: Cache | None, machine: Machine, known: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, Need]:
    """Return each run's need by key; `known` holds the output ids of the runs whose results exist."""
    raise RuntimeError("being written")
