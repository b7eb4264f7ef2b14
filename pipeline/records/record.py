"""The record of one run: what it is at its start and its end, and in between a log of what changes.

`run.json` is written when the run starts and when it ends; `events.jsonl` beside it gets a line for each
stage run that changes (`gravel.pipeline.records.event_log`), and whoever reads the record of a run that goes
on reads both. `run.json` holds: `format`, `run`, `kind` (run, or export: what was computed to be written to
files or for Python), `state` (running, done, failed, interrupted), `pid` and `host`, `started` and `ended`
(ISO, local time), `seconds`, `workflow` (name, about, path as given, absolute file, parameters, matrix),
`machine`, `options`, `cluster`, `report` (path or null), `stages` (see `StageRecord`), `outputs` (the files
that results were written to: `file`, `entry`, `rows`, `state`, which is written, unchanged or missing, and
`problem`), `spans` (of a run with --profile: see `gravel.pipeline.records.profile`), `datasets` (see
`gravel.pipeline.scheduler.outcome.DataSets`), `gone` (data sets of the last run that are no more), `trust`
(`trust_remote`, and the recipes of others that were `accepted` because of it or `refused`, with the
fingerprint of the key or null), and for gc the lists `recipes` and `artifacts` of
everything that the run made or relied on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path

from gravel.pipeline.records.event_log import append, named
from gravel.pipeline.store.descriptors import make_folder
from gravel.pipeline.store.folder import LOGS, RUN_RECORD, RUNS, run_path
from gravel.pipeline.store.sharing import keep_own
from gravel.stages.artifact import Json
from gravel.stages.urls import hidden_in_text, visible

FORMAT = 2
"""Of the record."""

RUN, EXPORT = "run", "export"
"""Kinds of runs. Those of exports are no "last run" of their workflow."""

BEFORE_STAGES = b', "stages": ['
"""What comes in the file before the stage runs, which are its largest part; within a text it cannot occur."""


def is_newer(record: Mapping[str, Json]) -> bool:
    """Say whether a newer gravel wrote a record."""
    stated = record.get("format")
    return isinstance(stated, int) and stated > FORMAT


DONE = ("computed", "cached")
"""States of stage runs that have a result."""

LOG_INTERVAL = 0.5
"""Seconds for which a change may wait for others before it is in the log."""


@dataclass(slots=True)
class StageRecord:
    """One stage run in `run.json`.

    `state` is waiting, running, cached, computed, failed, skipped, interrupted, "not needed" or "not run": it
    asks for what is not here, as `why` says. `outputs` are artifact ids, or `recipe:` pseudo-ids of what is
    not kept. `need` and the peaks are in bytes.
    """

    key: str
    entry: str
    stage: str
    upstream: Sequence[str]
    coordinates: Mapping[str, Json]
    state: str = "waiting"
    seconds: float | None = None  # of the computation; for a cached one, of the run that made it
    started: float | None = None
    recipe: str | None = None
    outputs: Sequence[str] = ()
    bytes: int | None = None
    bytes_on_disk: int | None = None
    need: dict[str, int] | None = None
    peak_host_bytes: int | None = None
    peak_device_bytes: int | None = None
    place: str | None = None
    attempts: int = 0
    why: Sequence[str] = ()
    remarks: Sequence[str] = ()  # what the stage says of its result
    error: str | None = None
    hint: str | None = None
    progress: dict[str, Json] | None = None
    spans: Sequence[Json] = ()  # of a run with --profile: what the time went into

    @property
    def log(self) -> str:
        """Where the log of the stage run lies, relative to the run's folder."""
        return f"{LOGS}/{log_name(self.key)}"

    def to_json(self) -> dict[str, Json]:
        """Return the record as plain data."""
        return {**{name: _plain(getattr(self, name)) for name in FIELDS}, "log": self.log}

    def changes(self) -> dict[str, Json]:
        """Return what a log has to say of the stage run: all that is not as it was planned."""
        values = ((name, _plain(getattr(self, name))) for name in FIELDS if name not in PLANNED)
        return {name: value for name, value in values if value not in (None, [])}


FIELDS = tuple(each.name for each in fields(StageRecord))
PLANNED = frozenset(("key", "entry", "stage", "coordinates"))
"""Fields that stay as they were planned."""


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value


EXPORT_SUFFIX = ".export"
"""Of the ids of runs of exports, so that nothing has to be read to leave them out."""


def new_run_id(workflow: str, kind: str = RUN) -> str:
    """Name a run by its start and its workflow; ids sort by time."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", workflow)[:40].strip("-") or "run"
    suffix = EXPORT_SUFFIX if kind == EXPORT else ""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{os.urandom(2).hex()}{suffix}"


def log_name(key: str) -> str:
    """Turn a stage run's key into a file name that no other key has."""
    plain = re.sub(r"[^A-Za-z0-9_.=,\[\]-]+", "_", key)
    if plain == key and len(key) <= 150:
        return f"{key}.log"
    from blake3 import blake3

    return f"{plain[:120]}-{blake3(key.encode()).hexdigest()[:8]}.log"


@dataclass(frozen=True)
class Outline:
    """What a record says of the plan, as plain data: the workflow, and its stage runs in order.

    Each of `stages` has the first five fields of `StageRecord`, and `state` and `why` of what is not run.
    """

    workflow: Mapping[str, Json]
    stages: Sequence[Mapping[str, Json]]


class RunRecord:
    """A run's folder and record. `write` is atomic: a reader sees one version or the next.

    Whoever changes a stage run's record gets it from `change`, which notes that it has to be logged.
    """

    def __init__(
        self,
        root: Path,
        outline: Outline,
        machine: Mapping[str, Json],
        options: Mapping[str, Json],
        kind: str = RUN,
    ) -> None:
        self.workflow = dict(outline.workflow)
        self.kind = kind
        self.run = new_run_id(self.workflow["name"], kind)
        self._root, self.folder = root, root / RUNS / self.run
        self.state = "running"
        self.cluster: str | None = None
        self.report: str | None = None
        self.problem: str | None = None
        self.kept = True
        """Whether anything is written: a run served from a cache that cannot be written leaves no record."""
        self.datasets: list[dict[str, Json]] = []
        self.gone: list[dict[str, Json]] = []
        self.trust: dict[str, Json] = {}
        self.outputs: list[dict[str, Json]] = []
        self.spans: Sequence[Json] = ()
        self.stages = {stage["key"]: StageRecord(**stage) for stage in outline.stages}
        self._machine = dict(machine)
        self.options = dict(options)
        self._started = time.time()
        self._ended: float | None = None
        self._changed: dict[str, None] = {}
        self._logged = 0.0

    def log_path(self, key: str) -> Path:
        """Return where a stage run's log lies."""
        return self.folder / LOGS / log_name(key)

    def change(self, key: str) -> StageRecord:
        """Return the record of a stage run that is about to be changed."""
        self._changed[key] = None
        return self.stages[key]

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, or took."""
        return (self._ended or time.time()) - self._started

    def count(self, state: str) -> int:
        """Count the stage runs in a state."""
        return sum(stage.state == state for stage in self.stages.values())

    def to_json(self) -> dict[str, Json]:
        """Return the record as plain data."""
        return {**self._head(), "stages": [stage.to_json() for stage in self.stages.values()]}

    def _head(self) -> dict[str, Json]:
        return {
            "format": FORMAT,
            "run": self.run,
            "kind": self.kind,
            "state": self.state,
            "pid": os.getpid(),
            "host": os.uname().nodename,
            "started": _iso(self._started),
            "ended": None if self._ended is None else _iso(self._ended),
            "seconds": round(self.seconds, 3),
            "workflow": self.workflow,
            "machine": self._machine,
            "options": self.options,
            "cluster": self.cluster,
            "report": self.report,
            "problem": self.problem,
            "datasets": self.datasets,
            "gone": self.gone,
            "outputs": self.outputs,
            "trust": self.trust,
            "spans": list(self.spans),
            **named([{"recipe": each.recipe, "outputs": each.outputs} for each in self.stages.values()]),
        }

    def end(self, state: str) -> None:
        """Record how the run ended."""
        self.state = state
        self._ended = time.time()

    def log(self, *, soon: bool = False) -> None:
        """Append what has changed to the log; with `soon` not if that was done a moment ago."""
        if not self._changed or not self.kept or (soon and time.monotonic() - self._logged < LOG_INTERVAL):
            return
        changed, self._changed = self._changed, {}
        at = round(self.seconds, 3)
        head = {"run": {"cluster": self.cluster}, "at": at}
        lines = [{"stage": key, "at": at, **self.stages[key].changes()} for key in changed]
        try:
            append(self.folder, map(_json, [head, *lines]))
        except OSError:
            self._changed = {**changed, **self._changed}  # for the next time
            raise
        self._logged = time.monotonic()

    def discard(self) -> None:
        """Remove the folder, and write no more."""
        self.kept = False
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self) -> None:
        """Replace `run.json`."""
        if not self.kept:
            return
        self._changed.clear()
        make_folder(self._root, run_path(self.run))
        unfinished = self.folder / f"run.{os.getpid()}.part"
        try:
            with unfinished.open("w", encoding="utf-8") as file:
                keep_own(self._root, unfinished)
                file.write(_json(self._head())[:-1] + BEFORE_STAGES.decode())
                for index, stage in enumerate(self.stages.values()):
                    file.write(f"{', ' if index else ''}{_json(stage.to_json())}")
                file.write("]}")
            unfinished.replace(self.folder / RUN_RECORD)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise


def _json(value: Json) -> str:
    """Write a part of a record, with no secret of any URL in a message."""
    text = json.dumps(value, ensure_ascii=False)
    return visible(json.dumps(_without_secrets(value), ensure_ascii=False) if "://" in text else text)


def _without_secrets(value: Json) -> Json:
    if isinstance(value, str):
        return hidden_in_text(value)
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    return [_without_secrets(item) for item in value] if isinstance(value, list | tuple) else value


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
