"""`gravel cache init` and `gravel cache trust`: caches that others may write, on purpose."""

from __future__ import annotations

from pathlib import Path

import click

from gravel.pipeline.cli.options import cache_option
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.file_modes import make_root
from gravel.pipeline.store import trusted
from gravel.pipeline.store.location import find_cache, locate_cache
from gravel.pipeline.store.sharing import init_shared


@click.command("init")
@click.option("--shared", "group", metavar="GROUP", help="Have the members of this group write results, too.")
@cache_option
def init(group: str | None, cache_path: str | None) -> None:
    """Make a cache: for you alone, or with --shared for a group.

    Members read and write each other's results. Schedules, hooks, compiled kernels and pages of others are
    never taken from a shared cache. Members name it with --cache or GRAVEL_CACHE, or trust it once with
    `gravel cache trust`. Without this command a cache is made, for you alone, when something is first
    written.
    """
    root = locate_cache(cache_path)
    if group is None:
        make_root(find_cache(cache_path))
        click.echo(f"{root} is a cache of yours alone")
        return
    if cache_path is not None and "://" in cache_path:
        raise RequestError(
            f"{cache_path} is a store, whose rights are set where it is", hint="share a folder with --cache"
        )
    init_shared(root, group)
    find_cache(cache_path)
    click.echo(f"{root} is shared with the group {group}; its members name it with --cache {root}")


@click.command("trust")
@click.argument("folder", type=click.Path(path_type=Path))
def trust(folder: Path) -> None:
    """Use caches at or below FOLDER whoever owns them and can write there.

    Whoever can write there decides which results you get. The list is a file of your own configuration;
    GRAVEL_TRUSTED, paths with colons between, adds to it.
    """
    if not folder.is_dir():
        raise RequestError(f"there is no folder {str(folder)!r}", hint="name the folder that was refused")
    file = trusted.trust(folder)
    click.echo(f"{folder.resolve()} is trusted; to take that back, remove its line from {file}")
