"""gravel report: the page of a run, made again if missing, or served; its charts; its Graph500 block."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gravel.pipeline.cli.completion import runs
from gravel.pipeline.cli.options import cache_option, open_cache
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.report.links import find_page
from gravel.pipeline.report.page import report_artifacts, write_run_report
from gravel.pipeline.store.folder import PAGE

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache


@click.command()
@click.argument("run", required=False, shell_complete=runs)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "svg", "png", "graph500"]),
    default="html",
    show_default=True,
    help="The page (html), its charts as files (svg, png), or the Graph500 output.",
)
@click.option("--to", "target", metavar="FOLDER", help="With svg and png: the folder; default ./figures.")
@click.option("--stage", metavar="KEY", help="With graph500: only this stage run, such as bfs[order=rcm].")
@click.option("--rebuild", is_flag=True, help="Write the page again even if it is there.")
@click.option("--static", is_flag=True, help="Write a separate page with drawings instead of charts.")
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@click.option("--watch", is_flag=True, help="Serve the page on this machine while the run goes on.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Port of --watch; else a free one.")
@cache_option
def command(
    run: str | None,
    form: str,
    target: str | None,
    stage: str | None,
    rebuild: bool,
    static: bool,
    show: bool,
    watch: bool,
    port: int | None,
    cache_path: str | None,
) -> int:
    """Print the path of the report of RUN (by default the last run), and write it if it is missing.

    It is made from the run's record and the cache; nothing is computed. With --watch it is served on
    127.0.0.1 with all other reports until Ctrl-C, and follows a run that goes on. The address contains a
    token, without which nothing is answered. With --static a page is written with charts drawn by
    Matplotlib. With --format svg or png the charts become files. With --format graph500 the output of that
    benchmark is printed, with exit code 1 if a verification failed.
    """
    cache = open_cache(cache_path)
    folder, record = find_run(cache.root, run)
    if target is not None and form not in ("svg", "png"):
        raise RequestError("--to is the folder of --format svg or png", hint="add --format svg")
    if static and form != "html":
        raise RequestError("--static makes a page", hint="leave --static or --format out")
    if watch and form != "html":
        raise RequestError("--watch serves the page", hint="leave --watch or --format out")
    if form == "graph500":
        from gravel.pipeline.report.graph500 import graph500_blocks

        blocks = graph500_blocks(record, cache, stage)
        click.echo("\n\n".join(block.text for block in blocks))
        return 0 if all(block.valid for block in blocks) else 1
    if stage is not None:
        raise RequestError("--stage chooses a block of --format graph500", hint="add --format graph500")
    if form != "html":
        from gravel.pipeline.report.static.drawing import write_figures

        for path in write_figures(Path(target or "figures"), report_artifacts(record, cache), form):
            click.echo(str(path))
        return 0
    if static and watch:
        raise RequestError("--watch serves a page with charts", hint="leave --watch or --static out")
    if port is not None and not watch:
        raise RequestError("--port is that of --watch", hint="add --watch")
    if watch:
        return _serve(cache, folder.name, port or 0, show)
    page = None if rebuild or static else find_page(folder)
    if page is None:
        page = write_run_report(folder, record, cache, static=static)
    click.echo(str(page))
    if show:
        click.launch(str(page))
    return 0


def _serve(cache: Cache, run: str, port: int, show: bool) -> int:
    import signal
    from queue import SimpleQueue
    from threading import Thread
    from urllib.parse import quote

    from gravel.pipeline.report.server import redirect_file, report_server

    ends: SimpleQueue[None] = SimpleQueue()
    with report_server(cache, port) as server, ExitStack() as stack:
        # An exception that a signal raises is lost where it meets a finalizer.
        before = signal.signal(signal.SIGINT, lambda number, frame: ends.put(None))
        stack.callback(signal.signal, signal.SIGINT, before)
        address = f"{server.address}/{quote(run)}/{PAGE}"
        click.echo(f"{address} (Ctrl-C ends it)")
        if show:
            click.launch(str(stack.enter_context(redirect_file(address))))
        Thread(target=server.serve_forever, daemon=True, name="gravel-pages").start()
        ends.get()
        server.shutdown()
        click.echo("ended", err=True)
    return 0
