"""One run of a plan: what all of its parts work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.recipes import RecipeMaker
from gravel.pipeline.scheduler.cluster_start import LoadingHere
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.placement import Placement
from gravel.pipeline.scheduler.residency import Residency
from gravel.pipeline.scheduler.resolver import Resolver
from gravel.pipeline.store.leases import RecipeLocks
from gravel.pipeline.workers.protocol import is_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.options import RunOptions
    from gravel.pipeline.scheduler.run_events import RunEvents
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workers.protocol import Cluster
    from gravel.stages.artifact import Json


class Run:
    """One run under way.

    `facts` are those of the machine. `cluster` is there once it has started. `interrupted` says that somebody
    wants the run to stop, and `wake` has whoever waits for something notice.
    """

    def __init__(
        self,
        plan: Plan,
        cache: Cache,
        environment: RunEnvironment,
        options: RunOptions,
        events: RunEvents,
        facts: dict[str, Json],
    ) -> None:
        self.plan, self.cache, self.environment = plan, cache, environment
        self.options, self.events, self.facts = options, events, facts
        self.loading = LoadingHere(environment, plan, events.spans)
        self.digests = FileDigests(cache.root, fetch=True, on_new=self.loading.expect_work)
        self.nodes = Nodes(plan)
        maker = RecipeMaker(plan, cache, self.digests, environment.hardware_of)
        self.resolver = Resolver(self.nodes, maker, cache, events)
        self.locks = RecipeLocks(cache.root, events.record.run)
        self.placement = Placement(environment, self.nodes)
        self.residency = Residency(
            environment.resident_bytes,
            environment.capacity.host_bytes,
            is_local=not is_address(environment.cluster),
        )
        self.cluster: Cluster | None = None
        self.interrupted = False
        self.wake: Callable[[], None] = lambda: None

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        self.interrupted = True
        self.wake()
