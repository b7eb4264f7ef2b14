"""What failed in the last run of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.reading import read_run, run_folders, still_runs

if TYPE_CHECKING:
    from gravel.stages.artifact import Json


@dataclass(frozen=True)
class Failures:
    """The run, the keys of the stage runs that failed in it, and the parameters that it had."""

    run: str
    keys: tuple[str, ...]
    parameters: Mapping[str, Json]


def last_failures(root: Path, workflow: str | Path) -> Failures:
    """Return what failed in the last run of a workflow file.

    Raises RequestError if no run of it is on record, or if the last one still goes.
    """
    for folder in run_folders(root):
        record = read_run(folder)
        if record is None or not is_of(record["workflow"], Path(workflow)):
            continue
        if still_runs(record):
            raise RequestError(
                f"the last run of {workflow}, {record['run']}, still goes",
                hint="gravel status shows it; run --failed when it has ended",
            )
        keys = tuple(stage["key"] for stage in record["stages"] if stage["state"] == "failed")
        return Failures(record["run"], keys, record["workflow"].get("parameters") or {})
    raise RequestError(f"no run of {workflow} is on record in {root}", hint="leave --failed out")


def is_of(workflow: Mapping[str, Json], path: Path) -> bool:
    """Say whether a run is of a workflow file, as its record describes the workflow."""
    if workflow.get("file") is not None:
        return bool(workflow["file"] == str(path.absolute()))
    return bool(workflow.get("path") == str(path))  # written before records named the whole path
