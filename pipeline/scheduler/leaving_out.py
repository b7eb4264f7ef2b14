"""Which results need not be written, since making them again is faster than reading them (`keep: auto`).

The driver decides all but the time, which only the worker knows when the stage has run: it gives the worker
`Terms`. A result that was left out before is left out again, whatever its time is now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.scheduler.node import NOT_RUN
from gravel.pipeline.store.disk import read_rate
from gravel.pipeline.store.not_written import NotWritten, Terms

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.run_state import RunState

NEVER = "never"
ALWAYS = "always"


class LeavingOut:
    """Decides for the stage runs of one run; `RunEnvironment.remake` fixes the decision."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def terms(self, node: Node) -> Terms | NotWritten | None:
        """Return when a result that stays in memory is not written; None if it is in any case."""
        if node.not_written is not None:
            return node.not_written
        if not self.is_able(node):
            return None
        rate = read_rate(self._state.cache.root)
        always = self._state.environment.remake == ALWAYS
        return Terms(rate, sum(_seconds_to_have(source, rate) for source in node.sources), always)

    def stays_though_small(self, node: Node) -> bool:
        """Say whether a result stays in memory whatever its size."""
        if node.not_written is not None:
            return self.has_room(node)
        return self._state.environment.remake == ALWAYS and self.is_able(node)

    def is_able(self, node: Node) -> bool:
        """Say whether a result may be left out if its times say so."""
        run, stage = node.run, node.run.stage
        return (
            self._state.environment.remake != NEVER
            and run.keep == "auto"
            and stage.origin is None
            and stage.deterministic
            and not stage.is_timed(node.parameters)
            and not stage.files(node.parameters)
            # What is not kept has no id that could be checked.
            and all(source.run.keep for source in node.sources)
            and node.is_read
            # The store behind a cache gets every result.
            and self._state.cache.remote is None
            and self.has_room(node)
        )

    def has_room(self, node: Node) -> bool:
        """Say whether each consumer fits beside all that it reads: what is left out cannot leave memory."""
        room, needs = self._state.placement.host_capacity, self._state.needs
        for consumer in node.consumers:
            if consumer.state == NOT_RUN:
                continue
            found = [needs.get(each.key) for each in (consumer, *consumer.sources)]
            known = [each for each in found if each is not None]
            if len(known) < len(found):
                return False
            inputs = sum(extent.bytes for each in known[1:] for extent in each.outputs)
            if known[0].host_bytes + inputs > room:
                return False
        return True


def _seconds_to_have(source: Node, rate: float) -> float:
    if source.not_written is not None:
        return source.not_written.seconds
    if source.resident_at is None:
        return 0.0  # it is read from the disk while the stage runs
    return sum(extent.bytes for extent in source.extents) / rate
