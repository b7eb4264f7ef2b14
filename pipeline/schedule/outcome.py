"""What came of a run: from how its process ended and what its record says, to an outcome with a reason."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.past_runs import read_run
from gravel.pipeline.schedule.child_process import Ended
from gravel.pipeline.schedule.job_store import Claim
from gravel.pipeline.store.opening import MAX_LOG_BYTES, read_file

INTERRUPTED = 130


def read_record(root: Path, run: str | None) -> dict[str, Any] | None:
    """Return a run's record, or None if there is none that can be read."""
    return None if run is None else read_run(root / "runs" / run)


def record_outcome(claim: Claim, ended: Ended, root: Path, log: Path, limit: float | None) -> None:
    """Write into a claim how its run ended."""
    claim.exit_code, claim.seconds = ended.exit_code, round(ended.seconds, 3)
    claim.run = ended.run or claim.run
    record = read_record(root, claim.run)
    if ended.exit_code == 0:
        claim.state = "done"
        claim.results = None if record is None else results(record)
    elif ended.stopped == "time limit":
        how = "killed" if ended.killed else "interrupted"
        claim.state = "timed out"
        claim.problem = f"its time limit is {format_seconds(limit or 0.0)}; it was {how}"
    elif ended.stopped is not None or ended.exit_code == INTERRUPTED:
        claim.state = "interrupted"
        claim.problem = "killed, since it did not stop" if ended.killed else None
    elif ended.exit_code < 0:
        claim.state, claim.problem = "failed", f"signal {-ended.exit_code} ended it"
    else:
        claim.state, claim.problem = "failed", _problem(record, log)


def record_lost_run(claim: Claim, root: Path) -> None:
    """Write into a claim how its run ended that no supervisor reports: as its record says, or lost."""
    gone = f"its supervisor (process {claim.pid} on {claim.host}) is gone"
    record = read_record(root, claim.run)
    state = "lost" if record is None else record["state"]
    if record is not None and state == "done":
        claim.state, claim.exit_code, claim.results, claim.problem = "done", 0, results(record), gone
    elif record is not None and state == "failed":
        claim.state, claim.exit_code = "failed", 1
        claim.problem = f"{_failure_of(record) or 'see its record'}; {gone}"
    else:
        claim.state, claim.problem = "lost", gone
    if record is not None and claim.state != "lost":
        claim.seconds = record["seconds"]


def results(record: dict[str, Any]) -> str:
    """Return a digest of what a run made: equal exactly if every stage run has equal results."""
    made = {stage["key"]: stage["outputs"] for stage in record["stages"]}
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def _problem(record: dict[str, Any] | None, log: Path) -> str | None:
    if record is not None and (failure := _failure_of(record)) is not None:
        return failure
    try:
        root = log.parents[3]
        text = read_file(root, log.relative_to(root).as_posix(), MAX_LOG_BYTES)
    except (OSError, RequestError):
        return None
    lines = text.decode("utf-8", "replace").splitlines()
    errors = [line for line in lines if "error:" in line] or [line for line in lines if line.strip()]
    return errors[-1].strip()[:500] if errors else None


def _failure_of(record: dict[str, Any]) -> str | None:
    """Return what a record says went wrong."""
    for stage in record["stages"]:
        if stage["state"] == "failed":
            return f"{stage['key']}: {stage['error']}"
    return str(record["problem"]) if record.get("problem") else None
