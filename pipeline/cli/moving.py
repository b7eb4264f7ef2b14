"""`gravel cache push` and `gravel cache pull`: results between caches, on disks and in stores."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gravel.pipeline.cli.options import cache_option
from gravel.pipeline.core.errors import RequestError

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.moved import Moved

Function = TypeVar("Function", bound=Callable[..., Any])

SHOW_SECONDS = 0.2
"""Between two looks of somebody at a terminal."""


def _choice(function: Function) -> Function:
    """Add what chooses results, and the other cache."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        cache_option,
        click.option("--alone", is_flag=True, help="Without what the chosen results were made from."),
        click.option(
            "--recipe", "recipes", multiple=True, metavar="DIGEST", help="The results of this recipe."
        ),
        click.option(
            "--workflow", "workflows", multiple=True, metavar="NAME", help="All results of this workflow."
        ),
        click.option(
            "--run", "runs", multiple=True, metavar="RUN", help="All that this run made or relied on."
        ),
        click.argument("remote", required=False),
    ):
        function = option(function)
    return function


@click.command("push")
@_choice
def push(remote: str | None, cache_path: str | None, as_json: bool, **selection: Any) -> int:
    """Copy what is missing there from this cache to REMOTE: a folder, or s3://bucket/prefix.

    Without --run, --workflow or --recipe everything goes, the records of ended runs included. Each option
    may be given several times. Without REMOTE it goes to the store that --cache names. Cut short, it goes
    on where it was. Recipes are signed with this user's key (see `gravel trust key`). Exit code 1: something
    here is damaged and was not copied.
    """
    from gravel.pipeline.store import push_pull

    return _move(push_pull.push, "pushed", "to", remote, cache_path, as_json, selection)


@click.command("pull")
@_choice
def pull(remote: str | None, cache_path: str | None, as_json: bool, **selection: Any) -> int:
    """Copy what is missing here from REMOTE, a folder or s3://bucket/prefix, and check all that arrives.

    Without --run, --workflow or --recipe everything comes, the records of ended runs included. Each option
    may be given several times. Without REMOTE it comes from the store that --cache names. Recipes count if
    a key signed them that is trusted (see `gravel trust`). Exit code 1: something there is damaged and was
    not copied.
    """
    from gravel.pipeline.store import push_pull

    return _move(push_pull.pull, "pulled", "from", remote, cache_path, as_json, selection)


def _move(
    move: Callable[..., Moved],
    did: str,
    way: str,
    remote: str | None,
    cache_path: str | None,
    as_json: bool,
    selection: dict[str, Any],
) -> int:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache
    from gravel.pipeline.store.selecting import Selection

    cache = Cache(find_cache(cache_path))
    place = remote or _behind(cache)
    show = sys.stderr.isatty() and not as_json
    moved = move(cache, place, Selection(**selection), _Progress(did) if show else None)
    if show:
        click.echo("\r\033[K", err=True, nl=False)
    if as_json:
        click.echo(json.dumps(vars(moved), indent=1))
    else:
        _report(moved, did, way)
    return 1 if moved.damaged else 0


def _behind(cache: Cache) -> str:
    if cache.remote is None:
        raise RequestError(
            f"no other cache is named, and {cache.root} has no store behind it",
            hint="name a folder or s3://bucket/prefix",
        )
    return cache.remote.url


class _Progress:
    """Shows the bytes that went so far on standard error."""

    def __init__(self, did: str) -> None:
        self._did = did
        self._lock = threading.Lock()
        self._bytes = 0
        self._shown = 0.0

    def __call__(self, count: int) -> None:
        from gravel.pipeline.core.memory import format_bytes

        with self._lock:
            self._bytes += count
            if time.monotonic() - self._shown > SHOW_SECONDS:
                self._shown = time.monotonic()
                click.echo(f"\r\033[K{self._did} {format_bytes(self._bytes)}", err=True, nl=False)


def _report(moved: Moved, did: str, way: str) -> None:
    from gravel.pipeline.core.memory import format_bytes

    click.echo(
        f"{did} {_count(moved.artifacts, 'artifact')} ({format_bytes(moved.bytes)}), "
        f"{_count(moved.recipes, 'recipe')} and {_count(moved.runs, 'run')} {way} {moved.where}; "
        f"{moved.present} already there"
    )
    for name, reason in moved.damaged.items():
        click.echo(f"  {name[:12]}  {reason}")
    if moved.damaged:
        click.echo("what is damaged was not copied; `gravel cache verify` tells more")
    for line in _trust_lines(moved):
        click.echo(line)


def _trust_lines(moved: Moved) -> Iterator[str]:
    """Say which recipes came that do not count, and what makes them count."""
    from gravel.pipeline.store.acceptance import advice, signed
    from gravel.pipeline.trust.keys import parse_key

    counts = [(None, moved.unsigned)] if moved.unsigned else []
    for key, count in [*counts, *((parse_key(text), count) for text, count in moved.untrusted.items())]:
        yield (f"{_count(count, 'recipe')} came {signed(key)}, and will be computed again: {advice(key)}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
