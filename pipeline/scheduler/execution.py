"""The one entry for a plan: carry it out under the run's record, lease and interrupt handling."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.files import make_root
from gravel.pipeline.core.hardware import machine_facts
from gravel.pipeline.plan.model import without_unable
from gravel.pipeline.progress.events import QuietDisplay
from gravel.pipeline.records.past_runs import list_runs, still_runs
from gravel.pipeline.records.record import EXPORT, RUN, Outline, RunRecord
from gravel.pipeline.scheduler import outcome
from gravel.pipeline.scheduler.machine import RunOptions, decide, without_workers
from gravel.pipeline.scheduler.node import ENDED, NOT_RUN, WAITING, WANTED
from gravel.pipeline.scheduler.run import Run
from gravel.pipeline.scheduler.run_events import RunEvents
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.failures import ReadOnly, storage_errors
from gravel.pipeline.store.folder import scratch_path
from gravel.pipeline.workflow.nodes import as_data
from gravel.stages.urls import copies, hidden

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from gravel.pipeline.export.tables import Table
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.records.profile import Spans
    from gravel.pipeline.scheduler.node import Node

__all__ = ["execute", "outline_of", "sweep"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def execute(plan: Plan, options: RunOptions) -> outcome.RunOutcome:
    """Compute what is not cached and return how it went.

    Raises RequestError for what is refused before anything starts (no such GPU, it cannot fit, a file that
    is missing). Stage failures are part of the outcome, not raised.
    """
    began = time.time()
    environment = decide(options)
    plan = without_unable(plan, environment.backend_of)
    cache = Cache(options.cache_root, trust_remote=options.trust_remote)
    files = outcome.output_files(plan, cache.root) if options.kind == RUN else []
    environment = without_workers(environment, plan, options, cache)
    facts = machine_facts(environment.backend, devices=environment.devices)
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    machine = {**facts, "versions": versions, "cores": environment.cores, "backend": environment.backend}
    record = RunRecord(options.cache_root, outline_of(plan), machine, options.to_json(), options.kind)
    display = options.display or QuietDisplay()
    events = RunEvents(plan, record, display, cache)
    cache.say = lambda message: events.emit("note", message=message)
    with storage_errors(cache.root):
        make_root(cache.root)
    sweep(cache)
    _take_start(events.spans, began, options.began)
    try:
        return _run_to_end(Run(plan, cache, environment, options, events, facts), files)
    finally:
        display.close()


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


@contextmanager
def on_interrupt(first: Callable[[], None]) -> Iterator[None]:
    """Call `first` on the first Ctrl-C or SIGTERM while the block runs; the second ends the process.

    Workers end with the process, since each watches a pipe to it. Only a process's main thread may do
    this; elsewhere the block runs unguarded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    count = 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"stopped at once\n")
            os._exit(130)
        first()

    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def sweep(cache: Cache) -> None:
    """Remove what runs and writers that were killed left."""
    cache.sweep()  # first, since it refuses links to folders that are not to be followed
    left = cache.files.names("scratch")
    if left:
        alive = {record["run"] for record in list_runs(cache.root, exports=True) if still_runs(record)}
        for name in left:
            if name not in alive:
                with suppress(OSError):
                    cache.files.remove(scratch_path(name))


def _take_start(spans: Spans, began: float, commanded: float | None) -> None:
    """Add how long the process took to start, to 10 ms, and to plan until now.

    A process that is not a command of gravel's may have done anything before `began`.
    """
    if commanded is not None:
        began = commanded
        with suppress(OSError, ValueError, IndexError):
            ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
            uptime = float(Path("/proc/uptime").read_text().split()[0])
            started = time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
            spans.add("start", started, commanded - started)
    spans.add("plan", began, time.time() - began)


def _run_to_end(run: Run, files: Sequence[Table]) -> outcome.RunOutcome:
    """Carry a run out from its first record to its page, under its lease; results are written to files.

    Raises what its work raises, after the record says so. An export that computes nothing leaves no record.
    From a cache that cannot be written what is cached is served, and nothing of the run is kept; `ReadOnly`
    is raised if something is not cached.
    """
    events, cache = run.events, run.cache
    record = events.record
    read_only: ReadOnly | None = None
    try:
        with ExitStack() as resident:
            resident.enter_context(on_interrupt(run.interrupt))
            try:
                resident.enter_context(cache.lease(record.run))
                with storage_errors(cache.root):
                    record.write()
            except ReadOnly as error:
                record.kept = False
                read_only = error
                message = f"the cache {cache.root} cannot be written: what it holds is served"
                events.emit("note", message=f"{message}, and the run leaves no record")
            events.emit(
                "run_started",
                run=record.run,
                workflow=record.workflow["name"],
                stages=len(record.stages),
                data_sets=events.data_sets,
                folder=str(record.folder),
            )
            try:
                state = _carry_out(run, read_only)
                if files and state != "interrupted":
                    with events.spans.take("outputs"):
                        state = outcome.write_files(files, events, cache, state)
            except BaseException as error:
                record.problem = str(error) or type(error).__name__
                events.end("failed")
                raise
            events.end(state)
            with events.spans.take("page"):
                record.report = outcome.write_page(events, cache)
            events.write()
            if record.kind == EXPORT and state == "done" and not record.count("computed"):
                record.discard()
        if record.kept:
            cache.finish_pushes(record.run, wait=state != "interrupted")
    finally:
        if (scratch := cache.root / scratch_path(record.run)).exists():
            import shutil

            shutil.rmtree(scratch, ignore_errors=True)
        if record.state != "running":
            if record.datasets:
                events.emit("datasets", datasets=record.datasets)
            events.emit("run_finished", **outcome.summary(record))
    return outcome.RunOutcome(record.run, record.state, record.folder, record, record.report)


def _carry_out(run: Run, read_only: ReadOnly | None) -> str:
    """Look up and compute; report which data sets came and went, and which results of others counted."""
    events, cache, workflow = run.events, run.cache, run.plan.workflow
    record = events.record
    data_sets = outcome.DataSets(cache.root, workflow)
    record.gone = data_sets.gone
    for message in data_sets.messages():
        events.emit("note", message=message)
    with copies(partial(_copy, cache.root)):
        state = _compute(run, read_only)
    record.datasets = data_sets.rows(run.nodes, record.stages)
    record.trust = cache.acceptance.to_json()
    for message in cache.acceptance.messages():
        events.emit("note", message=message)
    return state


def _compute(run: Run, read_only: ReadOnly | None) -> str:
    """Look all stage runs up, and have a driver compute those that are not cached.

    Returns "done", "failed" or "interrupted". A run that finds everything imports no driver. `read_only` says
    why nothing can be computed: it is raised if something would have to be.
    """
    nodes, events = run.nodes, run.events
    try:
        for node in nodes.in_state(NOT_RUN):
            events.not_run(node)
        with events.spans.take("look up"):
            run.resolver.resolve_ready()
        missing = nodes.in_state(WANTED, WAITING)
        if missing and read_only is not None:
            raise _not_served(read_only, missing)
        if missing and not run.interrupted:
            from gravel.pipeline.scheduler.driver import Driver

            chosen = without_workers(run.environment, run.plan, run.options, run.cache, nodes)
            if chosen is not run.environment:  # what is being loaded for this one is not loaded again
                run.use(chosen)
            Driver(run).drive()
    except KeyboardInterrupt:
        run.interrupted = True
    finally:
        if run.digests.fetches is not None:
            events.fetched(run.digests.fetches)
            run.digests.fetches.stop()
    if run.interrupted and nodes.unfinished:
        for node in nodes:
            if node.state not in ENDED:
                events.interrupted(node)
        return "interrupted"
    return "failed" if events.record.count("failed") else "done"


def _not_served(why: ReadOnly, missing: Sequence[Node]) -> ReadOnly:
    """Return the refusal of a run that has something to compute and a cache that cannot be written."""
    named = ", ".join(node.key for node in missing[:3]) + (", ..." if len(missing) > 3 else "")
    problem = why.problems[0]
    return ReadOnly(f"{problem.message}, and {named} would have to be computed", hint=problem.hint)


def _copy(root: Path, url: str) -> str:
    from gravel.pipeline.datasets.downloads import fetched_copy

    return fetched_copy(root, url)
