"""`gravel cache push` and `gravel cache pull`: results between caches, on disks and in stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gravel.pipeline.cli.options import (
    byte_progress,
    cache_option,
    json_option,
    open_cache,
    print_json,
    together,
)
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.store import push_pull
from gravel.pipeline.store.acceptance import advice, signed
from gravel.pipeline.store.selection import Moved, Selection
from gravel.pipeline.trust.keys import parse_key

_selection_options = together(
    "selection",
    click.option(
        "--run", "runs", multiple=True, metavar="RUN", help="Everything that this run made or used."
    ),
    click.option(
        "--workflow", "workflows", multiple=True, metavar="NAME", help="All results of this workflow."
    ),
    click.option("--recipe", "recipes", multiple=True, metavar="DIGEST", help="The results of this recipe."),
    click.option("--alone", is_flag=True, help="Leave out what the chosen results were made from."),
)


@click.command("push", short_help="Copy missing results to another cache.")
@click.argument("remote", required=False)
@_selection_options
@cache_option
@json_option
def push(**options: Any) -> int:
    """Copy what is missing in REMOTE (a folder or s3://bucket/prefix) from this cache.

    Without --run, --workflow or --recipe everything is copied, including the records of ended runs. Each
    option may be given several times. Without REMOTE, results go to the store that --cache names. An
    interrupted copy continues where it stopped. Recipes are signed with this user's key (see `gravel
    trust key`). Exit code 1: something here is damaged and was not copied.
    """
    return _move(push_pull.push, "pushed", "to", **options)


@click.command("pull", short_help="Copy missing results from another cache.")
@click.argument("remote", required=False)
@_selection_options
@cache_option
@json_option
def pull(**options: Any) -> int:
    """Copy what is missing here from REMOTE (a folder or s3://bucket/prefix), and check all of it.

    Without --run, --workflow or --recipe everything is copied, including the records of ended runs. Each
    option may be given several times. Without REMOTE, results come from the store that --cache names.
    Recipes count if a trusted key signed them (see `gravel trust`). Exit code 1: something there is
    damaged and was not copied.
    """
    return _move(push_pull.pull, "pulled", "from", **options)


def _move(
    move: Callable[..., Moved],
    did: str,
    way: str,
    remote: str | None,
    cache_path: str | None,
    as_json: bool,
    selection: dict[str, Any],
) -> int:
    cache = open_cache(cache_path)
    place = remote or (cache.remote.url if cache.remote is not None else None)
    if place is None:
        raise RequestError(
            f"no other cache is named, and {cache.root} has no store behind it",
            hint="name a folder or s3://bucket/prefix",
        )
    with byte_progress(did, wanted=not as_json) as show:
        moved = move(cache, place, Selection(**selection), lambda count: show(advance=count))
    if as_json:
        print_json(vars(moved))
        return 1 if moved.damaged else 0
    click.echo(
        f"{did} {_count(moved.artifacts, 'artifact')} ({format_bytes(moved.bytes)}), "
        f"{_count(moved.recipes, 'recipe')} and {_count(moved.runs, 'run')} {way} {moved.where}; "
        f"{moved.present} already there"
    )
    for name, reason in moved.damaged.items():
        click.echo(f"  {name[:12]}  {reason}")
    if moved.damaged:
        click.echo("what is damaged was not copied; `gravel cache verify` tells more")
    uncounted = [(None, moved.unsigned)] if moved.unsigned else []
    for key, count in [*uncounted, *((parse_key(text), count) for text, count in moved.untrusted.items())]:
        click.echo(f"{_count(count, 'recipe')} came {signed(key)}, and will be computed again: {advice(key)}")
    return 1 if moved.damaged else 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
