"""Runs on record: `runs/<run>/run.json` beside the cache, the stages' logs, and what reads them."""

from gravel.pipeline.records.reading import find_run, last_report, list_runs, read_run, stage_log, still_runs
from gravel.pipeline.records.record import Outline, RunRecord, StageRecord

__all__ = [
    "Outline",
    "RunRecord",
    "StageRecord",
    "find_run",
    "last_report",
    "list_runs",
    "read_run",
    "stage_log",
    "still_runs",
]
