"""The life of every run, whoever finds or computes its results: record, lease, interrupts, report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TYPE_CHECKING, Protocol

from gravel.pipeline.records.reading import last_report, list_runs, still_runs
from gravel.pipeline.scheduler.interrupt import on_interrupt
from gravel.pipeline.scheduler.options import RunOutcome
from gravel.pipeline.store.failures import ReadOnly, explain, storage_errors

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.pipeline.progress.events import Reporter
    from gravel.pipeline.records.record import RunRecord
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.messages import RunMessages
    from gravel.pipeline.store.cache import Cache
    from gravel.stages.artifact import Json


COUNTED = ("computed", "cached", "failed", "skipped", "interrupted")
"""States that a run's last line counts."""


class Work(Protocol):
    """What a run does under its lease."""

    def run(self) -> str:
        """Report each stage run; returns "done", "failed" or "interrupted"."""
        ...

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        ...

    def only_serve(self, why: ReadOnly) -> None:
        """Compute nothing: raise `why` if something is not cached."""
        ...

    @property
    def computed(self) -> int:
        """How many stage runs were computed."""
        ...


def run_to_end(
    work: Work,
    record: RunRecord,
    messages: RunMessages,
    cache: Cache,
    reporter: Reporter,
    lease: AbstractContextManager[object],
) -> RunOutcome:
    """Do a run's work from its first record to its report; `lease` is held meanwhile.

    Raises what `work` raises, after the record says so. From a cache that cannot be written what is cached is
    served, and nothing of the run is kept; `ReadOnly` is raised if something is not cached.
    """
    try:
        with ExitStack() as resident:
            resident.enter_context(on_interrupt(work.interrupt))
            try:
                resident.enter_context(lease)
                with storage_errors(cache.root):
                    record.write()
            except ReadOnly as error:
                record.kept = False
                work.only_serve(error)
                messages.emit(
                    "note",
                    message=f"the cache {cache.root} cannot be written: what it holds is served, and the "
                    "run leaves no record",
                )
            messages.emit(
                "run_started",
                run=record.run,
                workflow=record.workflow["name"],
                stages=len(record.stages),
                folder=str(record.folder),
            )
            try:
                state = work.run()
                _tell_trust(cache, record, messages)
            except BaseException as error:
                record.problem = str(error) or type(error).__name__
                messages.end("failed")
                raise
            messages.end(state)
            with messages.spans.take("page"):
                record.report = _report(record, work, cache, messages)
            messages.write()
        if record.kept:
            cache.finish_pushes(record.run, wait=state != "interrupted")
    finally:
        _remove(cache.root / "scratch" / record.run)
        reporter_end = None if record.state == "running" else record.state
        if reporter_end is not None:
            if record.datasets:
                messages.emit("datasets", datasets=record.datasets)
            messages.emit("run_finished", **_summary(record))
        reporter.close()
    return RunOutcome(record.run, record.state, record.folder, record, record.report)


def _tell_trust(cache: Cache, record: RunRecord, messages: RunMessages) -> None:
    """Say which recipes of others did not count, or did because the run was asked to trust them."""
    record.trust = cache.acceptance.to_json()
    for message in cache.acceptance.messages():
        messages.emit("note", message=message)


def machine_record(facts: Mapping[str, Json], environment: RunEnvironment) -> dict[str, Json]:
    """Return what a run's record says of the machine; `facts` are those of `machine_facts`."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return {**facts, "versions": versions, "cores": environment.cores, "backend": environment.backend}


def sweep(cache: Cache) -> None:
    """Remove what runs and writers that were killed left."""
    cache.sweep()  # first, since it refuses links to folders that are not to be followed
    left = cache.files.names("scratch")
    if left:
        alive = {record["run"] for record in list_runs(cache.root) if still_runs(record)}
        for name in left:
            if name not in alive:
                with suppress(OSError):
                    cache.files.remove(f"scratch/{name}")


def _remove(folder: Path) -> None:
    if folder.exists():
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _summary(record: RunRecord) -> dict[str, Json]:
    return {
        "run": record.run,
        "state": record.state,
        "seconds": round(record.seconds, 3),
        **{name: record.count(name) for name in COUNTED},
        "not_run": record.count("not run"),
        "report": record.report,
    }


def _report(record: RunRecord, work: Work, cache: Cache, messages: RunMessages) -> str | None:
    """Write the run's report, or say where the last one of the same recipes is if nothing was computed.

    A run that was killed before its report leaves it to the next one.
    """
    recipes = {stage.recipe for stage in record.stages.values() if stage.recipe}
    last = last_report(cache.root, str(record.workflow["path"]), recipes)
    if last is not None and not work.computed and not messages.failures:
        return last
    if record.state == "interrupted" or not record.kept:
        return last
    from gravel.pipeline.core.errors import DamagedArtifact, GravelError
    from gravel.pipeline.report.page import write_run_report

    try:
        return str(write_run_report(record.folder, record.to_json(), cache))
    except DamagedArtifact as damage:
        cache.quarantine(damage.artifact_id, damage.reason)
        messages.emit("note", message=f"the report could not be written: {damage}; the next run makes both")
        return None
    except (GravelError, OSError) as error:
        message = (explain(error, cache.root) if isinstance(error, OSError) else None) or error
        messages.emit("note", message=f"the report could not be written: {message}")
        return None
