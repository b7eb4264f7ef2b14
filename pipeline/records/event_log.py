"""The log of a run that goes on: one line of JSON for each change, appended and never rewritten.

A line `{"stage": KEY, "at": SECONDS, ...}` has all fields of a `StageRecord` that are not as they were
planned; the last line of a stage run counts. A line `{"run": {...}, "at": SECONDS}` has fields of the run.
What lies after the last end of a line was being written when its writer died, and is ignored; a line that
cannot be read costs itself and is counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.store.descriptors import Obstacle
from gravel.pipeline.store.opening import MAX_LOG_BYTES, read_file

if TYPE_CHECKING:
    from gravel.stages.artifact import Json


LOG = "events.jsonl"


class EventLog:
    """Appends lines; the file is made with the first one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, lines: Iterable[str]) -> None:
        """Append lines in one write."""
        text = "".join(f"{line}\n" for line in lines).encode()
        handle = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666
        )
        try:
            os.write(handle, text)
        finally:
            os.close(handle)


def read_log(folder: Path) -> bytes:
    """Return the log of a run, empty if it has none; one that is not to be read has one unreadable line."""
    try:
        return read_file(folder.parents[1], f"{folder.parent.name}/{folder.name}/{LOG}", MAX_LOG_BYTES)
    except Obstacle:
        return b"?\n"
    except OSError:
        return b""


def follow(record: dict[str, Json], log: bytes) -> int:
    """Bring a record up to date with its run's log; returns how many lines cannot be read."""
    places = {stage["key"]: place for place, stage in enumerate(record["stages"])}
    unread = 0
    for line in log.split(b"\n")[:-1]:
        try:
            event = json.loads(line)
            at = float(event["at"])
            if "run" in event:
                changed = {**record, **event["run"], "stages": []}
                if not is_record(changed):
                    raise ValueError("it has no fields of a run")
                record.update(event["run"])
            else:
                place = places[event.pop("stage")]
                del event["at"]
                stage = {**record["stages"][place], **_BEFORE, **event}
                if not is_stage(stage):
                    raise ValueError("it has no fields of a stage run")
                record["stages"][place] = stage
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            unread += 1
            continue
        record["seconds"] = max(record["seconds"], at)
    record.update(named(record["stages"]))
    return unread


_BEFORE: dict[str, Json] = {
    "outputs": [],
    "why": [],
    "remarks": [],
    "spans": [],
    **dict.fromkeys(
        (
            "seconds",
            "started",
            "recipe",
            "bytes",
            "bytes_on_disk",
            "need",
            "peak_host_bytes",
            "peak_device_bytes",
            "place",
            "error",
            "hint",
            "progress",
        )
    ),
}
"""Fields that a line leaves out if they have these values."""


def named(stages: Iterable[dict[str, Json]]) -> dict[str, list[str]]:
    """List the recipes and the artifacts that the stage runs of a record name, for gc."""
    recipes: dict[str, None] = {}
    artifacts: dict[str, None] = {}
    for stage in stages:
        if stage["recipe"]:
            recipes[stage["recipe"]] = None
        artifacts.update((name, None) for name in stage["outputs"] if ":" not in name)
    return {"recipes": list(recipes), "artifacts": list(artifacts)}


_NUMBER = (int, float)
_MAYBE_TEXT = (str, type(None))
_MAYBE_NUMBER = (*_NUMBER, type(None))

RUN: dict[str, tuple[type, ...]] = {
    "run": (str,),
    "state": (str,),
    "pid": (int,),
    "host": (str,),
    "started": (str,),
    "ended": _MAYBE_TEXT,
    "seconds": _NUMBER,
    "workflow": (dict,),
    "options": (dict,),
    "report": _MAYBE_TEXT,
    "stages": (list,),
    "machine": (dict,),
    "cluster": _MAYBE_TEXT,
    "problem": _MAYBE_TEXT,
    "datasets": (list,),
    "gone": (list,),
    "trust": (dict,),
    "spans": (list,),
    "recipes": (list,),
    "artifacts": (list,),
}
"""What a record has, with the types that it may be of; see `gravel.pipeline.records.record`."""

WORKFLOW: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "path": (str,),
    "parameters": (dict,),
    "matrix": (dict,),
}

STAGE: dict[str, tuple[type, ...]] = {
    "key": (str,),
    "entry": (str,),
    "stage": (str,),
    "upstream": (list,),
    "coordinates": (dict,),
    "state": (str,),
    "seconds": _MAYBE_NUMBER,
    "started": _MAYBE_NUMBER,
    "recipe": _MAYBE_TEXT,
    "outputs": (list,),
    "bytes": _MAYBE_NUMBER,
    "need": (dict, type(None)),
    "peak_host_bytes": _MAYBE_NUMBER,
    "peak_device_bytes": _MAYBE_NUMBER,
    "place": _MAYBE_TEXT,
    "why": (list,),
    "error": _MAYBE_TEXT,
    "bytes_on_disk": _MAYBE_NUMBER,
    "attempts": (int,),
    "remarks": (list,),
    "hint": _MAYBE_TEXT,
    "progress": (dict, type(None)),
    "log": _MAYBE_TEXT,
    "spans": (list,),
}
_TEXTS = ("upstream", "outputs", "why", "remarks")


def is_record(found: Json) -> bool:
    """Say whether a value read from a `run.json` has what a record of a run has, each of its type."""
    if not (_fits(found, RUN) and _fits(found["workflow"], WORKFLOW)):
        return False
    if not all(_are(found[name], str) for name in ("recipes", "artifacts")):
        return False
    if not (_are(found["datasets"], dict) and _are(found["workflow"]["matrix"].values(), list)):
        return False
    if not (_is_time(found["started"]) and (found["ended"] is None or _is_time(found["ended"]))):
        return False
    return all(is_stage(stage) for stage in found["stages"])


def is_stage(stage: Json) -> bool:
    """Say whether a value has what a record has of a stage run, each of its type."""
    if not _fits(stage, STAGE):
        return False
    need, progress = stage["need"], stage["progress"]
    return (
        all(_are(stage[name], str) for name in _TEXTS)
        and (not need or (isinstance(need.get("host"), int) and _are(need.values(), int)))
        and (not progress or {"done", "total", "unit", "rate"} <= set(progress))
    )


def _fits(found: Json, types: Mapping[str, tuple[type, ...]]) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name, ...), types[name]) for name in types)


def _are(found: Json, kind: type) -> bool:
    return all(isinstance(each, kind) for each in found)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
