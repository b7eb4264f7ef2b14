"""Folders and files of a cache, named relative to its root: other rooms name them by what stands here."""

from __future__ import annotations

RUNS, ARTIFACTS, DATA, LEASES, DIGESTS, RESOLVED = (
    "runs",
    "artifacts",
    "data",
    "leases",
    "digests",
    "resolved",
)
LOCK_FOLDERS = ("locks", "downloads/parts")
QUARANTINES = ("quarantine", "downloads/quarantine")

RUN_RECORD, PAGE, LOGS, DASK_LOG = "run.json", "report.html", "logs", "dask.log"
"""Files in the folder of a run; `LOGS` is a folder of them."""


def run_path(run: str, *names: str) -> str:
    """Return the folder of a run, or a file in it."""
    return "/".join((RUNS, run, *names))


def artifact_path(artifact_id: str) -> str:
    """Return the record of an artifact."""
    return f"{ARTIFACTS}/{artifact_id}.json"


def data_path(name: str) -> str:
    """Return the folder that holds the arrays of an artifact."""
    return f"{DATA}/{name}"


def resolved_path(name: str) -> str:
    """Return the memo of source ids that were looked up in an artifact."""
    return f"{RESOLVED}/{name}.json"
