"""gravel logs: what a stage, or Dask, wrote during a run."""

from __future__ import annotations

import time

import click

from gravel.pipeline.cli.completion import run_stages, runs
from gravel.pipeline.cli.options import cache_option
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.past_runs import find_run, read_run, stage_log
from gravel.pipeline.store.folder import DASK_LOG, LOGS, run_path
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.store.opening import open_file, stated

POLL = 0.3
"""Seconds between two looks at a log that is followed."""


@click.command()
@click.argument("run", shell_complete=runs)
@click.argument("stage", required=False, shell_complete=run_stages)
@click.option("--dask", is_flag=True, help="Dask's own log of the run instead of a stage's.")
@click.option("-f", "--follow", is_flag=True, help="Follow the log until the run ends.")
@cache_option
def command(run: str, stage: str | None, dask: bool, follow: bool, cache_path: str | None) -> None:
    """Print the log of STAGE (a key such as 'bfs[order=rcm]') of RUN (an id, a part of one, or `last`)."""
    folder, record = find_run(find_cache(cache_path), run)
    if dask:
        path = folder / LOGS / DASK_LOG
    elif stage is None:
        keys = ", ".join(entry["key"] for entry in record["stages"])
        raise RequestError("name a stage of the run, or --dask", hint=f"its stage runs are: {keys}")
    else:
        path = stage_log(folder, record, stage)
    root, name = folder.parents[1], run_path(folder.name, LOGS, path.name)
    if not follow and stated(root, name) is None:
        state = next((entry["state"] for entry in record["stages"] if entry["key"] == stage), "")
        click.echo(f"nothing was logged{f'; it is {state}' if state else ''}", err=True)
        return
    place = 0
    while True:
        now = read_run(folder) if follow else None
        if stated(root, name) is not None:
            with open_file(root, name) as file:
                file.seek(place)
                text = file.read()
                place = file.tell()
            click.echo(text.decode("utf-8", "replace"), nl=False)
        if now is None or now["state"] != "running":
            return
        time.sleep(POLL)
