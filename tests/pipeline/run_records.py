"""Records of runs for tests: what a test says of a run, and what every record has beside it."""

from __future__ import annotations

from typing import Any

RUN: dict[str, Any] = {
    "state": "done",
    "pid": 0,
    "host": "here",
    "started": "2026-11-20T10:00:00",
    "ended": "2026-11-20T10:00:03",
    "seconds": 3.0,
    "options": {},
    "report": None,
    "stages": [],
    "machine": {},
    "cluster": None,
    "problem": None,
    "datasets": [],
    "gone": [],
    "trust": {},
    "spans": [],
    "recipes": [],
    "artifacts": [],
}
WORKFLOW: dict[str, Any] = {"name": "w", "path": "w.yaml", "parameters": {}, "matrix": {}}
STAGE: dict[str, Any] = {
    "entry": "s",
    "stage": "ingest",
    "upstream": [],
    "coordinates": {},
    "state": "computed",
    "seconds": 1.0,
    "started": 1.0,
    "recipe": None,
    "outputs": [],
    "bytes": None,
    "need": None,
    "peak_host_bytes": None,
    "peak_device_bytes": None,
    "place": None,
    "why": [],
    "error": None,
    "bytes_on_disk": None,
    "attempts": 0,
    "remarks": [],
    "hint": None,
    "progress": None,
    "log": None,
    "spans": [],
}


def whole(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with everything that a record of a run has."""
    stages = [STAGE | each for each in record.get("stages", [])]
    return RUN | record | {"workflow": WORKFLOW | record.get("workflow", {}), "stages": stages}
