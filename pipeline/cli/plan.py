"""gravel plan: what a run would do, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import (
    cache_option,
    json_option,
    load_plan,
    machine_options,
    open_cache,
    others_argument,
    print_json,
    selection_options,
)
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.memory import format_bytes, refuse_what_cannot_fit, refuse_what_no_disk_holds
from gravel.pipeline.progress.tables import text_table
from gravel.stages.urls import hidden

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.pipeline.core.memory import Capacity
    from gravel.pipeline.plan.model import Plan, RunStatus
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.store.cache import Cache

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


def forecast(plan: Plan, cache: Cache, **machine: Any) -> Forecast:
    """Look into the cache; raises RequestError for a missing input file or an impossible machine."""
    from gravel.pipeline.datasets.downloads import local_copy
    from gravel.pipeline.datasets.file_digest import FileDigests
    from gravel.pipeline.plan.model import without_unable
    from gravel.pipeline.plan.recipes import RecipeMaker
    from gravel.pipeline.plan.status import plan_status
    from gravel.pipeline.scheduler.machine import RunOptions, decide
    from gravel.stages.urls import copies

    root = cache.root
    environment = decide(RunOptions(cache_root=root, **machine))
    plan = without_unable(plan, environment.backend_of)
    maker = RecipeMaker(plan, cache, FileDigests(root), environment.hardware_of)
    with copies(lambda url: local_copy(root, url)):
        statuses = plan_status(plan, maker, cache, machine=environment.machine)
    for message in cache.acceptance.messages():
        cache.say(message)
    return Forecast({status.key: status for status in statuses}, root, environment)


@click.command()
@click.argument("file", type=click.Path())
@others_argument
@selection_options
@machine_options
@cache_option
@json_option
def command(
    file: str,
    others: Sequence[str],
    selection: dict[str, Any],
    machine: dict[str, Any],
    cache_path: str | None,
    as_json: bool,
) -> int:
    """Show for each stage run of the workflow FILE: cached, will run, or waits on a result; and why.

    Exits with 2 if a run cannot fit into the memory of this machine, with 1 if one cannot run at all.
    """
    plan = load_plan(file, others=others, **selection)
    found = forecast(plan, open_cache(cache_path), **machine)
    refusal = _refusal(plan, found)
    listing = _to_json(plan, found, refusal)
    if as_json:
        print_json(hidden(listing))
    else:
        for line in (*_table(listing["stages"]), "", *_summary(listing, found.environment.capacity)):
            echo(line)
    if refusal is not None:
        raise refusal
    return 1 if any(status.state == "cannot run" for status in found.statuses.values()) else 0


def _refusal(plan: Plan, found: Forecast) -> RequestError | None:
    from gravel.pipeline.plan.status import resident_inputs
    from gravel.pipeline.scheduler.machine import refuse_larger_groups

    needs = {
        key: status.need
        for key, status in found.statuses.items()
        if status.need is not None and status.state in ("will run", "waits")
    }
    runs = {key: plan.runs[key] for key in needs}
    places = {key: run.location for key, run in runs.items()}
    stored = {key: needs[key] for key, run in runs.items() if run.keep}
    ranks = {key: run.stage.ranks(run.parameters) for key, run in runs.items() if run.stage.ranks is not None}
    try:
        refuse_what_cannot_fit(needs, found.environment.capacity, resident_inputs(plan, needs), places)
        refuse_larger_groups(ranks, plan.runs, found.environment, None)
        refuse_what_no_disk_holds(stored, found.cache_root, places)
    except RequestError as error:
        return error
    return None


def _table(stages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    gpu = any(stage["device_bytes"] for stage in stages)
    rows: list[list[str]] = [["STATE", "STAGE RUN", "HOST", *(["GPU"] if gpu else []), "WHY"]]
    for stage in stages:
        host, device, state = stage["host_bytes"], stage["device_bytes"], stage["state"]
        sizes = ["unknown" if host is None else format_bytes(host)]
        if gpu:
            sizes.append(format_bytes(device) if device else "-")
        if state in ("cached", "not needed", "not run"):
            sizes = [""] * len(sizes)
        why = list(stage["reasons"])
        if state == "waits" and stage["waits_on"]:
            why.insert(0, f"waits on {_names(stage['waits_on'])}")
        if state in ("will run", "waits") and stage.get("note"):
            why.append(stage["note"])
        rows.append([state, stage["key"], *sizes, *(why[:1] or [""])])
        rows += [[""] * (len(sizes) + 2) + [more] for more in why[1:]]
    for row, line in zip(rows, text_table(rows), strict=True):
        yield paint(row[0], row[0]) + line[len(row[0]) :]


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys) if len(keys) <= 3 else f"{', '.join(keys[:2])} and {len(keys) - 2} more"


def _summary(listing: Mapping[str, Any], capacity: Capacity) -> Iterator[str]:
    stages = listing["stages"]
    counts = Counter(stage["state"] for stage in stages)
    yield f"{len(stages)} stage runs: {', '.join(f'{count} {state}' for state, count in counts.items())}"
    ahead = [s for s in stages if s["host_bytes"] is not None and s["state"] in ("will run", "waits")]
    if ahead:
        line = f"largest need: {format_bytes(max(stage['host_bytes'] for stage in ahead))} of host memory, "
        line += f"of {format_bytes(capacity.host_bytes)} ({capacity.source})"
        device = max(stage["device_bytes"] for stage in ahead)
        if device:
            line += f"; {format_bytes(device)} of GPU memory, of {format_bytes(capacity.device_bytes)}"
            line += f" ({capacity.device_source})"
        yield line
        if not device and listing["backend"] == "cuda":
            yield f"GPU memory: {format_bytes(capacity.device_bytes)} ({capacity.device_source})"
    hardware = [stage["key"] for stage in stages if stage["only_hardware"]]
    if hardware:
        yield f"only the hardware differs for: {_names(hardware)}"
    yield f"cache: {listing['cache']}; backend: {listing['backend']}"


def _to_json(plan: Plan, found: Forecast, refusal: RequestError | None) -> dict[str, Any]:
    capacity, facts = found.environment.capacity, ("host_bytes", "device_bytes", "device_source")
    return {
        "workflow": plan.workflow.name,
        "file": str(plan.workflow.path),
        "cache": str(found.cache_root),
        "backend": found.environment.backend,
        "capacity": {name: getattr(capacity, name) for name in facts},
        "fits": refusal is None,
        "problem": None if refusal is None else str(refusal),
        "stages": [_run_json(plan, status) for status in found.statuses.values()],
    }


def _run_json(plan: Plan, status: RunStatus) -> dict[str, Any]:
    run = plan.runs[status.key]
    return {
        "entry": run.entry,
        "stage": run.stage.name,
        "coordinates": dict(run.coordinates),
        "aliases": list(run.aliases),
        "needs": list(run.upstream),
        **{name: value for name, value in vars(status).items() if name != "need"},
        "host_bytes": status.need.host_bytes if status.need else None,
        "device_bytes": status.need.device_bytes if status.need else None,
        "note": status.need.note if status.need else "",
    }
