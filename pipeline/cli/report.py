"""gravel report: where the page of a run lies, made again if it is missing."""

from __future__ import annotations

import click

from pipeline.cli.options import cache_option


@click.command()
@click.argument("run", required=False)
@click.option("--rebuild", is_flag=True, help="Write the page again even if it is there.")
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@cache_option
def command(run: str | None, rebuild: bool, show: bool, cache_path: str | None) -> None:
    """Print where the report of RUN lies (the last run without one), writing it if it is missing.

    It is made from the run's record and the cache: nothing is computed.
    """
    from pipeline.runs.reading import find_run
    from pipeline.store import Cache, find_cache

    root = find_cache(cache_path)
    folder, record = find_run(root, run)
    page = folder / "report.html"
    if rebuild or not page.exists():
        from pipeline.report import write_run_report

        page = write_run_report(folder, record, Cache(root))
    click.echo(str(page))
    if show:
        click.launch(str(page))
