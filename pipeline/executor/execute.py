"""The one entry: carry out a plan under the run's record, lease and interrupt handling."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from pipeline.datasets import local_copy
from pipeline.datasets.changes import gone, last_data_sets, new_and_gone
from pipeline.errors import DamagedArtifact, GravelError
from pipeline.executor.driver import Driver
from pipeline.executor.interrupt import on_interrupt
from pipeline.executor.machine import Setting, decide
from pipeline.executor.options import RunOptions, RunOutcome
from pipeline.executor.reporting import RunReport
from pipeline.file_digest import FileDigests
from pipeline.hardware import machine_facts
from pipeline.plan import Plan
from pipeline.progress import QuietReporter
from pipeline.runs import RunRecord, last_report, list_runs, still_runs
from pipeline.store import Cache
from pipeline.store.files import storage_errors
from stages.artifacts import Json
from stages.copies import copies


def execute(plan: Plan, options: RunOptions) -> RunOutcome:
    """Compute what is not cached and return how it went.

    Raises RequestError for what is refused before anything starts (no such GPU, it cannot fit, a file that
    is missing). Stage failures are part of the outcome, not raised.
    """
    setting = decide(options)
    reporter = options.reporter or QuietReporter()
    cache = Cache(options.cache_root)
    facts = machine_facts(setting.backend)
    record = RunRecord(options.cache_root, plan, _machine(facts, setting), options.to_json())
    report = RunReport(plan, record, reporter, cache)
    cache.say = lambda message: report.emit("note", message=message)
    _sweep_scratch(cache)
    cache.sweep()
    digests = FileDigests(cache.root)
    driver = Driver(plan, digests, cache, setting, options, report, facts)
    try:
        with cache.lease(record.run), on_interrupt(driver.interrupt):
            with storage_errors(cache.root):
                record.write()
            report.emit(
                "run_started",
                run=record.run,
                workflow=plan.workflow.name,
                stages=len(plan.runs),
                folder=str(record.folder),
            )
            past = last_data_sets(cache.root, plan.workflow)
            record.gone = gone(past, plan.workflow)
            for message in new_and_gone(past, plan.workflow):
                report.emit("note", message=message)
            try:
                with copies(lambda url: local_copy(options.cache_root, url)):
                    state = driver.run()
                record.datasets = driver.data_sets(past)
            except BaseException as error:
                record.problem = str(error) or type(error).__name__
                report.end("failed")
                raise
            report.end(state)
            record.report = _report(plan, record, driver, cache, report)
            report.write()
        cache.settle(record.run, wait=state != "interrupted")
    finally:
        shutil.rmtree(cache.root / "scratch" / record.run, ignore_errors=True)
        reporter_end = None if record.state == "running" else record.state
        if reporter_end is not None:
            if record.datasets:
                report.emit("datasets", datasets=record.datasets)
            report.emit("run_finished", **_summary(record))
        reporter.close()
    return RunOutcome(record.run, record.state, record.folder, record.to_json(), record.report)


def _machine(facts: Mapping[str, Json], setting: Setting) -> dict[str, Json]:
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return {**facts, "versions": versions, "cores": setting.cores, "backend": setting.backend}


def _summary(record: RunRecord) -> dict[str, Json]:
    return {
        "run": record.run,
        "state": record.state,
        "seconds": round(record.seconds, 3),
        **{name: record.count(name) for name in ("computed", "cached", "failed", "skipped", "interrupted")},
        "report": record.report,
    }


def _report(plan: Plan, record: RunRecord, driver: Driver, cache: Cache, report: RunReport) -> str | None:
    """Write the run's report, or say where the last one is if nothing was computed.

    A run that was killed before its report leaves it to the next one.
    """
    last = last_report(cache.root, str(plan.workflow.path))
    if last is not None and not driver.computed and not report.failures:
        return last
    if record.state == "interrupted":
        return None
    from pipeline.report import write_run_report

    try:
        return str(write_run_report(record.folder, record.to_json(), cache))
    except DamagedArtifact as damage:
        cache.quarantine(damage.artifact_id, damage.reason)
        report.emit("note", message=f"the report could not be written: {damage}; the next run makes both")
        return None
    except (GravelError, OSError) as error:
        report.emit("note", message=f"the report could not be written: {error}")
        return None


def _sweep_scratch(cache: Cache) -> None:
    """Remove what runs that were killed left in the scratch folder."""
    folder = cache.root / "scratch"
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    alive = {record["run"] for record in list_runs(cache.root) if still_runs(record)}
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name not in alive:
            shutil.rmtree(entry, ignore_errors=True)
