"""gravel runs: the runs on record."""

from __future__ import annotations

import json
from typing import Any

import click

from gravel.pipeline.cli.options import cache_option


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
@click.option("-n", "limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many.")
@cache_option
def command(as_json: bool, limit: int, cache_path: str | None) -> None:
    """List the runs of this cache, the newest first."""
    from gravel.pipeline.core.durations import format_seconds
    from gravel.pipeline.records.reading import format_of, list_runs, run_folders
    from gravel.pipeline.records.record import FORMAT
    from gravel.pipeline.store.location import find_cache

    root = find_cache(cache_path)
    rows = [_row(record) for record in list_runs(root)[:limit]]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    newer = [folder.name for folder in run_folders(root) if format_of(folder) > FORMAT]
    if newer:
        click.echo(
            f"note: {len(newer)} runs of a newer gravel are not listed: {', '.join(newer[:3])}", err=True
        )
    if not rows:
        click.echo(f"no run is on record in {root}")
        return
    width = max(len(row["run"]) for row in rows)
    click.echo(f"{'run':<{width}}  {'state':<11}  {'took':>12}  computed  cached  failed")
    for row in rows:
        click.echo(
            f"{row['run']:<{width}}  {row['state']:<11}  {format_seconds(row['seconds']):>12}  "
            f"{row['computed']:>8}  {row['cached']:>6}  {row['failed']:>6}"
        )


def _row(record: dict[str, Any]) -> dict[str, Any]:
    stages: list[dict[str, Any]] = record["stages"]
    workflow: dict[str, Any] = record["workflow"]
    counts = {name: sum(s["state"] == name for s in stages) for name in ("computed", "cached", "failed")}
    head = {name: record[name] for name in ("run", "state", "started", "seconds", "report")}
    return {**head, "workflow": workflow["path"], **counts}
