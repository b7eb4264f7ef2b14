"""What may be asked of a run, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.records.record import RUN

if TYPE_CHECKING:
    from gravel.pipeline.progress.events import Display
    from gravel.pipeline.records.record import RunRecord
    from gravel.pipeline.workers.settings import Tls
    from gravel.stages.artifact import Json

RETRIES = 2
"""How often a stage is tried again whose worker died or ran out of memory."""


@dataclass(frozen=True)
class RunOptions:
    """Everything about a run that does not change its results.

    `cluster` is auto, inline, local, cuda, a scheduler's address or a scheduler file; `backend` is auto,
    cpu or cuda; the memories are sizes such as `16GiB`, `resident_memory` that of results that stay in memory
    between stages, on each host; `workers` is the number of local workers; `tls` the certificates for an
    existing cluster that asks for them; with `trust_remote` recipes of others count whoever signed them;
    `profile` has each stage run say what its time went into; `began` is when the process was given its one
    command, in seconds since the epoch, if it was. `kind` is that of the run's record.
    """

    cache_root: Path
    cluster: str = "auto"
    backend: str = "auto"
    host_memory: str | None = None
    device_memory: str | None = None
    resident_memory: str | None = None
    workers: int | None = None
    fail_fast: bool = False
    retries: int = RETRIES
    display: Display | None = None
    tls: Tls | None = None
    trust_remote: bool = False
    profile: bool = False
    began: float | None = None
    kind: str = RUN

    def to_json(self) -> dict[str, Json]:
        """Return the options for the run's record."""
        return {
            "cluster": self.cluster,
            "backend": self.backend,
            "host_memory": self.host_memory,
            "device_memory": self.device_memory,
            "resident_memory": self.resident_memory,
            "workers": self.workers,
            "fail_fast": self.fail_fast,
            "retries": self.retries,
            "trust_remote": self.trust_remote,
            "profile": self.profile,
        }


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended: `state` is done, failed or interrupted; `record` is what run.json holds."""

    run: str
    state: str
    folder: Path
    source: RunRecord
    report: str | None = None

    @cached_property
    def record(self) -> dict[str, Json]:
        """The record as plain data."""
        return self.source.to_json()

    @property
    def exit_code(self) -> int:
        """0 done, 1 a stage failed, 130 interrupted."""
        return {"done": 0, "interrupted": 130}.get(self.state, 1)

    def outputs(self, key: str) -> tuple[str, ...]:
        """Return the output ids of a stage run."""
        return tuple(next(stage["outputs"] for stage in self.record["stages"] if stage["key"] == key))
