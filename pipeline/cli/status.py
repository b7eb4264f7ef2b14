"""gravel status: what a run is doing, or how it ended, stage by stage."""

from __future__ import annotations

from typing import Any

import click

from gravel.pipeline.cli.completion import runs
from gravel.pipeline.cli.options import cache_option, json_option, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.progress.pace import Pace, describe_pace
from gravel.pipeline.progress.tables import text_table
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.location import find_cache


@click.command()
@click.argument("run", required=False, shell_complete=runs)
@json_option
@cache_option
def command(run: str | None, as_json: bool, cache_path: str | None) -> None:
    """Show each stage of RUN (an id, a part of one, or `last`, which is the default)."""
    _, record = find_run(find_cache(cache_path), run)
    if as_json:
        print_json(record)
        return
    took = format_seconds(record["seconds"])
    click.echo(f"{record['run']}: {record['state']}, {took}, {record['workflow']['path']}")
    if record.get("cluster"):
        click.echo(f"cluster: {record['cluster']}")
    if record.get("unread"):
        click.echo(f"note: the run's log has lines that cannot be read and are left out: {record['unread']}")
    if record.get("problem"):
        click.echo(f"problem: {record['problem']}")
    rows = [(f"  {stage['key']}", stage["state"], _details(stage)) for stage in record["stages"]]
    for line in text_table(rows):
        click.echo(line)
    if record.get("report"):
        click.echo(f"report: {record['report']}")


def _details(stage: dict[str, Any]) -> str:
    if stage["state"] == "running":
        progress = stage.get("progress")
        if not progress:
            return f"on {stage['place']}"
        known = {name: progress[name] for name in ("done", "total", "unit", "rate")}
        return describe_pace(Pace(**known))
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
