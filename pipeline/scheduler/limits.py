"""When a stage run, or the whole run, cannot go on: its time is up, or its cluster gone."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.scheduler.node import ENDED, RUNNING, Node
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.reporting import RunReport
from gravel.pipeline.workers.failure import Failure
from gravel.pipeline.workers.protocol import Cluster
from gravel.pipeline.workers.time_limit import overdue


def overdue_runs(
    nodes: Nodes, cluster: Cluster, report: RunReport
) -> Iterator[tuple[Node, frozenset[str], Failure]]:
    """Yield the runs whose time is up, the worker slots to replace for each, and what to say.

    A thread cannot be stopped, only its process replaced: the run's own, those of its rank group, and those
    that work on its items, unless another run is there.
    """
    now = time.monotonic()
    for node in nodes.in_state(RUNNING):
        limit = node.run.time_limit
        if limit is None or node.attempt.began is None or now - node.attempt.began < limit:
            continue
        others = [other for other in nodes.in_state(RUNNING) if other is not node]
        taken = {worker_slot for other in others for worker_slot in other.attempt.worker_slots}
        progress = report.record.stages[node.key].progress
        done = f" ({progress['done']:,} {progress['unit']} were done)" if progress else ""
        yield node, node.attempt.worker_slots | (cluster.helpers(node.key) - taken), overdue(limit, done)


def refuse_without(cluster: Cluster, nodes: Nodes, report: RunReport, cause: Exception | None = None) -> None:
    """Raise GravelError if the cluster is gone; what is complete is in the cache."""
    lost = cluster.lost()
    if lost is None:
        return
    for node in nodes:
        if node.state not in ENDED:
            report.interrupted(node)
    kept = report.record.count("computed") + report.record.count("cached")
    raise GravelError(
        f"{lost} in the middle of the run; {kept} of {len(nodes.by_key)} results are kept",
        hint="start the cluster again, then the same command: it goes on from there",
    ) from cause
