"""Whether a `run.json` holds a record of a run: a damaged one counts as none, and fails nothing later."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.stages.artifact import Json


__all__ = ["is_record"]

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
