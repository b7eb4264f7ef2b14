"""Why a stage run has no result, in words for the person who asked for it."""

from __future__ import annotations

import os
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

from gravel.kernels.settings import setting_at_fault
from gravel.pipeline.core.durations import format_duration
from gravel.pipeline.core.errors import MAX_MESSAGE, DamagedArtifact, GravelError, NotEnoughMemory
from gravel.pipeline.store.failures import explain
from gravel.pipeline.workers.protocol import Failure, StageTask
from gravel.stages.errors import StageError
from gravel.stages.urls import hidden_in_text, visible

PAGE = "docs/troubleshooting.md"


def _out_of_memory(error: BaseException) -> tuple[str, Failure]:
    """Say which memory ran out; on a GPU that holds nothing of gravel's, the same would happen again."""
    from gravel.kernels.cuda.room import device_memory, is_device_memory
    from gravel.kernels.placement.device_copies import COPIES

    hint = f"give it more memory, or lower its parameter `memory`; see {PAGE}#out-of-memory"
    if not is_device_memory(error):
        return "out_of_memory", Failure("stage", f"host memory ran out: {error}", hint)
    there = device_memory()
    text = f"GPU memory ran out: {error}{f'; {there}' if there else ''}"
    hint = f"wait until other programs free the GPU, or use --backend cpu; see {PAGE}#out-of-memory"
    return "out_of_memory" if COPIES.bytes else "failed", Failure("stage", text, hint)


def explain_error(error: Exception, task: StageTask, log: StageLog) -> tuple[str, Failure]:
    """Return the state of an outcome that has no result, and why; what a user needs goes to the log, too."""
    from gravel.stages.rank_group import RankGroupBroken

    def failed(state: str, failure: Failure) -> tuple[str, Failure]:
        log.write(failure.message)
        return state, failure

    if isinstance(error, DamagedArtifact):
        return failed("damaged", Failure("stage", error.reason))
    if isinstance(error, StageError):
        if len(error.message) > MAX_MESSAGE:
            log.write(error.message)
        failure = Failure("stage", error.message, error.hint, error.file, error.line, error.vertices)
        return failed("failed", failure)
    if isinstance(error, GravelError):
        kind = "stage" if isinstance(error, NotEnoughMemory) else "disk"
        return failed("failed", Failure(kind, str(error), error.problems[0].hint))
    if isinstance(error, RankGroupBroken):
        return failed("lost", Failure("bug", str(error)))
    log.write("".join(traceback.format_exception(error)))
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return failed(*_out_of_memory(error))
    setting = setting_at_fault(error)
    if setting is not None:
        return failed("failed", Failure("stage", str(setting)))
    if isinstance(error, OSError):
        root, file = task.cache.root, error.filename
        of_cache = file is None or Path(os.fsdecode(file)).is_relative_to(root)  # or of scratch files there
        explained = explain(error, root) if of_cache else None
        if explained is not None:
            return failed("failed", Failure("disk", str(explained), explained.problems[0].hint))
        return failed("failed", Failure("disk", f"{type(error).__name__}: {error}"))
    details = f"the details are in: gravel logs {task.run} '{task.key}'"
    hint = f"this looks like a defect of gravel; {details}"
    if task.stage.origin is not None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raised = f"raised in {frame.filename}:{frame.lineno}"
        hint = f"the stage comes from {task.stage.origin.place}; {raised}; {details}"
    return failed("failed", Failure("bug", f"{type(error).__name__}: {error}", hint))


def overdue(limit: float, progress: str = "") -> Failure:
    """Say that a stage was stopped; `limit` in seconds, `progress` is how far it was, if it reported that."""
    return Failure(
        "stage",
        f"it was stopped at its time limit of {format_duration(limit)}{progress}",
        "raise its time_limit in the workflow, or give it less to do; what does not rest on it went on",
    )


class StageLog:
    """A stage's log file: lines with the time, written at once, so that a crash loses none."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, message: str) -> None:
        """Append a message, each of its lines after the time of day."""
        if self.path is None:
            return
        stamp = time.strftime("%H:%M:%S")
        text = "".join(f"{stamp} {line}\n" for line in hidden_in_text(message).splitlines() or [""])
        # What a full disk loses of a log must not fail a stage, or hide why it failed.
        with self._lock, suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(visible(text))
