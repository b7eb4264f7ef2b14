"""What the driver asks of a cluster, and what a cluster answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.workers.failure import Failure
    from gravel.pipeline.workers.stage_task import StageOutcome, StageTask
    from gravel.stages.artifact import Json


@dataclass(frozen=True)
class WorkerSlot:
    """Somewhere a stage can run: a worker process, by a name that survives its restarts.

    `device` is the name of the worker's GPU (None without one) and `device_bytes` its memory; `cores` and
    `host_bytes` are those of its host, 0 for as many as here.
    """

    name: str
    host: str = ""
    device: str | None = None
    device_bytes: int = 0
    cores: int = 0
    host_bytes: int = 0


@dataclass(frozen=True)
class Began:
    """A stage run began in its worker slot, where it may have waited for somebody else's work."""

    key: str
    attempt: int


@dataclass(frozen=True)
class Finished:
    """A stage run came to an end, whichever."""

    key: str
    attempt: int
    outcome: StageOutcome


@dataclass(frozen=True)
class Readable:
    """A result that is in memory can be read from files, too, whether or not they are on the disk yet."""

    key: str
    attempt: int
    prepared: tuple[Prepared, ...]


@dataclass(frozen=True)
class Written:
    """A result that is in memory was written out, all but its record, or could not be."""

    key: str
    attempt: int
    prepared: tuple[Prepared, ...] = ()
    failure: Failure | None = None
    spans: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Lost:
    """The worker of a slot died."""

    worker_slot: str


@dataclass(frozen=True)
class Back:
    """Places that were replaced are ready again, or (with a reason) will not be."""

    worker_slots: tuple[str, ...]
    problem: str | None = None


@dataclass(frozen=True)
class Reported:
    """What a running stage reports of itself."""

    key: str


@dataclass(frozen=True)
class Progress(Reported):
    """How far a running stage is."""

    done: int
    total: int | None
    unit: str


@dataclass(frozen=True)
class Compiles(Reported):
    """A running stage compiles a kernel, for which it waits; None when that has ended."""

    kernel: str | None


ClusterEvent = Began | Finished | Readable | Written | Lost | Back | Reported


@dataclass
class Assignment:
    """Where a task runs: its own worker slot, and those reserved for its rank group (its own first)."""

    worker_slot: str
    rank_group: tuple[str, ...] = field(default_factory=tuple)


class Cluster(Protocol):
    """What the driver asks of a cluster; none of it blocks for long but `close`, and `submit` inline."""

    kind: str
    events: SimpleQueue[object]
    """`ClusterEvent`s from other threads, and whatever else the driver waits for."""
    warning: str | None
    """What the person at the keyboard should know of it, if anything."""

    @property
    def worker_slots(self) -> tuple[WorkerSlot, ...]:
        """Every worker slot, the order being that in which they are filled."""
        ...

    def describe(self) -> str:
        """Say in a few words what the cluster is."""
        ...

    def submit(self, tasks: Sequence[StageTask], where: Assignment) -> None:
        """Start stage runs, one after the other in the same slot.

        A `Finished` follows for each, unless it is cancelled or its worker slot is `Lost`. Only short ones
        may be several: their results come when the last one has ended.
        """
        ...

    def lost(self) -> str | None:
        """Say what became of the cluster if nothing can be asked of it any more."""
        ...

    def helpers(self, key: str) -> frozenset[str]:
        """Return the worker slots that work on items of a stage's `context.map` now."""
        ...

    def cancel(self, key: str) -> None:
        """Forget a stage run; what still runs of it ends when its worker slots are replaced."""
        ...

    def replace(self, worker_slots: Sequence[str]) -> None:
        """Start the workers of these worker slots anew; a `Back` follows."""
        ...

    def write_out(self, worker_slot: str, task: StageTask, resident: tuple[str, ...]) -> None:
        """Have results of a task that a worker slot has in memory written to files; `Readable` follows."""
        ...

    def release(self, worker_slot: str, resident: tuple[str, ...]) -> None:
        """Let go of results that are kept in memory in a worker slot."""
        ...

    def close(self, *, hurry: bool = False) -> None:
        """End every process that was started here; with `hurry` without waiting for running stages."""
        ...


KINDS = ("auto", "inline", "local", "cuda")


def is_address(text: str) -> bool:
    """Say whether a --cluster value names an existing cluster: an address or a scheduler file."""
    return "://" in text or text.endswith(".json")
