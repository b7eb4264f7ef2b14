"""What is asked of a run, and its backend, cluster and memory, which are decided before anything starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.kernels.cuda.room import usable_bytes
from gravel.kernels.settings import BadSetting, refuse_bad_settings
from gravel.pipeline.core.errors import Problem, RequestError, WorkflowError
from gravel.pipeline.core.files import config_folder
from gravel.pipeline.core.hardware import Device, core_count, find_devices, hardware
from gravel.pipeline.core.memory import (
    HOST_MEMORY,
    USABLE,
    Capacity,
    format_bytes,
    host_capacity,
    parse_bytes,
)
from gravel.pipeline.plan.status import plan_extents
from gravel.pipeline.records.record import RUN
from gravel.pipeline.workers.protocol import KINDS, SLURM, is_address, is_elsewhere
from gravel.stages.sizes import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gravel.pipeline.plan.model import Plan, StageRun
    from gravel.pipeline.progress.events import Display
    from gravel.pipeline.scheduler.nodes import Nodes
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workers.settings import Tls
    from gravel.pipeline.workers.slurm_settings import SlurmSettings
    from gravel.stages.artifact import Json
    from gravel.stages.stage import Stage

RETRIES = 2
"""How often a stage is tried again whose worker died or ran out of memory."""

RESIDENT_SHARE = 0.5
"""Default share of the host memory for results that stay in memory between stages, which need the rest."""

MAX_RUNS = 16
"""On the CPU more stage runs than this are worth workers, which carry out several at once."""

MAX_GPU_RUNS = 64
"""One GPU's one worker carries out one at a time too. But it protects a run of an hour from a crash, and
starts in the time of some ten short stages."""

MAX_STAGE_BYTES = 2 << 30
"""Bytes that a stage may need on the CPU. A verified search of a text of 233 MB, whose largest stage states
660 MiB, takes 3.1 s without workers on 2 cores and 4.4 s with two: they start in 0.9 s, and import what
stages use. Larger stages leave cores idle that several workers would use."""

MAX_MEMORY_SHARE = 0.25
"""Share of the memory that a stage may need: if memory runs out, the run itself is what the system ends."""


@dataclass(frozen=True)
class RunOptions:
    """Everything about a run that does not change its results.

    `cluster` is auto, inline, local, cuda, slurm, a scheduler's address or file; `backend` is auto,
    cpu or cuda; the memories are sizes such as `16GiB`, `resident_memory` that of results that stay in memory
    between stages, on each host; `workers` is the number of local workers; `tls` the certificates for an
    existing cluster that asks for them; with `trust_remote` recipes of others count whoever signed them;
    `profile` has each stage run say what its time went into; `began` is when the process was given its one
    command, in seconds since the epoch, if it was. `kind` is that of the run's record.
    """

    cache_root: Path
    cluster: str = "auto"
    backend: str = "auto"
    host_memory: str | None = None
    device_memory: str | None = None
    resident_memory: str | None = None
    workers: int | None = None
    fail_fast: bool = False
    retries: int = RETRIES
    display: Display | None = None
    tls: Tls | None = None
    trust_remote: bool = False
    profile: bool = False
    began: float | None = None
    kind: str = RUN

    def to_json(self) -> dict[str, Json]:
        """Return the options for the run's record."""
        recorded = (
            *("cluster", "backend", "host_memory", "device_memory", "resident_memory", "workers"),
            *("fail_fast", "retries", "trust_remote", "profile"),
        )
        return {name: getattr(self, name) for name in recorded}


@dataclass(frozen=True)
class RunEnvironment:
    """The decided setting of a run: `cluster` is inline, local, cuda, slurm or an address.
    `slurm` are the user's settings of jobs.

    `resident_bytes` are what results may take that stay in a host's memory between stages.
    """

    cluster: str
    backend: str
    devices: tuple[Device, ...]
    capacity: Capacity
    cores: int
    tls: Tls | None = None
    resident_bytes: int = 0
    slurm: SlurmSettings | None = None

    def backend_of(self, stage: Stage) -> str:
        """Return where a stage's kernels run: cuda only for stages that have kernels for it."""
        return "cuda" if self.backend == "cuda" and stage.cuda else "cpu"

    def machine(self, stage: Stage, threads: int | None = None) -> Machine:
        """Return what a run of the stage may plan with."""
        device = self.capacity.device_bytes if self.backend_of(stage) == "cuda" else 0
        return Machine(self.backend_of(stage), threads or self.cores, self.capacity.host_bytes, device)

    def hardware_of(self, stage: Stage) -> str:
        """Return what the recipe of a stage that is timed says of the machine."""
        return hardware(self.backend_of(stage), devices=self.devices)


def decide(options: RunOptions) -> RunEnvironment:
    """Decide backend and cluster; raises RequestError for what this machine cannot do."""
    try:
        refuse_bad_settings()
    except BadSetting as error:
        raise RequestError(str(error)) from None
    if options.cluster not in KINDS and not is_address(options.cluster):
        raise RequestError(
            f"{options.cluster!r} is not a cluster",
            hint=f"use one of {', '.join(KINDS)}, an address like tcp://host:8786, or a scheduler file",
        )
    if options.tls is not None and not is_address(options.cluster):
        raise RequestError(
            "certificates are given, and gravel starts this cluster itself",
            hint="--tls-ca, --tls-cert and --tls-key go with --cluster tls://host:8786 or --scheduler-file",
        )
    if options.backend not in ("auto", "cpu", "cuda"):
        raise RequestError(f"{options.backend!r} is not a backend", hint="use auto, cpu or cuda")
    if options.cluster == SLURM:
        return _decide_for_jobs(options)
    devices = () if is_address(options.cluster) and options.backend == "cpu" else find_devices()
    usable = bool(devices) and (devices[0].fake or find_spec("cupy") is not None)
    usable = usable and all(device.refusal is None for device in devices)
    if "cuda" in (options.backend, options.cluster):
        _demand_gpu(options, devices, usable)
    if options.backend == "cuda" and options.cluster == "local":
        raise RequestError(
            "--cluster local runs on the CPU, and --backend cuda asks for GPUs",
            hint="use --cluster cuda (or leave --cluster out), or --cluster inline for one GPU",
        )
    backend = options.backend
    if backend == "auto":
        backend = "cuda" if usable and options.cluster != "local" else "cpu"
    cluster = options.cluster
    if cluster == "auto":
        cluster = "cuda" if backend == "cuda" else "local"
    host, source = host_capacity(options.host_memory)
    capacity = Capacity(host, source, _device_capacity(options, devices if backend == "cuda" else ()))
    asked = options.resident_memory
    resident = int(host * RESIDENT_SHARE) if asked is None else parse_bytes(asked)
    return RunEnvironment(cluster, backend, devices, capacity, core_count(), options.tls, resident)


def _decide_for_jobs(options: RunOptions) -> RunEnvironment:
    """Decide what a run plans with whose workers are jobs: what the user's settings give each of them."""
    from gravel.pipeline.workers.slurm_settings import NAME, read_slurm_settings

    settings = read_slurm_settings()
    backend = options.backend
    if backend == "auto":
        backend = "cuda" if settings.gpus else "cpu"
    if backend == "cuda" and not settings.gpus:
        raise RequestError(
            f"--backend cuda asks for GPUs, and jobs have none by {config_folder() / NAME}",
            hint="add gpus: 1 there, and device_memory, such as 76 GiB for GPUs of 80 GB",
        )
    given = replace(options, backend=backend, device_memory=options.device_memory or settings.device_memory)
    memory = options.host_memory or settings.memory
    host = parse_bytes(memory) if options.host_memory else int(parse_bytes(memory) * USABLE)
    source = HOST_MEMORY if options.host_memory else f"{USABLE:.0%} of a job's memory of {settings.memory}"
    capacity = Capacity(host, source, _device_capacity(given, ()))
    asked = options.resident_memory
    resident = int(host * RESIDENT_SHARE) if asked is None else parse_bytes(asked)
    return RunEnvironment(
        SLURM, backend, (), capacity, settings.cores, resident_bytes=resident, slurm=settings
    )


def _demand_gpu(options: RunOptions, devices: tuple[Device, ...], usable: bool) -> None:
    if usable or is_address(options.cluster):
        return
    asked = [f"--{name} cuda" for name in ("cluster", "backend") if getattr(options, name) == "cuda"]
    demand = f"{' and '.join(asked)} {'asks' if len(asked) == 1 else 'ask'} for"
    on_cpu = f"leave {' and '.join(asked)} out to run on the CPU"
    refusal = next((device.refusal for device in devices if device.refusal is not None), None)
    if refusal is not None:
        raise RequestError(
            f"{demand} a GPU, and {refusal}",
            hint=f"let CUDA_VISIBLE_DEVICES name only newer GPUs, or {on_cpu}",
        )
    if devices:
        names = ", ".join(device.name for device in devices)
        raise RequestError(
            f"{demand} CuPy, which is not installed; the GPUs here are: {names}",
            hint=f"install gravel with its extra `gpu` (CUDA 13) or `gpu12` (CUDA 12), or {on_cpu}",
        )
    mask = os.environ.get("CUDA_VISIBLE_DEVICES")
    masked = f" (CUDA_VISIBLE_DEVICES is {mask!r})" if mask is not None else ""
    unmask = "unset CUDA_VISIBLE_DEVICES if it hides a GPU, or " if mask is not None else ""
    raise RequestError(
        f"{demand} a GPU, and no GPU with an NVIDIA driver was found here{masked}",
        hint=f"{unmask}{on_cpu}; `gravel doctor` checks the driver, and see docs/troubleshooting.md#no-gpu",
    )


def _device_capacity(options: RunOptions, devices: tuple[Device, ...]) -> Callable[[], tuple[int, str]]:
    """Return what says how many bytes of each GPU stages may use, and whence that is."""
    asked = None if options.device_memory is None else parse_bytes(options.device_memory)
    if not devices and options.backend == "cuda" and is_elsewhere(options.cluster):
        # The run is planned, and refused if it cannot fit, before the cluster is asked anything.
        if asked is None:
            raise RequestError(
                "the GPUs are elsewhere, and how much memory each has is not said",
                hint="add --device-memory, such as 76GiB for GPUs of 80 GB",
            )
        stated = (asked, "--device-memory")
        return lambda: stated
    if not devices:
        return lambda: (0, "no GPU")

    def capacity() -> tuple[int, str]:
        free, total = min((device.free_bytes, device.total_bytes) for device in devices)
        usable = usable_bytes(free)
        if asked is not None and asked <= usable:
            return asked, "--device-memory"
        where = "" if len(devices) == 1 else " on the fullest GPU"
        return usable, f"{format_bytes(free)} of {format_bytes(total)} are free{where}"

    return capacity


def without_workers(
    environment: RunEnvironment, plan: Plan, options: RunOptions, cache: Cache, nodes: Nodes | None = None
) -> RunEnvironment:
    """Return the environment of a run that is carried out in this process if it is small enough.

    Of a run that has looked its results up, that is what `nodes` have still to compute; else the whole plan.

    That is where gravel chooses (`--cluster auto`, no `--workers`) and would start local workers, or workers
    of GPUs of which the run can use but one at a time. A stage that is not gravel's own may end its process,
    and one with a time limit needs one that can be ended.
    """
    if options.cluster != "auto" or options.workers is not None:
        return environment
    if environment.cluster not in ("local", "cuda"):
        return environment
    on_gpu = environment.cluster == "cuda"
    keys, known = (plan.runs.keys(), None) if nodes is None else (nodes.to_compute(), nodes.ids)
    if len(keys) > (MAX_GPU_RUNS if on_gpu else MAX_RUNS):
        return environment
    for run in (plan.runs[key] for key in keys):
        ranks = run.stage.ranks(run.parameters) if run.stage.ranks is not None else 0
        if run.stage.origin is not None or run.time_limit is not None or ranks > 1:
            return environment
    # As if nobody else used a GPU: how much of it is free, only its driver knows.
    device = usable_bytes(min((device.total_bytes for device in environment.devices), default=0))
    capacity = replace(environment.capacity, device=lambda: (device, "all of it"))
    stated = plan_extents(plan, cache, replace(environment, capacity=capacity).machine, known, keys)
    needs = {key: need for key, need in stated.items() if key in keys}
    most = int(capacity.host_bytes * MAX_MEMORY_SHARE)
    if not on_gpu:
        most = min(most, MAX_STAGE_BYTES)
    if len(needs) < len(keys) or any(need.host_bytes > most for need in needs.values()):
        return environment
    if len(environment.devices) > 1 and on_gpu:
        if any(need.workers > 1 for need in needs.values()) or not _one_after_the_other(plan, environment):
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


def refuse_larger_groups(
    ranks: Mapping[str, int], runs: Mapping[str, StageRun], environment: RunEnvironment, workers: int | None
) -> None:
    """Raise WorkflowError, with file and line, for each run that needs more workers than there will be.

    `ranks` says, by the key of a run, how many workers it needs at the same time, and `workers` how many a
    command asks for. Local workers that nobody counted are as many as are needed, those of a cluster that is
    joined later are not known, and one process runs ranks as threads.
    """
    on_gpus = environment.cluster == "cuda"
    count = len(environment.devices) if on_gpus else workers if environment.cluster == "local" else None
    if count is None:
        return
    there = f"this machine has {count}" if on_gpus else f"--workers starts {count}"
    cure = "--cluster local on the CPU" if on_gpus else f"--workers {max(ranks.values(), default=0)}"
    problems = [
        Problem(
            f"{key} needs {needed} {'GPUs' if on_gpus else 'workers'} at the same time, and {there}",
            f"ask for {count} or fewer in the workflow, or run it with {cure}",
            runs[key].location,
        )
        for key, needed in ranks.items()
        if needed > count
    ]
    if problems:
        raise WorkflowError(problems)
