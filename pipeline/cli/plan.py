"""gravel plan: what a run would do, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import echo
from pipeline.cli.forecast import Forecast, forecast, machine_options, paint
from pipeline.cli.options import cache_option, load_plan, selection_options
from pipeline.errors import RequestError

if TYPE_CHECKING:
    from pipeline.plan import Plan, RunStatus
    from stages.stage import Need


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
    plan = load_plan(file, settings=settings, where=where, only=only, force=force, start=start, repeat=repeat)
    found = forecast(plan, cache_path, **machine)
    refusal = _refusal(plan, found)
    if as_json:
        echo(json.dumps(_to_json(plan, found, refusal), indent=2, ensure_ascii=False))
    else:
        for line in _lines(found):
            echo(line)
    if refusal is not None:
        raise refusal
    return 1 if any(status.state == "cannot run" for status in found.statuses.values()) else 0


def _refusal(plan: Plan, found: Forecast) -> RequestError | None:
    from pipeline.memory import refuse_what_cannot_fit
    from pipeline.plan import held_inputs

    needs = {
        key: status.need
        for key, status in found.statuses.items()
        if status.need is not None and status.state in ("will run", "waits")
    }
    try:
        refuse_what_cannot_fit(needs, found.setting.capacity, held_inputs(plan, needs))
    except RequestError as error:
        return error
    return None


def _lines(found: Forecast) -> Iterator[str]:
    from pipeline.memory import format_bytes

    statuses = list(found.statuses.values())
    gpu = any(status.need is not None and status.need.device_bytes for status in statuses)
    header = ("STATE", "STAGE RUN", "HOST", *(("GPU",) if gpu else ()), "WHY")
    rows: list[tuple[list[str], list[str]]] = []
    for status in statuses:
        need = status.need
        sizes = [format_bytes(need.host_bytes) if need else "unknown"]
        if gpu:
            sizes.append(format_bytes(need.device_bytes) if need and need.device_bytes else "-")
        shown = ["" if status.state in ("cached", "not needed") else size for size in sizes]
        why = [*status.reasons] or [""]
        if status.state == "waits":
            why = [*([f"waits on {_names(status.waits_on)}"] if status.waits_on else []), *status.reasons]
        rows.append(([status.state, status.key, *shown], why))
    widths = [
        max(len(cells[at]) for cells in [header, *(row[0] for row in rows)]) for at in range(len(header) - 1)
    ]
    yield "  ".join(name.ljust(width) for name, width in zip(header, [*widths, 0], strict=True)).rstrip()
    for cells, why in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield "  ".join([paint(padded[0], cells[0]), *padded[1:], why[0]]).rstrip()
        for more in why[1:]:
            yield " " * (sum(widths) + 2 * len(widths)) + more
    yield from _summary(found)


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys) if len(keys) <= 3 else f"{', '.join(keys[:2])} and {len(keys) - 2} more"


def _summary(found: Forecast) -> Iterator[str]:
    from pipeline.memory import format_bytes

    statuses = found.statuses.values()
    counts = Counter(status.state for status in statuses)
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    yield ""
    yield f"{len(found.statuses)} stage runs: {told}"
    needs: list[Need] = [s.need for s in statuses if s.need is not None and s.state in ("will run", "waits")]
    if needs:
        capacity = found.setting.capacity
        line = f"largest need: {format_bytes(max(need.host_bytes for need in needs))} of host memory, "
        line += f"of {format_bytes(capacity.host_bytes)} ({capacity.source})"
        device = max(need.device_bytes for need in needs)
        if device:
            line += f"; {format_bytes(device)} of GPU memory, of {format_bytes(capacity.device_bytes)}"
            line += f" ({capacity.device_source})"
        yield line
    hardware = [status.key for status in statuses if status.only_hardware]
    if hardware:
        yield f"only the hardware differs for: {_names(hardware)}"
    yield f"cache: {found.cache_root}; backend: {found.setting.backend}"


def _to_json(plan: Plan, found: Forecast, refusal: RequestError | None) -> dict[str, Any]:
    return {
        "workflow": plan.workflow.name,
        "file": str(plan.workflow.path),
        "cache": str(found.cache_root),
        "backend": found.setting.backend,
        "capacity": {
            "host_bytes": found.setting.capacity.host_bytes,
            "device_bytes": found.setting.capacity.device_bytes,
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
