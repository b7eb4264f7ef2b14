"""The one entry for a plan: carry it out under the run's record, lease and interrupt handling."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.files import make_root
from gravel.pipeline.core.hardware import machine_facts
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.datasets.local_copies import fetched_copy
from gravel.pipeline.plan.model import without_unable
from gravel.pipeline.plan.recipes import RecipeMaker
from gravel.pipeline.progress.events import QuietReporter
from gravel.pipeline.records.past_runs import last_report, list_runs, still_runs
from gravel.pipeline.records.record import Outline, RunRecord
from gravel.pipeline.scheduler.data_set_changes import gone, last_data_sets, new_and_gone
from gravel.pipeline.scheduler.interrupt import on_interrupt
from gravel.pipeline.scheduler.loading_here import LoadingHere
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.node import ENDED, NOT_RUN, WAITING, WANTED
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
from gravel.pipeline.scheduler.reporting import RunReport
from gravel.pipeline.scheduler.resolving import Resolver
from gravel.pipeline.scheduler.small_runs import without_workers
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.failures import ReadOnly, explain, storage_errors
from gravel.pipeline.workflow.scalars import as_data
from gravel.stages.copies import copies
from gravel.stages.urls import hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.data_set_changes import Past
    from gravel.pipeline.scheduler.driver import Driver
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.workers.spans import Spans
    from gravel.stages.artifact import Json

__all__ = ["execute", "outline_of", "sweep"]

COUNTED = ("computed", "cached", "failed", "skipped", "interrupted")
"""States that a run's last line counts."""


def execute(plan: Plan, options: RunOptions) -> RunOutcome:
    """Compute what is not cached and return how it went.

    Raises RequestError for what is refused before anything starts (no such GPU, it cannot fit, a file that
    is missing). Stage failures are part of the outcome, not raised.
    """
    began = time.time()
    environment = decide(options)
    plan = without_unable(plan, environment.backend_of)
    cache = Cache(options.cache_root, trust_remote=options.trust_remote)
    environment = without_workers(environment, plan, options, cache)
    facts = machine_facts(environment.backend, devices=environment.devices)
    record = RunRecord(
        options.cache_root, outline_of(plan), _machine_record(facts, environment), options.to_json()
    )
    reporter = options.reporter or QuietReporter()
    report = RunReport(plan, record, reporter, cache)
    cache.say = lambda message: report.emit("note", message=message)
    with storage_errors(cache.root):
        make_root(cache.root)
    sweep(cache)
    _take_start(report.spans, began, options.began)
    try:
        return _run_to_end(_Work(plan, cache, environment, options, report, facts))
    finally:
        reporter.close()


class _Work:
    """The stage runs of a plan: looked up, and computed by a driver if some are not cached.

    A run that finds everything imports no driver. `read_only` says why nothing can be computed: it is raised
    if something would have to be.
    """

    def __init__(
        self,
        plan: Plan,
        cache: Cache,
        environment: RunEnvironment,
        options: RunOptions,
        report: RunReport,
        facts: dict[str, Json],
    ) -> None:
        self.plan, self.cache, self.report = plan, cache, report
        self.read_only: ReadOnly | None = None
        self._environment, self._options, self._facts = environment, options, facts
        self._loading = LoadingHere(environment, plan, report.spans)
        self._digests = FileDigests(cache.root, fetch=True, on_new=self._loading.expect_work)
        self._nodes = Nodes(plan)
        maker = RecipeMaker(plan, cache, self._digests, environment.hardware_of)
        self._resolver = Resolver(self._nodes, maker, cache, report)
        self._driver: Driver | None = None
        self._interrupted = False

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        self._interrupted = True
        if self._driver is not None:
            self._driver.interrupt()

    def run(self) -> str:
        """Report each stage run; returns "done", "failed" or "interrupted"."""
        try:
            for node in self._nodes.in_state(NOT_RUN):
                self.report.not_run(node)
            with self.report.spans.take("look up"):
                self._resolver.resolve_ready()
            missing = self._nodes.in_state(WANTED, WAITING)
            if missing and self.read_only is not None:
                raise _not_served(self.read_only, missing)
            if missing and not self._interrupted:
                self._compute()
        except KeyboardInterrupt:
            self._interrupted = True
        finally:
            if self._digests.fetches is not None:
                self.report.fetched(self._digests.fetches)
                self._digests.fetches.stop()
        if self._interrupted and self._nodes.unfinished:
            for node in self._nodes:
                if node.state not in ENDED:
                    self.report.interrupted(node)
            return "interrupted"
        return "failed" if self.report.record.count("failed") else "done"

    def _compute(self) -> None:
        from gravel.pipeline.scheduler.driver import Driver

        self._driver = Driver(
            self._resolver,
            self._digests,
            self.cache,
            self._environment,
            self._options,
            self.report,
            self._facts,
            self._loading,
        )
        self._driver.interrupted = self._interrupted
        self._driver.run()
        self._interrupted = self._driver.interrupted

    def data_sets(self, past: Past | None) -> list[dict[str, Json]]:
        """Sum up how each data set fared; `past` is what the last run had."""
        if not self.plan.workflow.datasets:
            return []
        from gravel.pipeline.scheduler.data_set_rows import data_set_rows

        rows = data_set_rows(self.plan, self.report.record.stages, self._nodes.by_key, past)
        return [row.to_json() for row in rows]


def _not_served(why: ReadOnly, missing: Sequence[Node]) -> ReadOnly:
    """Return the refusal of a run that has something to compute and a cache that cannot be written."""
    named = ", ".join(node.key for node in missing[:3]) + (", ..." if len(missing) > 3 else "")
    problem = why.problems[0]
    return ReadOnly(f"{problem.message}, and {named} would have to be computed", hint=problem.hint)


def outline_of(plan: Plan) -> Outline:
    """Return what the record of a run says of its plan."""
    workflow = plan.workflow
    return Outline(
        {
            "name": workflow.name,
            "about": workflow.about,
            "path": str(workflow.path),
            "file": str(workflow.path.absolute()),
            "parameters": hidden(as_data(dict(workflow.parameters), written=True)),
            "matrix": hidden({axis: list(values) for axis, values in workflow.matrix.items()}),
        },
        [
            {
                "key": key,
                "entry": run.entry,
                "stage": run.stage.name,
                "upstream": run.upstream,
                "coordinates": run.coordinates,
                **({} if run.not_run is None else {"state": "not run", "why": [run.not_run]}),
            }
            for key, run in plan.runs.items()
        ],
    )


def _machine_record(facts: Mapping[str, Json], environment: RunEnvironment) -> dict[str, Json]:
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


def _take_start(spans: Spans, began: float, commanded: float | None) -> None:
    """Add how long the process took to start, and to plan until now.

    A process that is not a command of gravel's may have done anything before `began`.
    """
    if commanded is not None:
        started = _process_started()
        if started is not None:
            spans.add("start", started, commanded - started)
        began = commanded
    spans.add("plan", began, time.time() - began)


def _process_started() -> float | None:
    """Return when this process was started, in seconds since the epoch, to 10 ms; None if that is unknown."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def _run_to_end(work: _Work) -> RunOutcome:
    """Do a run's work from its first record to its page, under its lease.

    Raises what the work raises, after the record says so. From a cache that cannot be written what is
    cached is served, and nothing of the run is kept; `ReadOnly` is raised if something is not cached.
    """
    report, cache = work.report, work.cache
    record = report.record
    try:
        with ExitStack() as resident:
            resident.enter_context(on_interrupt(work.interrupt))
            try:
                resident.enter_context(cache.lease(record.run))
                with storage_errors(cache.root):
                    record.write()
            except ReadOnly as error:
                record.kept = False
                work.read_only = error
                report.emit(
                    "note",
                    message=f"the cache {cache.root} cannot be written: what it holds is served, and the "
                    "run leaves no record",
                )
            report.emit(
                "run_started",
                run=record.run,
                workflow=record.workflow["name"],
                stages=len(record.stages),
                folder=str(record.folder),
            )
            try:
                state = _do(work)
            except BaseException as error:
                record.problem = str(error) or type(error).__name__
                report.end("failed")
                raise
            report.end(state)
            with report.spans.take("page"):
                record.report = _page(report, cache)
            report.write()
        if record.kept:
            cache.finish_pushes(record.run, wait=state != "interrupted")
    finally:
        _remove(cache.root / "scratch" / record.run)
        if record.state != "running":
            if record.datasets:
                report.emit("datasets", datasets=record.datasets)
            report.emit("run_finished", **_summary(record))
    return RunOutcome(record.run, record.state, record.folder, record, record.report)


def _do(work: _Work) -> str:
    """Do the work, and tell what came and went among the data sets, and which results of others counted."""
    report, cache, workflow = work.report, work.cache, work.plan.workflow
    record = report.record
    past = last_data_sets(cache.root, workflow)
    record.gone = gone(past, workflow)
    for message in new_and_gone(past, workflow):
        report.emit("note", message=message)
    with copies(lambda url: fetched_copy(cache.root, url)):
        state = work.run()
    record.datasets = work.data_sets(past)
    record.trust = cache.acceptance.to_json()
    for message in cache.acceptance.messages():
        report.emit("note", message=message)
    return state


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


def _page(report: RunReport, cache: Cache) -> str | None:
    """Write the run's page, or return where the last one of the same recipes is if nothing was computed.

    A run that was killed before its page leaves it to the next one.
    """
    record = report.record
    recipes = {stage.recipe for stage in record.stages.values() if stage.recipe}
    last = last_report(cache.root, str(record.workflow["path"]), recipes)
    if last is not None and not record.count("computed") and not report.failures:
        return last
    if record.state == "interrupted" or not record.kept:
        return last
    from gravel.pipeline.core.errors import DamagedArtifact, GravelError
    from gravel.pipeline.report.page import write_run_report

    try:
        return str(write_run_report(record.folder, record.to_json(), cache))
    except DamagedArtifact as damage:
        cache.quarantine(damage.artifact_id, damage.reason)
        report.emit("note", message=f"the report could not be written: {damage}; the next run makes both")
        return None
    except (GravelError, OSError) as error:
        message = (explain(error, cache.root) if isinstance(error, OSError) else None) or error
        report.emit("note", message=f"the report could not be written: {message}")
        return None
