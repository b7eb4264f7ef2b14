"""Which runs need no workers: starting them would take a good part of the time of the run."""

from __future__ import annotations

from dataclasses import replace

from gravel.pipeline.plan.model import Plan
from gravel.pipeline.plan.sizes import plan_extents
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.cache import Cache

MAX_RUNS = 16
"""On the CPU more stage runs than this are worth workers, which carry out several at once."""

MAX_GPU_RUNS = 64
"""One GPU's one worker carries out one at a time too. But it protects a run of an hour from a crash, and
starts in the time of some ten short stages."""

MAX_STAGE_BYTES = 2 << 30
"""Bytes that a stage may need on the CPU. A verified search of a text of 233 MB, whose largest stage states
992 MiB, takes 3.1 s without workers on 2 cores and 4.4 s with two: they start in 0.9 s, and import what
stages use. Larger stages leave cores idle that several workers would use."""

MAX_MEMORY_SHARE = 0.25
"""Share of the memory that a stage may need: if memory runs out, the run itself is what the system ends."""


def without_workers(
    environment: RunEnvironment, plan: Plan, options: RunOptions, cache: Cache
) -> RunEnvironment:
    """Return the environment of a run that is carried out in this process if it is small enough.

    That is where gravel chooses (`--cluster auto`, no `--workers`) and would start local workers, or workers
    of GPUs of which the run can use but one at a time. A stage that is not gravel's own may end its process,
    and one with a time limit needs one that can be ended.
    """
    if options.cluster != "auto" or options.workers is not None:
        return environment
    if environment.cluster not in ("local", "cuda"):
        return environment
    on_gpu = environment.cluster == "cuda"
    if len(plan.runs) > (MAX_GPU_RUNS if on_gpu else MAX_RUNS):
        return environment
    for run in plan.runs.values():
        ranks = run.stage.ranks(run.parameters) if run.stage.ranks is not None else 0
        if run.stage.origin is not None or run.time_limit is not None or ranks > 1:
            return environment
    needs = plan_extents(plan, cache, environment.likely_machine)
    most = int(environment.capacity.host_bytes * MAX_MEMORY_SHARE)
    if not on_gpu:
        most = min(most, MAX_STAGE_BYTES)
    if len(needs) < len(plan.runs) or any(need.host_bytes > most for need in needs.values()):
        return environment
    if len(environment.devices) > 1 and on_gpu:
        if any(need.gang > 1 for need in needs.values()) or not _one_after_the_other(plan, environment):
            return environment
        return replace(environment, cluster="inline", devices=environment.devices[:1])
    return replace(environment, cluster="inline")


def _one_after_the_other(plan: Plan, environment: RunEnvironment) -> bool:
    """Say whether each run on a GPU rests on the one before it, so that no two ever run at once."""
    before: dict[str, set[str]] = {}
    last: str | None = None
    for key, run in plan.runs.items():
        before[key] = {*run.upstream, *(each for source in run.upstream for each in before.get(source, ()))}
        if environment.backend_of(run.stage) == "cuda":
            if last is not None and last not in before[key]:
                return False
            last = key
    return True
