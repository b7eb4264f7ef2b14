"""What would happen if a plan were run here and now: shared by the verbs `plan` and `dag`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.pipeline.plan.model import Plan, RunStatus
    from gravel.pipeline.scheduler.machine import RunEnvironment

Function = TypeVar("Function", bound=Callable[..., Any])

STYLES: dict[str, dict[str, Any]] = {
    "cached": {"fg": "green"},
    "will run": {"fg": "yellow"},
    "waits": {"fg": "cyan"},
    "not needed": {"dim": True},
    "not run": {"dim": True},
    "cannot run": {"fg": "red", "bold": True},
}


def paint(text: str, state: str) -> str:
    """Colour a text by a state."""
    return click.style(text, **STYLES.get(state, {}))


def machine_options(function: Function) -> Function:
    """Add `--backend`, `--cluster`, `--host-memory` and `--device-memory`."""
    backend = click.option(
        "--backend", type=click.Choice(["auto", "cuda", "cpu"]), default="auto", help="Where kernels run."
    )
    cluster = click.option(
        "--cluster", default="auto", metavar="KIND", help="auto, inline, local, cuda, or a scheduler."
    )
    host = click.option("--host-memory", metavar="SIZE", help="Host memory to plan with, such as 16GiB.")
    device = click.option("--device-memory", metavar="SIZE", help="Memory of each GPU to plan with.")
    return backend(cluster(host(device(function))))


@dataclass(frozen=True)
class Forecast:
    """The state of every run, the cache looked into and the machine planned with."""

    statuses: dict[str, RunStatus]
    cache_root: Path
    environment: RunEnvironment


def forecast(
    plan: Plan,
    cache_path: str | None,
    *,
    backend: str = "auto",
    cluster: str = "auto",
    host_memory: str | None = None,
    device_memory: str | None = None,
) -> Forecast:
    """Look into the cache; raises RequestError for a missing input file or an impossible machine."""
    from gravel.pipeline.datasets.file_digest import FileDigests
    from gravel.pipeline.datasets.local_copies import local_copy
    from gravel.pipeline.plan.recipes import RecipeMaker
    from gravel.pipeline.plan.status import plan_status
    from gravel.pipeline.plan.unable import without_unable
    from gravel.pipeline.scheduler.machine import decide
    from gravel.pipeline.scheduler.options import RunOptions
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache
    from gravel.stages.copies import copies

    root = find_cache(cache_path)
    cache = Cache(root)
    environment = decide(
        RunOptions(
            cache_root=root,
            backend=backend,
            cluster=cluster,
            host_memory=host_memory,
            device_memory=device_memory,
        )
    )
    plan = without_unable(plan, environment.backend_of)
    maker = RecipeMaker(plan, cache, FileDigests(root), environment.hardware_of)
    with copies(lambda url: local_copy(root, url)):
        statuses = plan_status(plan, maker, cache, machine=environment.machine)
    for message in cache.acceptance.messages():
        cache.say(message)
    return Forecast({status.key: status for status in statuses}, root, environment)
