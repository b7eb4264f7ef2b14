"""gravel status: what a run is doing, or how it ended, stage by stage."""

from __future__ import annotations

import json
from typing import Any

import click

from gravel.pipeline.cli.options import cache_option


@click.command()
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="The run's record as JSON.")
@cache_option
def command(run: str | None, as_json: bool, cache_path: str | None) -> None:
    """Show each stage of RUN (an id, a part of one, or `last`, which is the default)."""
    from gravel.pipeline.core.durations import format_seconds
    from gravel.pipeline.records.reading import find_run
    from gravel.pipeline.store.location import find_cache

    _, record = find_run(find_cache(cache_path), run)
    if as_json:
        click.echo(json.dumps(record, indent=1, ensure_ascii=False))
        return
    took = format_seconds(record["seconds"])
    click.echo(f"{record['run']}: {record['state']}, {took}, {record['workflow']['path']}")
    if record.get("cluster"):
        click.echo(f"cluster: {record['cluster']}")
    if record.get("unread"):
        click.echo(f"note: the run's log has lines that cannot be read and are left out: {record['unread']}")
    if record.get("problem"):
        click.echo(f"problem: {record['problem']}")
    width = max((len(stage["key"]) for stage in record["stages"]), default=0)
    for stage in record["stages"]:
        click.echo(f"  {stage['key']:<{width}}  {stage['state']:<11}  {_details(stage)}".rstrip())
    if record.get("report"):
        click.echo(f"report: {record['report']}")


def _details(stage: dict[str, Any]) -> str:
    from gravel.pipeline.core.durations import format_seconds
    from gravel.pipeline.core.memory import format_bytes
    from gravel.pipeline.progress.rates import Pace, describe_pace

    if stage["state"] == "running":
        progress = stage.get("progress")
        if not progress:
            return f"on {stage['place']}"
        pace = Pace(
            done=progress["done"], total=progress["total"], unit=progress["unit"], rate=progress["rate"]
        )
        return describe_pace(pace)
    if stage["state"] == "failed":
        return str(stage["error"])
    parts = []
    if stage["seconds"] is not None:
        parts.append(format_seconds(stage["seconds"]))
    if stage["bytes"] is not None:
        parts.append(format_bytes(stage["bytes"]))
    if stage["peak_host_bytes"] is not None and stage["need"]:
        need = format_bytes(stage["need"]["host"])
        parts.append(f"peak {format_bytes(stage['peak_host_bytes'])} of {need}")
    return ", ".join([*parts, *stage["why"]])
