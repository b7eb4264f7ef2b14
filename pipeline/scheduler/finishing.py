"""After an interruption or a failure: results that are being written are waited for."""

from __future__ import annotations

import queue
from contextlib import suppress
from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.workers.protocol import Lost, Written

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.losses import Losses
    from gravel.pipeline.scheduler.results import Results
    from gravel.pipeline.scheduler.run_state import RunState
    from gravel.pipeline.workers.protocol import Cluster

TICK = 0.25
"""Seconds after which the screen is refreshed when nothing happens."""


def finish_writing(cluster: Cluster, state: RunState, results: Results, losses: Losses) -> None:
    """Wait until no result is being written, or the cluster is gone; what is not written then is lost."""
    residency, report = state.residency, state.report
    if residency.writes:
        size = format_bytes(sum(residency.unwritten_bytes()))
        report.emit("note", message=f"writing {size} of results; stop again to leave them")
    while residency.writes and cluster.lost() is None:
        with suppress(queue.Empty):
            match cluster.events.get(timeout=TICK):
                case Written() as event:
                    results.written(state.nodes[event.key], event)
                case Lost() as event:
                    losses.give_up(event.worker_slot)
        report.tick()
    for node in residency.unwritten():
        report.interrupted(node)
