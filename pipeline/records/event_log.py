"""The log of a run that goes on: one line of JSON for each change, appended and never rewritten.

A line `{"stage": KEY, "at": SECONDS, ...}` has all fields of a `StageRecord` that are not as they were
planned; the last line of a stage run counts. A line `{"run": {...}, "at": SECONDS}` has fields of the run.
What lies after the last end of a line was being written when its writer died, and is ignored; a line that
cannot be read costs itself and is counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from gravel.pipeline.store.descriptors import Obstacle
from gravel.pipeline.store.folder import EVENT_LOG
from gravel.pipeline.store.opening import MAX_LOG_BYTES, read_file
from gravel.stages.artifact import Json


def append(folder: Path, lines: Iterable[str]) -> None:
    """Append lines to the log of a run in one write; the file is made with the first one."""
    text = "".join(f"{line}\n" for line in lines).encode()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(folder / EVENT_LOG, flags, 0o666)
    try:
        os.write(handle, text)
    finally:
        os.close(handle)


def read_log(folder: Path) -> bytes:
    """Return the log of a run, empty if it has none; one that is not to be read has one unreadable line."""
    try:
        return read_file(folder.parents[1], f"{folder.parent.name}/{folder.name}/{EVENT_LOG}", MAX_LOG_BYTES)
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
                good = is_record({**record, **event["run"], "stages": []})
                if good:
                    record.update(event["run"])
            else:
                place = places[event.pop("stage")]
                del event["at"]
                stage = {**record["stages"][place], **_BEFORE, **event}
                good = is_stage(stage)
                if good:
                    record["stages"][place] = stage
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            good = False
        if good:
            record["seconds"] = max(record["seconds"], at)
        else:
            unread += 1
    record.update(named(record["stages"]))
    return unread


def named(stages: Sequence[Mapping[str, Json]]) -> dict[str, list[str]]:
    """List the recipes and the artifacts that the stage runs of a record name, for gc."""
    recipes = dict.fromkeys(stage["recipe"] for stage in stages if stage["recipe"])
    artifacts = dict.fromkeys(name for stage in stages for name in stage["outputs"] if ":" not in name)
    return {"recipes": list(recipes), "artifacts": list(artifacts)}


Types = dict[str, tuple[type, ...]]
_MAYBE_TEXT = (str, type(None))

RUN: Types = {
    **dict.fromkeys(("run", "state", "host", "started"), (str,)),
    **dict.fromkeys(("ended", "report", "cluster", "problem"), _MAYBE_TEXT),
    **{"pid": (int,), "seconds": (int, float)},
    **dict.fromkeys(("workflow", "options", "machine", "trust"), (dict,)),
    **dict.fromkeys(("stages", "datasets", "gone", "spans", "recipes", "artifacts"), (list,)),
}
"""What a record has, with the types that it may be of; see `gravel.pipeline.records.record`."""

WORKFLOW: Types = {"name": (str,), "path": (str,), "parameters": (dict,), "matrix": (dict,)}

_MEASURED = ("seconds", "started", "bytes", "bytes_on_disk", "peak_host_bytes", "peak_device_bytes")
_TEXTS = ("upstream", "outputs", "why", "remarks")

STAGE: Types = {
    **dict.fromkeys(("key", "entry", "stage", "state"), (str,)),
    **dict.fromkeys(("recipe", "place", "error", "hint", "log"), _MAYBE_TEXT),
    **{"coordinates": (dict,), "attempts": (int,)},
    **dict.fromkeys(_MEASURED, (int, float, type(None))),
    **dict.fromkeys(("need", "progress"), (dict, type(None))),
    **dict.fromkeys((*_TEXTS, "spans"), (list,)),
}

_BEFORE: dict[str, Json] = {
    name: [] if list in types else None
    for name, types in STAGE.items()
    if (list in types or type(None) in types) and name not in ("upstream", "log")
}
"""Fields that a line leaves out if they have these values."""


def is_record(found: Json) -> bool:
    """Say whether a value read from a `run.json` has what a record of a run has, each of its type."""
    return (
        _fits(found, RUN)
        and _fits(found["workflow"], WORKFLOW)
        and all(_are(found[name], str) for name in ("recipes", "artifacts"))
        and _are(found["datasets"], dict)
        and _are(found["workflow"]["matrix"].values(), list)
        and _is_time(found["started"])
        and (found["ended"] is None or _is_time(found["ended"]))
        and all(is_stage(stage) for stage in found["stages"])
    )


def is_stage(stage: Json) -> bool:
    """Say whether a value has what a record has of a stage run, each of its type."""
    return (
        _fits(stage, STAGE)
        and all(_are(stage[name], str) for name in _TEXTS)
        and (not (need := stage["need"]) or ("host" in need and _are(need.values(), int)))
        and (not (progress := stage["progress"]) or {"done", "total", "unit", "rate"} <= set(progress))
    )


def _fits(found: Json, types: Types) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name, ...), types[name]) for name in types)


def _are(found: Json, kind: type) -> bool:
    return all(isinstance(each, kind) for each in found)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
