"""One run of a plan: what all of its parts work with, and whether it needs a driver at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.recipes import RecipeMaker
from gravel.pipeline.scheduler.cluster_start import LoadingHere
from gravel.pipeline.scheduler.data_sets import data_set_rows
from gravel.pipeline.scheduler.node import ENDED, NOT_RUN, WAITING, WANTED
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.placement import Placement
from gravel.pipeline.scheduler.residency import Residency
from gravel.pipeline.scheduler.resolver import Resolver
from gravel.pipeline.store.failures import ReadOnly
from gravel.pipeline.store.recipe_locks import RecipeLocks
from gravel.pipeline.workers.kinds import is_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.data_sets import Past
    from gravel.pipeline.scheduler.driver import Driver
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.options import RunOptions
    from gravel.pipeline.scheduler.run_events import RunEvents
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workers.protocol import Cluster
    from gravel.stages.artifact import Json


class Run:
    """The stage runs of a plan: looked up, and computed by a driver if some are not cached.

    `facts` are those of the machine. `cluster` is there once it has started. A run that finds everything
    imports no driver. `read_only` says why nothing can be computed: it is raised if something would have to
    be. `interrupted` says that somebody wants the run to stop.
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
        self.read_only: ReadOnly | None = None
        self.interrupted = False
        self._driver: Driver | None = None

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        self.interrupted = True
        if self._driver is not None:
            self._driver.wake()

    def carry_out(self) -> str:
        """Report each stage run; returns "done", "failed" or "interrupted"."""
        try:
            for node in self.nodes.in_state(NOT_RUN):
                self.events.not_run(node)
            with self.events.spans.take("look up"):
                self.resolver.resolve_ready()
            missing = self.nodes.in_state(WANTED, WAITING)
            if missing and self.read_only is not None:
                raise _not_served(self.read_only, missing)
            if missing and not self.interrupted:
                self._compute()
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            if self.digests.fetches is not None:
                self.events.fetched(self.digests.fetches)
                self.digests.fetches.stop()
        if self.interrupted and self.nodes.unfinished:
            for node in self.nodes:
                if node.state not in ENDED:
                    self.events.interrupted(node)
            return "interrupted"
        return "failed" if self.events.record.count("failed") else "done"

    def _compute(self) -> None:
        from gravel.pipeline.scheduler.driver import Driver

        self._driver = Driver(self)
        self._driver.drive()

    def data_sets(self, past: Past | None) -> list[dict[str, Json]]:
        """Sum up how each data set fared; `past` is what the last run had."""
        rows = data_set_rows(self.plan, self.events.record.stages, self.nodes.by_key, past)
        return [row.to_json() for row in rows]


def _not_served(why: ReadOnly, missing: Sequence[Node]) -> ReadOnly:
    """Return the refusal of a run that has something to compute and a cache that cannot be written."""
    named = ", ".join(node.key for node in missing[:3]) + (", ..." if len(missing) > 3 else "")
    problem = why.problems[0]
    return ReadOnly(f"{problem.message}, and {named} would have to be computed", hint=problem.hint)
