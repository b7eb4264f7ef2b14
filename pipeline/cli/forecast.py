"""What would happen if a plan were run here and now: shared by `plan` and `dag`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.options import open_cache

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.pipeline.plan.model import Plan, RunStatus
    from gravel.pipeline.scheduler.machine import RunEnvironment

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
    return click.style(text, **STYLES[state]) if state in STYLES else text


@dataclass(frozen=True)
class Forecast:
    """The state of every run, the cache looked into and the machine planned with."""

    statuses: dict[str, RunStatus]
    cache_root: Path
    environment: RunEnvironment


def forecast(plan: Plan, cache_path: str | None, **machine: Any) -> Forecast:
    """Look into the cache; raises RequestError for a missing input file or an impossible machine."""
    from gravel.pipeline.datasets.downloads import local_copy
    from gravel.pipeline.datasets.file_digest import FileDigests
    from gravel.pipeline.plan.recipes import RecipeMaker
    from gravel.pipeline.plan.status import plan_status
    from gravel.pipeline.plan.unable import without_unable
    from gravel.pipeline.scheduler.machine import decide
    from gravel.pipeline.scheduler.options import RunOptions
    from gravel.stages.copies import copies

    cache = open_cache(cache_path)
    root = cache.root
    environment = decide(RunOptions(cache_root=root, **machine))
    plan = without_unable(plan, environment.backend_of)
    maker = RecipeMaker(plan, cache, FileDigests(root), environment.hardware_of)
    with copies(lambda url: local_copy(root, url)):
        statuses = plan_status(plan, maker, cache, machine=environment.machine)
    for message in cache.acceptance.messages():
        cache.say(message)
    return Forecast({status.key: status for status in statuses}, root, environment)
