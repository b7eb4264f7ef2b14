"""The one entry for a plan: carry it out under the run's record, lease and interrupt handling."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.file_modes import make_root
from gravel.pipeline.core.hardware import machine_facts
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.plan.unable import without_unable
from gravel.pipeline.progress.events import QuietReporter
from gravel.pipeline.records.record import RunRecord
from gravel.pipeline.scheduler.before_the_run import before_the_run
from gravel.pipeline.scheduler.data_set_changes import gone, last_data_sets, new_and_gone
from gravel.pipeline.scheduler.driver import Driver
from gravel.pipeline.scheduler.lifecycle import machine_record, run_to_end, sweep
from gravel.pipeline.scheduler.loading_here import LoadingHere
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
from gravel.pipeline.scheduler.outline import outline_of
from gravel.pipeline.scheduler.reporting import RunReport
from gravel.pipeline.scheduler.small_runs import without_workers
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.files import storage_errors
from gravel.stages.copies import copies

if TYPE_CHECKING:
    from pathlib import Path


def execute(plan: Plan, options: RunOptions) -> RunOutcome:
    """Compute what is not cached and return how it went.

    Raises RequestError for what is refused before anything starts (no such GPU, it cannot fit, a file that
    is missing). Stage failures are part of the outcome, not raised.
    """
    began = time.time()
    environment = decide(options)
    plan = without_unable(plan, environment.backend_of)
    reporter = options.reporter or QuietReporter()
    cache = Cache(options.cache_root, trust_remote=options.trust_remote)
    environment = without_workers(environment, plan, options, cache)
    facts = machine_facts(environment.backend, devices=environment.devices)
    record = RunRecord(
        options.cache_root, outline_of(plan), machine_record(facts, environment), options.to_json()
    )
    report = RunReport(plan, record, reporter, cache)
    cache.say = lambda message: report.emit("note", message=message)
    with storage_errors(cache.root):
        make_root(cache.root)
    sweep(cache)
    before_the_run(report.spans, began)
    loading = LoadingHere(environment, plan, report.spans)
    digests = FileDigests(cache.root, fetch=True, on_new=loading.expect_work)
    driver = Driver(plan, digests, cache, environment, options, report, facts, loading)
    work = _Planned(plan, driver, report, cache.root)
    return run_to_end(work, record, report, cache, reporter, cache.lease(record.run))


class _Planned:
    """The work of a plan: what came and went among the data sets, then the driver's."""

    def __init__(self, plan: Plan, driver: Driver, report: RunReport, root: Path) -> None:
        self._plan = plan
        self._driver = driver
        self._report = report
        self._root = root
        self.interrupt = driver.interrupt
        self.only_serve = driver.only_serve

    @property
    def computed(self) -> int:
        return self._driver.computed

    def run(self) -> str:
        record, workflow = self._report.record, self._plan.workflow
        past = last_data_sets(self._root, workflow)
        record.gone = gone(past, workflow)
        for message in new_and_gone(past, workflow):
            self._report.emit("note", message=message)
        with copies(self._copy):
            state = self._driver.run()
        record.datasets = self._driver.data_sets(past)
        return state

    def _copy(self, url: str) -> str:
        from gravel.pipeline.datasets.downloads import fetched_copy

        return fetched_copy(self._root, url)
