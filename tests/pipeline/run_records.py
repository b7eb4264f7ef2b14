"""Records of runs for tests: what a test says of a run, and what every record has beside it."""

from __future__ import annotations

from typing import Any

RUN: dict[str, Any] = {
    **{"state": "done", "pid": 0, "host": "here", "seconds": 3.0},
    **{"started": "2026-11-20T10:00:00", "ended": "2026-11-20T10:00:03"},
    **{"options": {}, "machine": {}, "trust": {}, "report": None, "cluster": None, "problem": None},
    **{"stages": [], "datasets": [], "gone": [], "spans": [], "recipes": [], "artifacts": []},
}
WORKFLOW: dict[str, Any] = {"name": "w", "path": "w.yaml", "parameters": {}, "matrix": {}}
STAGE: dict[str, Any] = {
    **{"entry": "s", "stage": "ingest", "state": "computed", "seconds": 1.0, "started": 1.0, "attempts": 0},
    **{"upstream": [], "coordinates": {}, "outputs": [], "why": [], "remarks": [], "spans": []},
    **dict.fromkeys(("recipe", "bytes", "need", "peak_host_bytes", "peak_device_bytes", "place", "error")),
    **dict.fromkeys(("bytes_on_disk", "hint", "progress", "log")),
}


def whole(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with everything that a record of a run has."""
    stages = [STAGE | each for each in record.get("stages", [])]
    return RUN | record | {"workflow": WORKFLOW | record.get("workflow", {}), "stages": stages}
