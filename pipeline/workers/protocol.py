"""What the driver asks of a cluster, and what a cluster answers: stage runs travel, events come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import shown

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Json
    from gravel.stages.stage import Extent, Machine, Parameters, Stage


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
class StageTask:
    """A stage run with everything decided, ready to travel.

    `attempt` counts how often it was submitted. `inputs` holds artifact ids by slot; those that start with
    `recipe:` are of results that are not kept. `records` has the records of inputs that lie in files and are
    not published; what it lacks is in the cache, or in the worker's memory only. `host` is the driver's: who
    runs elsewhere brings its results to the disk itself. `rank_group` holds the addresses of the workers
    reserved for `context.rank_group`. `time_limit` (seconds) is kept by the driver, or by the cluster where
    stages run in the driver's process. `contents` has the digests of the files that the recipe names, by
    location. With `in_memory` the result stays in the worker's memory and is written behind it.
    `device_bytes` are what the stage states it needs of its GPU. `store` is the URL of the cache's store
    where the worker has a tier of its own, which then takes the place of `cache`.
    """

    key: str
    attempt: int
    run: str
    stage: Stage
    parameters: Parameters
    inputs: Mapping[str, tuple[str, ...]]
    recipe: str
    cache: Cache
    machine: Machine
    keep: bool
    scratch: Path
    log: Path | None
    records: Mapping[str, ArtifactRecord] = field(default_factory=dict)
    host: str = ""
    rank_group: tuple[str, ...] = ()
    time_limit: float | None = None
    contents: Mapping[str, str] = field(default_factory=dict)
    in_memory: bool = False
    on_device: bool = False
    profile: bool = False
    device_bytes: int = 0
    store: str | None = None


@dataclass(frozen=True)
class Failure:
    """Why a stage run has no result; `kind` is "stage" (the input's fault), "disk" or "bug"."""

    kind: str
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    vertices: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shown(self.message))
        object.__setattr__(self, "hint", None if self.hint is None else shown(self.hint))


@dataclass(frozen=True)
class StageOutcome:
    """What came of a stage run.

    `state` is "computed", "failed", "damaged" (input `artifact` could not be read; `failure` says why),
    "out_of_memory" or "lost" (a worker that it relied on died). Times are seconds since the epoch and
    seconds; peaks are bytes above the idle worker. `prepared` are outputs that the driver has to publish;
    with `behind` they follow in a `Written`. `spans` are those of its time;
    `compile_seconds` went by while kernels compiled, those of `compiled` anew. `remarks` are what the stage
    has to say of its result, and `parts` tells how many parts of it were cached.
    """

    key: str
    state: str
    outputs: tuple[str, ...] = ()
    extents: tuple[Extent, ...] = ()
    bytes: int = 0
    bytes_on_disk: int = 0
    started: float = 0.0
    seconds: float = 0.0
    peak_host_bytes: int = 0
    peak_device_bytes: int = 0
    artifact: str | None = None
    failure: Failure | None = None
    host: str = ""
    process: int = 0
    remarks: tuple[str, ...] = ()
    parts: str = ""
    prepared: tuple[Prepared, ...] = ()
    behind: bool = False
    spans: tuple[Json, ...] = ()
    compile_seconds: float = 0.0
    compiled: tuple[str, ...] = ()


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
class Logged:
    """A line for a stage's log, from a worker that does not see the log."""

    key: str
    message: str


@dataclass(frozen=True)
class Lost:
    """The worker of a slot died."""

    worker_slot: str


@dataclass(frozen=True)
class Back:
    """Worker slots that were replaced are ready again, or (with a reason) will not be."""

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


ClusterEvent = Began | Finished | Readable | Written | Logged | Lost | Back | Reported


@dataclass(frozen=True)
class Waiting:
    """Who waits for workers: `note` hears what for, `interrupted` says that nobody wants them any more."""

    note: Callable[[str], None] = lambda message: None
    interrupted: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class JobRequest:
    """How many jobs to submit, and how many a run needs to begin."""

    jobs: int
    least: int
    waiting: Waiting


@dataclass
class Assignment:
    """Where a task runs: its own worker slot, and those reserved for its rank group (its own first)."""

    worker_slot: str
    rank_group: tuple[str, ...] = ()


class Cluster:
    """What the driver asks of a cluster; none of it blocks for long but `close`, and `submit` inline.

    `worker_slots` are in the order in which they are filled, and `warning` is what the person at the keyboard
    should know of it, if anything. `store` is the URL of the cache's store where the workers have tiers of
    their own. `events` gets `ClusterEvent`s from other threads, and whatever else the
    driver waits for.
    """

    def __init__(self, kind: str, worker_slots: Sequence[WorkerSlot], warning: str | None = None) -> None:
        self.kind = kind
        self.worker_slots = tuple(worker_slots)
        self.warning = warning
        self.store: str | None = None
        self.events: SimpleQueue[object] = SimpleQueue()

    def describe(self) -> str:
        """Say in a few words what the cluster is."""
        raise NotImplementedError

    def submit(self, tasks: Sequence[StageTask], where: Assignment) -> None:
        """Start stage runs, one after the other in the same slot.

        A `Finished` follows for each, unless it is cancelled or its worker slot is `Lost`. Only short ones
        may be several: their results come when the last one has ended.
        """
        raise NotImplementedError

    def lost(self) -> str | None:
        """Say what became of the cluster if nothing can be asked of it any more."""
        return None

    def helpers(self, key: str) -> frozenset[str]:
        """Return the worker slots that work on items of a stage's `context.map` now, its own apart."""
        return frozenset()

    def cancel(self, key: str) -> None:
        """Forget a stage run; what still runs of it ends when its worker slots are replaced."""

    def replace(self, worker_slots: Sequence[str]) -> None:
        """Start the workers of these worker slots anew; a `Back` follows."""
        raise NotImplementedError

    def write_out(self, worker_slot: str, task: StageTask, resident: tuple[str, ...]) -> None:
        """Have results of a task that a worker slot has in memory written to files; `Readable` follows."""

    def release(self, worker_slot: str, resident: tuple[str, ...]) -> None:
        """Let go of results that are kept in memory in a worker slot."""
        raise NotImplementedError

    def close(self, *, hurry: bool = False) -> None:
        """End every process that was started here; with `hurry` without waiting for running stages."""
        raise NotImplementedError


SLURM = "slurm"

KINDS = ("auto", "inline", "local", "cuda", SLURM)


def is_address(text: str) -> bool:
    """Say whether a --cluster value names an existing cluster: an address or a scheduler file."""
    return "://" in text or text.endswith(".json")


def is_elsewhere(text: str) -> bool:
    """Say whether the workers of a --cluster value are on other machines than this one."""
    return is_address(text) or text == SLURM
