"""What every part of the driver works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.nodes import Nodes
    from gravel.pipeline.scheduler.placement import Placement
    from gravel.pipeline.scheduler.reporting import RunReport
    from gravel.pipeline.scheduler.residency import Residency
    from gravel.pipeline.scheduler.resolving import Resolver
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.recipe_locks import RecipeLocks
    from gravel.pipeline.workers.protocol import Cluster
    from gravel.stages.artifact import Json
    from gravel.stages.stage import Need


@dataclass
class RunState:
    """One run under way.

    `facts` are those of the machine, `needs` what each stage run was expected to need before any of them ran.
    With `profile` stage runs say what their time went into. `cluster` is there once it has started.
    """

    plan: Plan
    nodes: Nodes
    placement: Placement
    residency: Residency
    resolver: Resolver
    cache: Cache
    locks: RecipeLocks
    environment: RunEnvironment
    report: RunReport
    facts: dict[str, Json] = field(default_factory=dict)
    needs: dict[str, Need] = field(default_factory=dict)
    profile: bool = False
    cluster: Cluster | None = None
