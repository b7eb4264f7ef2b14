"""The jobs of a cache on disk: who changes what, and how it stays whole when the power goes.

Every file is written aside, flushed and then renamed or linked into place. What is read and then written
(`state.json`) is so under the job's lock; see `gravel.pipeline.schedule` for the files.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import config_folder, make_config_folder, written_aside
from gravel.pipeline.core.names import suggest
from gravel.pipeline.records.hooks import EVENTS, Event
from gravel.pipeline.schedule.job import DueTime, Job, Moment, Record
from gravel.pipeline.schedule.policy import State
from gravel.pipeline.schedule.times import iso
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.folder import LEASES, SCHEDULES
from gravel.pipeline.store.leases import Lease, holder
from gravel.pipeline.store.ownership import user_name
from gravel.pipeline.store.sharing import check_own_file, is_own

FORMAT = 2
HOOKS_FORMAT = 1
Kind = TypeVar("Kind", bound=Record)
KEPT_CLAIMS = 200
"""How many claims, with their logs, a job keeps."""
INSTEAD = "due times that were missed run once, and a run at work is not doubled"
"""What happens where earlier versions of gravel left the choice."""


@dataclass
class Claim(Record):
    """One run of a job. `state` is running, done, failed, timed out, interrupted or lost.

    `due`, `began` and `ended` are seconds since 1970; `pid` is the run's process. `run` is the id of its
    record; `stopped` says why it was interrupted ("time limit" or "service"), if it was; `results` stands
    for its artifacts, and `changed` says whether the last successful run had others. `again` says that the
    due time waits once more. `owed` are the hooks still to be called, `hooks` what came of those that were.
    """

    job: str
    due: DueTime
    attempt: int
    began: Moment
    pid: int
    host: str
    state: str = "running"
    ended: Moment | None = None
    seconds: float | None = None
    run: str | None = None
    exit_code: int | None = None
    stopped: str | None = None
    problem: str | None = None
    results: str | None = None
    changed: bool = False
    again: bool = False
    owed: list[Event] = field(default_factory=list)
    hooks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The claim's file name without its ending; names sort by due time."""
        return claim_name(self.due, self.attempt)


def claim_name(due: int, attempt: int) -> str:
    """Name a claim: 20261120T030000Z.1."""
    return f"{iso(due).replace('-', '').replace(':', '')}.{attempt}"


class JobStore:
    """The schedules of one cache. Cheap to make; safe to use from many processes at once."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.cache = Cache(self.root)
        self._files = self.cache.files

    def names(self) -> list[str]:
        """Return the names of all jobs, in order."""
        folder = self.root / SCHEDULES
        names = self._files.names(SCHEDULES)
        return [name for name in names if (folder / name / "job.json").exists() and self._is_own(name)]

    def _is_own(self, name: str) -> bool:
        """Say whether a job is the user's: one of another member of a shared cache would run their code."""
        return is_own(self.root, self.root / SCHEDULES / name)

    def add(self, job: Job) -> None:
        """Put a job on record; raises RequestError if the name is taken."""
        if not self._is_own(job.name):
            maker = user_name((self.root / SCHEDULES / job.name).stat().st_uid)
            problem = f"{maker} has a schedule {job.name!r} in this cache"
            raise RequestError(problem, hint="choose another --name")
        if not self._files.create(f"{SCHEDULES}/{job.name}/job.json", _pack(job)):
            known = self.find(job.name)
            what = f"; it runs {known.workflow} at {known.cron!r}" if known else ""
            raise RequestError(
                f"there is a schedule {job.name!r} already{what}",
                hint=f"choose another --name, or first: gravel schedule remove {job.name}",
            )

    def find(self, name: str) -> Job | None:
        """Return a job, or None if there is none. Raises GravelError for a damaged record."""
        return self._read(f"{SCHEDULES}/{name}/job.json", Job) if self._is_own(name) else None

    def job(self, name: str) -> Job:
        """Return a job; raises RequestError, with the nearest name, if there is none."""
        job = self.find(name)
        if job is None:
            hint = suggest(name, self.names(), "schedule")
            raise RequestError(f"there is no schedule {name!r}", hint=hint)
        return job

    def knows(self, job: Job) -> bool:
        """Say whether a job is on record still, and no other under its name."""
        known = self.find(job.name)
        return known is not None and known.id == job.id

    def remove(self, name: str) -> None:
        """Forget a job with its claims and logs; a run that goes ends by itself."""
        aside = f"{SCHEDULES}/.removed-{uuid.uuid4().hex}"
        with self.lock(name):
            self._files.move(f"{SCHEDULES}/{name}", aside)
        shutil.rmtree(self.root / aside, ignore_errors=True)

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold a job's lock, for the moment that a change takes; a dead holder's is free."""
        return self.cache.lock(f"schedule-{name}")

    def state(self, job: Job) -> State:
        """Return where a job stands. Raises GravelError for a damaged record."""
        return self._read(f"{SCHEDULES}/{job.name}/state.json", State) or State(decided=int(job.created))

    def write_state(self, job: Job, state: State) -> None:
        """Replace a job's state; call it under the job's lock."""
        self._files.replace(f"{SCHEDULES}/{job.name}/state.json", _pack(state))

    def lease_path(self, name: str) -> Path:
        """Return where the lease of a job's run lies: among those of runs, so that gc spares what it uses."""
        return self.root / LEASES / f"schedule-{name}.lock"

    def running(self, name: str) -> bool:
        """Say whether the process of a run of the job lives."""
        return holder(self.lease_path(name)) is not None

    def take_lease(self, name: str) -> Lease | None:
        """Take the job's lease, or None if it is held; call it under the job's lock."""
        path = self.lease_path(name)
        if self.running(name):
            return None
        path.unlink(missing_ok=True)
        try:
            with storage_errors(self.root):
                return Lease(path, f"schedule {name}")
        except FileExistsError:
            return None

    def log(self, claim: Claim) -> Path:
        """Return the file of what a run prints."""
        return self.root / SCHEDULES / claim.job / "claims" / f"{claim.name}.log"

    def claim(self, claim: Claim) -> bool:
        """Put a claim on record; says whether it is the first on its due time and attempt."""
        return self._files.create(f"{SCHEDULES}/{claim.job}/claims/{claim.name}.json", _pack(claim))

    def write_claim(self, claim: Claim) -> None:
        """Replace a claim of one's own."""
        self._files.replace(f"{SCHEDULES}/{claim.job}/claims/{claim.name}.json", _pack(claim))

    def find_claim(self, name: str, claim: str | None) -> Claim | None:
        """Return a claim by its file name, or None if there is none, or it is not there or damaged."""
        with suppress(GravelError):
            return None if claim is None else self._read(f"{SCHEDULES}/{name}/claims/{claim}.json", Claim)
        return None

    def claims(self, name: str, due: int | None = None) -> list[Claim]:
        """Return the claims of a job (of one due time), in order."""
        start = "" if due is None else claim_name(due, 0)[:-1]
        names = self._files.names(f"{SCHEDULES}/{name}/claims", ".json")
        found = (self.find_claim(name, each[:-5]) for each in names if each.startswith(start))
        return sorted((each for each in found if each), key=lambda each: (each.due, each.attempt))

    def prune(self, name: str, keep: str) -> None:
        """Remove the oldest claims but one, with their logs, of more than `KEPT_CLAIMS`."""
        names = [each[:-5] for each in self._files.names(f"{SCHEDULES}/{name}/claims", ".json")]
        for old in names[:-KEPT_CLAIMS]:
            if old != keep:
                self._files.remove(f"{SCHEDULES}/{name}/claims/{old}.json")
                self._files.remove(f"{SCHEDULES}/{name}/claims/{old}.log")

    def sweep(self) -> None:
        """Remove what writers that were killed left, and the rest of jobs that were being removed."""
        folder = self.root / SCHEDULES
        for aside in folder.glob(".removed-*"):
            shutil.rmtree(aside, ignore_errors=True)
        for name in self.names():
            folders = (f"{SCHEDULES}/{name}", f"{SCHEDULES}/{name}/claims")
            for leaving in (each for place in folders for each in self._files.leavings(place)):
                self._files.remove(leaving)

    def _read(self, name: str, kind: type[Kind]) -> Kind | None:
        found = self._files.read(name)
        if found is None:
            return None
        try:
            data = json.loads(found[0])
            if gone := [key for key in ("catch_up", "overlap") if key in data]:
                raise ValueError(f"{' and '.join(gone)} cannot be chosen any more: {INSTEAD}")
            if data.pop("format", None) != FORMAT:
                raise ValueError("it is of another version of gravel")
            return kind.from_json(data)
        except ValidationError as error:
            wrong = error.errors()[0]
            problem = f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            problem = str(error) or "it is not what gravel wrote"
        hint = f"`gravel schedule remove {name.split('/')[1]}` and `gravel schedule add` make it anew"
        raise GravelError(f"{self.root / name} cannot be read: {problem}", hint=hint)


def _pack(record: Record) -> bytes:
    return json.dumps({"format": FORMAT} | record.to_json(), indent=1).encode()


def hooks_file(job: Job) -> Path:
    """Return where the hooks of a job are kept: with the user, since others may write to the cache."""
    return config_folder() / "hooks" / f"{job.id}.json"


def save_hooks(job: Job, root: Path, hooks: Mapping[Event, str]) -> None:
    """Keep the hooks of a job of a cache by event; without any, keep nothing."""
    file = hooks_file(job)
    if not hooks:
        file.unlink(missing_ok=True)
        return
    make_config_folder()
    file.parent.mkdir(mode=0o700, exist_ok=True)
    body = {"format": HOOKS_FORMAT, "cache": str(root), "schedule": job.name, "hooks": dict(hooks)}
    with written_aside(file, f"{json.dumps(body, indent=1)}\n".encode(), 0o600) as unfinished:
        unfinished.replace(file)


def load_hooks(job: Job) -> dict[Event, str]:
    """Return the hooks of a job; raises RequestError for a file that is gone, damaged or not safe."""
    if not job.hooks:
        return {}
    file = hooks_file(job)
    problem = f"{file} is not what gravel writes"
    try:
        body = json.loads(check_own_file(file))
        if body["format"] == HOOKS_FORMAT:
            return {event: str(body["hooks"][event]) for event in EVENTS if event in job.hooks}
    except FileNotFoundError:
        problem = f"{file} is not there"
    except (ValueError, KeyError, TypeError):
        pass
    raise RequestError(problem, hint=f"`gravel schedule remove {job.name}`, and add it again with its hooks")
