"""A stage run as it travels to a worker, and what comes back: plain data, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.workers.failure import Failure
from gravel.stages.stage import Extent, Machine, Parameters, Stage

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Json


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
    `device_bytes` are what the stage states it needs of its GPU.
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
