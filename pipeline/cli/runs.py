"""gravel runs: the runs on record."""

from __future__ import annotations

from typing import Any

import click

from gravel.pipeline.cli.options import cache_option, json_option, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.progress.text_table import text_table
from gravel.pipeline.records.reading import format_of, list_runs, run_folders
from gravel.pipeline.records.record import FORMAT
from gravel.pipeline.store.location import find_cache

COUNTS = ("computed", "cached", "failed")


@click.command()
@json_option
@click.option("-n", "limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many.")
@cache_option
def command(as_json: bool, limit: int, cache_path: str | None) -> None:
    """List the runs of this cache, the newest first."""
    root = find_cache(cache_path)
    rows = [_row(record) for record in list_runs(root)[:limit]]
    if as_json:
        print_json(rows)
        return
    newer = [folder.name for folder in run_folders(root) if format_of(folder) > FORMAT]
    if newer:
        click.echo(
            f"note: {len(newer)} runs of a newer gravel are not listed: {', '.join(newer[:3])}", err=True
        )
    if not rows:
        click.echo(f"no run is on record in {root}")
        return
    table = [["run", "state", "took", *COUNTS]]
    for row in rows:
        counts = (str(row[name]) for name in COUNTS)
        table.append([row["run"], row["state"], format_seconds(row["seconds"]), *counts])
    click.echo("\n".join(text_table(table, right=(2, 3, 4, 5))))


def _row(record: dict[str, Any]) -> dict[str, Any]:
    stages: list[dict[str, Any]] = record["stages"]
    workflow: dict[str, Any] = record["workflow"]
    counts = {name: sum(s["state"] == name for s in stages) for name in COUNTS}
    head = {name: record[name] for name in ("run", "state", "started", "seconds", "report")}
    return {**head, "workflow": workflow["path"], **counts}
