"""The log of a run that goes on: one line of JSON for each change, appended and never rewritten.

A line `{"stage": KEY, "at": SECONDS, ...}` has all fields of a `StageRecord` that are not as they were
planned; the last line of a stage run counts. A line `{"run": {...}, "at": SECONDS}` has fields of the run.
What lies after the last end of a line was being written when its writer died, and is ignored; a line that
cannot be read costs itself and is counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.records.validation import is_record, is_stage
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
