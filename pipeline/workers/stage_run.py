"""What runs where a stage runs: load the inputs, run the stage, publish, and answer with plain data.

A failure is an answer too: a task that raises would make Dask print a traceback.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.records.profile import Spans
from gravel.pipeline.store.exchange import Exchange
from gravel.pipeline.workers.context import Services, WorkerContext
from gravel.pipeline.workers.failure import explain_error
from gravel.pipeline.workers.own_tier import put_into_store, refuse_other_files
from gravel.pipeline.workers.parts import Parts
from gravel.pipeline.workers.peak import Peak, free_on_device
from gravel.pipeline.workers.protocol import Compiles, StageOutcome, StageTask
from gravel.pipeline.workers.results_in_memory import (
    PREFIX,
    RESIDENT,
    extent_in_memory,
    in_host_memory,
    keep_resident,
    read_only,
)
from gravel.stages.urls import copies, is_url

if TYPE_CHECKING:
    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.pipeline.workers.failure import StageLog
    from gravel.stages.artifact import Artifact

DEVICE_SHARE = 0.5
"""Share of a GPU's memory for results that stay there between stages."""


def run_stage(task: StageTask, services: Services) -> StageOutcome:
    """Run one stage to its result; never raises, except KeyboardInterrupt."""
    import numpy  # noqa: F401 (so that the stage's peak does not count loading it)

    def compiles(kernel: str | None) -> None:
        services.tell(Compiles(task.key, kernel))

    compiled_before = COMPILE_TIME.seconds
    started, clock = time.time(), time.perf_counter()
    log = services.log(task)
    spans = Spans(kept=task.profile)
    kernels: list[str] = []
    peak = Peak(device=task.machine.backend == "cuda")
    try:
        _limit_threads(task)
        with peak, COMPILE_TIME.listened(compiles) as kernels:
            outcome = _compute(task, services, log, spans)
    except Exception as error:
        state, failure = explain_error(error, task, log)
        artifact = error.artifact_id if isinstance(error, DamagedArtifact) else None
        outcome = StageOutcome(task.key, state, failure=failure, artifact=artifact)
    finally:
        if task.scratch.exists():
            shutil.rmtree(task.scratch, ignore_errors=True)
    return replace(
        outcome,
        started=started,
        seconds=time.perf_counter() - clock,
        peak_host_bytes=peak.host_bytes + services.extra_host_bytes(),
        peak_device_bytes=peak.device_bytes,
        spans=tuple(spans.taken),
        compile_seconds=COMPILE_TIME.seconds - compiled_before,
        compiled=tuple(kernels),
        host=socket.gethostname(),
        process=os.getpid(),
    )


def _limit_threads(task: StageTask) -> None:
    if task.stage.origin is None and not task.stage.run.__module__.startswith("gravel.stages."):
        return
    from gravel.kernels.threads import set_threads

    set_threads(task.machine.threads)
    if task.stage.origin is not None and "numba" in sys.modules:
        import numba  # another thread may be in the middle of it

        numba.set_num_threads(max(1, min(task.machine.threads, numba.config.NUMBA_NUM_THREADS)))


def _compute(task: StageTask, services: Services, log: StageLog, spans: Spans) -> StageOutcome:
    if task.store is not None:
        refuse_other_files(task)
    task = _with_room_on_device(task, log)
    parts = Parts(task, services, log)
    context = WorkerContext(task, services, log, parts.get, parts.make_ahead)
    inputs: dict[str, Any] = {}
    with spans.take("read"):
        for slot, ids in task.inputs.items():
            loaded = tuple(_input(task, name) for name in ids)
            inputs[slot] = loaded if task.stage.inputs[slot].many else loaded[0]
        downloaded = _download(task, context)
    with ExitStack() as stack:
        if task.keep and not task.in_memory:
            durable = task.host != socket.gethostname()
            context.writer = stack.enter_context(task.cache.writer(task.run, durable=durable))
        stack.enter_context(copies(downloaded.get))
        stack.enter_context(parts)
        artifacts = _run(task, context, inputs, spans, services)
        outcome = None if context.writer is None else _write(task, artifacts, context.writer, spans)
    if outcome is None:
        outcome = _keep_in_memory(task, artifacts, services, spans)
    outcome = replace(outcome, remarks=(*context.remarks, *parts.remarks), parts=str(parts))
    if task.store is not None:
        with spans.take("publish"):
            outcome = put_into_store(task, outcome)
    return outcome


def _run(
    task: StageTask, context: WorkerContext, inputs: dict[str, Any], spans: Spans, services: Services
) -> tuple[Artifact, ...]:
    began, before = time.time(), COMPILE_TIME.seconds
    # What is written behind would take cores from a measurement.
    quiet = services.write_behind.paused() if task.stage.is_timed(task.parameters) else nullcontext()
    with spans.take("compute"), quiet:
        result = task.stage.run(context, task.parameters, **inputs)
    spans.add("compile", began, COMPILE_TIME.seconds - before)
    artifacts = result if isinstance(result, tuple) else (result,)
    kinds = tuple(type(artifact).__name__ for artifact in artifacts)
    if kinds != task.stage.outputs:
        raise TypeError(f"stage {task.stage.name} declares {task.stage.outputs} and returned {kinds}")
    return artifacts


def _with_room_on_device(task: StageTask, log: StageLog) -> StageTask:
    """Let the GPU keep what the stage leaves room for; returns the task with the memory that is left."""
    if task.machine.backend != "cuda":
        return task
    from gravel.kernels.placement.device_copies import COPIES

    memory = task.machine.device_memory
    COPIES.budget = int(memory * DEVICE_SHARE)
    COPIES.make_room(memory - task.device_bytes)
    left = memory - COPIES.bytes
    if task.device_bytes and (free := free_on_device()) is not None and free < left:
        # Others may have taken some of it since the run was planned.
        log.write(f"{left:,} bytes of GPU memory were planned with, and {free:,} are free now")
        left = free
    return replace(task, machine=replace(task.machine, device_memory=left))


def _input(task: StageTask, name: str) -> Artifact:
    """Take an input from this process's memory, or from its files: ranks in other processes map these."""
    artifact = None if task.rank_group else RESIDENT.get(name)
    if artifact is None:
        artifact = _from_files(task, name)
    # Its own stages are tested not to write into what they read; NumPy sees to it that others do not.
    return artifact if task.stage.origin is None else read_only(artifact)


def _from_files(task: StageTask, name: str) -> Artifact:
    record = task.records.get(name)
    if record is not None and task.store is not None:
        return Exchange(task.cache, task.run).open(record.id)
    if record is not None:
        from gravel.pipeline.store.reader import open_artifact

        return open_artifact(record)
    if name.startswith(PREFIX):
        raise DamagedArtifact(name, "the worker that had it in memory is gone")
    return task.cache.open(name)


def _download(task: StageTask, context: WorkerContext) -> dict[str, str]:
    """Bring the files from the web that a stage reads under the cache; returns the paths by URL."""
    wanted = [file for file in task.stage.files(task.parameters) if is_url(file.location)]
    if not wanted:
        return {}
    from gravel.pipeline.datasets.downloads import Downloads, is_fetched

    downloads = Downloads(task.cache.root)
    return {
        file.location: str(
            downloads.fetch(
                file.location,
                file.sha256,
                wanted=task.contents.get(file.location) if file.sha256 is None else None,
                progress=lambda done, total: context.progress(done, total, "B"),
                log=context.log,
            ).path
        )
        for file in wanted
        if is_fetched(file.location)
    }


def _write(
    task: StageTask, artifacts: tuple[Artifact, ...], writer: ArtifactWriter, spans: Spans
) -> StageOutcome:
    with spans.take("write"):
        prepared = tuple(writer.prepare(artifact) for artifact in artifacts)
    records = [each.record for each in prepared]
    return StageOutcome(
        task.key,
        "computed",
        outputs=tuple(record.id for record in records),
        extents=tuple(record.extent for record in records),
        bytes=sum(record.bytes for record in records),
        bytes_on_disk=sum(record.bytes_on_disk for record in records),
        prepared=prepared,
    )


def _keep_in_memory(
    task: StageTask, artifacts: tuple[Artifact, ...], services: Services, spans: Spans
) -> StageOutcome:
    if task.machine.backend == "cuda":
        with spans.take("copy"):
            artifacts = tuple(map(in_host_memory, artifacts))
    extents = tuple(extent_in_memory(artifact) for artifact in artifacts)
    size = sum(extent.bytes for extent in extents)
    if task.keep:
        from gravel.pipeline.store.identity import identify

        with spans.take("digest", size):
            names = tuple(identify(artifact, task.machine.threads) for artifact in artifacts)
    else:
        names = tuple(f"{PREFIX}{task.recipe}:{position}" for position in range(len(artifacts)))
    keep_resident(names, artifacts)
    if task.keep:
        services.write_behind.add(task, artifacts, names, services.tell)
    return StageOutcome(task.key, "computed", outputs=names, extents=extents, bytes=size, behind=task.keep)
