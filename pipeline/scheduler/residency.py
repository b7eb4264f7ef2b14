"""Which results stay in workers' memory, which leave it first, and which other processes can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import available_bytes, format_bytes
from gravel.pipeline.scheduler.node import RUNNING

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.pipeline.workers.protocol import Failure
    from gravel.stages.stage import Need

MIN_BYTES = 8 << 20
"""Results below this are written before their stage ends, which takes some milliseconds; several go to the
disk at once, and a page cache gives them back as fast as another worker's memory would."""


class Residency:
    """Results in workers' memory; those that are kept on disk, too, the oldest first.

    The worker that made a result has its arrays; every other process reads its files, once they are written.
    `unrecorded` are results that the cache could not take, by the keys of their runs. `budget` is how many
    bytes of results one host may have, of the `capacity` that stages and results may take; `is_local` says
    that workers run on this machine.
    """

    def __init__(self, budget: int, capacity: int, *, is_local: bool) -> None:
        self.budget = budget
        self._capacity = capacity
        self._is_local = is_local
        self._reported = False
        self.unrecorded: dict[str, Failure] = {}
        self._nodes: dict[str, Node] = {}
        self._unwritten: dict[str, tuple[Node, int]] = {}
        self._files: dict[str, tuple[Prepared, ...]] = {}
        self._names: dict[str, str] = {}

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
        if node.run.keep:
            self._nodes.pop(node.key, None)
            self._nodes[node.key] = node
        self._unwritten[node.key] = node, node.attempt.number

    def readable(self, node: Node, attempt: int, prepared: tuple[Prepared, ...]) -> None:
        """Take note that a result that is being written can be read from its files."""
        if self._is_waited_for(node, attempt):
            self._files[node.key] = prepared
            self._names.update(zip((each.record.id for each in prepared), node.ids or (), strict=True))

    def written(self, node: Node, attempt: int) -> bool:
        """Take note that a result was written, or cannot be; says whether it is one that is waited for."""
        if not self._is_waited_for(node, attempt):
            return False
        del self._unwritten[node.key]
        if node.run.keep:
            self._files.pop(node.key, None)  # its records are the cache's from now on
        return True

    def _is_waited_for(self, node: Node, attempt: int) -> bool:
        _, waited_for = self._unwritten.get(node.key, (None, None))
        return waited_for == attempt

    def forget(self, node: Node) -> bool:
        """A result is in memory no longer; says whether that was the only copy.

        The files of one that is not kept are removed.
        """
        self._nodes.pop(node.key, None)
        for output in () if node.run.keep else self._files.get(node.key, ()):
            output.drop()
        self._files.pop(node.key, None)
        return self._unwritten.pop(node.key, None) is not None

    def records(self, node: Node) -> dict[str, ArtifactRecord]:
        """Return the records of a result that lies in files but not in the cache, by its names in the run."""
        files = self._files.get(node.key, ())
        return {name: each.record for name, each in zip(node.ids or (), files, strict=bool(files))}

    def name_of(self, artifact_id: str) -> str:
        """Return the name in the run of what lies in files under an id: what is not kept has both."""
        return self._names.get(artifact_id, artifact_id)

    def is_readable(self, node: Node) -> bool:
        """Say whether every process can read a result, and not only the worker that has it in memory."""
        if node.resident_at is None or node.key in self._files:
            return True
        return node.run.keep and node.key not in self._unwritten and node.key not in self.unrecorded

    def is_unwritten(self, node: Node) -> bool:
        """Say whether a result is being written."""
        return node.key in self._unwritten

    @property
    def writes(self) -> bool:
        """Whether results are being written."""
        return bool(self._unwritten)

    def writes_beside(self, worker_slot: str) -> bool:
        """Say whether other worker slots than this one are writing results."""
        return any(node.resident_at != worker_slot for node, _ in self._unwritten.values())

    def unwritten(self) -> list[Node]:
        """Return the results that are being written for the cache."""
        return [node for node, _ in self._unwritten.values() if node.run.keep]

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
