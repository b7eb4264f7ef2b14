"""Which results stay in workers' memory once they are made, and which leave it first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import available_bytes, format_bytes
from gravel.pipeline.scheduler.node import RUNNING

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.node import Node
    from gravel.stages.stage import Need

MIN_BYTES = 8 << 20
"""Results below this are written before their stage ends, which takes some milliseconds; several go to the
disk at once, and a page cache gives them back as fast as another worker's memory would."""


class Residency:
    """Results that are kept on disk and are in memory, too, the oldest first.

    `budget` is how many bytes of them one host may have, of the `capacity` that stages and results may take;
    `is_local` says that workers run on this machine.
    """

    def __init__(self, budget: int, capacity: int, *, is_local: bool) -> None:
        self.budget = budget
        self._capacity = capacity
        self._is_local = is_local
        self._reported = False
        self._nodes: dict[str, Node] = {}
        self._unwritten: dict[str, int] = {}

    def bytes_to_keep(self, node: Node, need: Need) -> int:
        """Return the bytes of a result that is to stay in memory, 0 for one that is written as it is made."""
        size = sum(extent.bytes for extent in need.outputs)
        if not node.run.keep or not MIN_BYTES <= size <= self.budget:
            return 0
        if need.host_bytes + size > self._capacity:
            return 0
        if node.losses:
            return 0  # it may be memory that it lacked
        # Another run, or another program, may have taken what this run counts on.
        return 0 if self._is_local and need.host_bytes + size > available_bytes() else size

    def why_written_first(self, node: Node, need: Need) -> str | None:
        """Say once that a result is larger than the budget, which somebody may have meant otherwise."""
        size = sum(extent.bytes for extent in need.outputs)
        if not node.run.keep or size <= max(self.budget, MIN_BYTES) or not self.budget or self._reported:
            return None
        self._reported = True
        return (
            f"the result of {node.key} ({format_bytes(size)}) is larger than what results may take of memory "
            f"({format_bytes(self.budget)}): it is written as it is made, and read back (--resident-memory)"
        )

    def add(self, node: Node) -> None:
        """Take note of a result that is in memory, and is being written."""
        self._nodes.pop(node.key, None)
        self._nodes[node.key] = node
        self._unwritten[node.key] = node.attempt.number

    def written(self, key: str, attempt: int) -> bool:
        """Take note that a result was written, or cannot be; says whether it is one that is waited for."""
        if self._unwritten.get(key) != attempt:
            return False
        del self._unwritten[key]
        return True

    def forget(self, node: Node) -> bool:
        """A result is in memory no longer; says whether that was the only copy."""
        self._nodes.pop(node.key, None)
        return self._unwritten.pop(node.key, None) is not None

    def is_unwritten(self, node: Node) -> bool:
        """Say whether memory has the only copy of a result."""
        return node.key in self._unwritten

    @property
    def writes(self) -> bool:
        """Whether results are being written."""
        return bool(self._unwritten)

    def writes_beside(self, worker_slot: str) -> bool:
        """Say whether other worker slots than this one are writing results."""
        return any(self._nodes[key].resident_at != worker_slot for key in self._unwritten)

    def unwritten(self) -> list[Node]:
        """Return the results of which memory has the only copy."""
        return [self._nodes[key] for key in self._unwritten]

    def unwritten_bytes(self) -> list[int]:
        """Return the sizes of the results of which memory has the only copy."""
        return [sum(extent.bytes for extent in node.extents) for node in self.unwritten()]

    def first_to_leave(self, reader: Node) -> Node | None:
        """Return the oldest result that can be read back, and that nobody reads now.

        What `reader` reads leaves last.
        """
        able = [
            node
            for node in self._nodes.values()
            if not self.is_unwritten(node) and all(each.state != RUNNING for each in node.consumers)
        ]
        others = [node for node in able if node not in reader.sources]
        return next(iter(others or able), None)
