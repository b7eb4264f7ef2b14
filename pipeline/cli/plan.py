"""gravel plan: what a run would do, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.forecast import Forecast, forecast, machine_options, paint
from gravel.pipeline.cli.options import cache_option, load_plan, selection_options
from gravel.pipeline.core.errors import RequestError

if TYPE_CHECKING:
    from gravel.pipeline.core.memory import Capacity
    from gravel.pipeline.plan.model import Plan, RunStatus


@click.command()
@click.argument("file")
@selection_options
@machine_options
@cache_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(
    file: str,
    settings: Sequence[str],
    where: Sequence[str],
    only: Sequence[str],
    force: Sequence[str],
    start: Sequence[str],
    repeat: int | None,
    cache_path: str | None,
    as_json: bool,
    **machine: Any,
) -> int:
    """Say for every stage run of the workflow FILE: cached, will run, or waits on a result; and why.

    Exits with 2 if a run cannot fit into the memory of this machine, with 1 if one cannot run at all.
    """
    from gravel.pipeline.scheduler.cached_plan import cached_listing

    asked: dict[str, Any] = {
        "file": file,
        "settings": settings,
        "where": where,
        "only": only,
        "force": force,
        "start": start,
        "repeat": repeat,
    }
    listing = cached_listing(asked, cache_path, machine)
    if listing is None:
        return _plan(asked, cache_path, machine, as_json)
    _show(listing, None, as_json)
    return 0


def _plan(asked: Mapping[str, Any], cache_path: str | None, machine: Mapping[str, Any], as_json: bool) -> int:
    from gravel.pipeline.core.trace import traced
    from gravel.pipeline.scheduler.cached_plan import save_plan

    with traced() as trace:
        plan = load_plan(**asked)
        found = forecast(plan, cache_path, **machine)
    refusal = _refusal(plan, found)
    listing = _to_json(plan, found, refusal)
    _show(listing, found.environment.capacity, as_json)
    if refusal is not None:
        raise refusal
    save_plan(asked, found.cache_root, found.environment, plan, trace, listing)
    return 1 if any(status.state == "cannot run" for status in found.statuses.values()) else 0


def _show(listing: Mapping[str, Any], capacity: Capacity | None, as_json: bool) -> None:
    """Print a plan; the capacity is shown if something has to run."""
    if as_json:
        echo(json.dumps(listing, indent=2, ensure_ascii=False))
        return
    for line in _lines(listing, capacity):
        echo(line)


def _refusal(plan: Plan, found: Forecast) -> RequestError | None:
    from gravel.pipeline.core.memory import refuse_what_cannot_fit
    from gravel.pipeline.plan.sizes import resident_inputs

    needs = {
        key: status.need
        for key, status in found.statuses.items()
        if status.need is not None and status.state in ("will run", "waits")
    }
    try:
        refuse_what_cannot_fit(needs, found.environment.capacity, resident_inputs(plan, needs))
    except RequestError as error:
        return error
    return None


def _lines(listing: Mapping[str, Any], capacity: Capacity | None) -> Iterator[str]:
    from gravel.pipeline.core.memory import format_bytes

    stages = listing["stages"]
    gpu = any(stage["device_bytes"] for stage in stages)
    header = ("STATE", "STAGE RUN", "HOST", *(("GPU",) if gpu else ()), "WHY")
    rows: list[tuple[list[str], list[str]]] = []
    for stage in stages:
        host, device, state = stage["host_bytes"], stage["device_bytes"], stage["state"]
        sizes = ["unknown" if host is None else format_bytes(host)]
        if gpu:
            sizes.append(format_bytes(device) if device else "-")
        shown = ["" if state in ("cached", "not needed", "not run") else size for size in sizes]
        why = [*stage["reasons"]] or [""]
        if state == "waits":
            waits = [f"waits on {_names(stage['waits_on'])}"] if stage["waits_on"] else []
            why = [*waits, *stage["reasons"]]
        rows.append(([state, stage["key"], *shown], why))
    widths = [
        max(len(cells[at]) for cells in [header, *(row[0] for row in rows)]) for at in range(len(header) - 1)
    ]
    yield "  ".join(name.ljust(width) for name, width in zip(header, [*widths, 0], strict=True)).rstrip()
    for cells, why in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield "  ".join([paint(padded[0], cells[0]), *padded[1:], why[0]]).rstrip()
        for more in why[1:]:
            yield " " * (sum(widths) + 2 * len(widths)) + more
    yield from _summary(listing, capacity)


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys) if len(keys) <= 3 else f"{', '.join(keys[:2])} and {len(keys) - 2} more"


def _summary(listing: Mapping[str, Any], capacity: Capacity | None) -> Iterator[str]:
    from gravel.pipeline.core.memory import format_bytes

    stages = listing["stages"]
    counts = Counter(stage["state"] for stage in stages)
    yield ""
    yield f"{len(stages)} stage runs: {', '.join(f'{count} {state}' for state, count in counts.items())}"
    ahead = [s for s in stages if s["host_bytes"] is not None and s["state"] in ("will run", "waits")]
    if ahead and capacity is not None:
        line = f"largest need: {format_bytes(max(stage['host_bytes'] for stage in ahead))} of host memory, "
        line += f"of {format_bytes(capacity.host_bytes)} ({capacity.source})"
        device = max(stage["device_bytes"] for stage in ahead)
        if device:
            line += f"; {format_bytes(device)} of GPU memory, of {format_bytes(capacity.device_bytes)}"
            line += f" ({capacity.device_source})"
        yield line
    hardware = [stage["key"] for stage in stages if stage["only_hardware"]]
    if hardware:
        yield f"only the hardware differs for: {_names(hardware)}"
    yield f"cache: {listing['cache']}; backend: {listing['backend']}"


def _to_json(plan: Plan, found: Forecast, refusal: RequestError | None) -> dict[str, Any]:
    return {
        "workflow": plan.workflow.name,
        "file": str(plan.workflow.path),
        "cache": str(found.cache_root),
        "backend": found.environment.backend,
        "capacity": {
            "host_bytes": found.environment.capacity.host_bytes,
            "device_bytes": found.environment.capacity.device_bytes,
        },
        "fits": refusal is None,
        "problem": None if refusal is None else str(refusal),
        "stages": [_run_json(plan, status) for status in found.statuses.values()],
    }


def _run_json(plan: Plan, status: RunStatus) -> dict[str, Any]:
    run = plan.runs[status.key]
    coordinates: Mapping[str, Any] = run.coordinates
    return {
        "key": status.key,
        "entry": run.entry,
        "stage": run.stage.name,
        "coordinates": dict(coordinates),
        "aliases": list(run.aliases),
        "needs": list(run.upstream),
        "state": status.state,
        "waits_on": list(status.waits_on),
        "reasons": list(status.reasons),
        "only_hardware": status.only_hardware,
        "recipe": status.recipe,
        "outputs": list(status.outputs) if status.outputs is not None else None,
        "host_bytes": status.need.host_bytes if status.need else None,
        "device_bytes": status.need.device_bytes if status.need else None,
    }
