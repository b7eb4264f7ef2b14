"""`gravel cache`: what is cached, whether it is whole, freeing space, and moving results."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import (
    age,
    byte_progress,
    cache_option,
    json_option,
    open_cache,
    print_json,
    size,
    together,
)
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import make_root
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.core.names import counted
from gravel.pipeline.gc.collection import PART, PIECE, Policy, collect
from gravel.pipeline.gc.leftovers import collect_compiled
from gravel.pipeline.progress.tables import text_table
from gravel.pipeline.store import push_pull
from gravel.pipeline.store.folder import run_path
from gravel.pipeline.store.location import find_cache, locate_cache
from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord
from gravel.pipeline.store.selection import Entry, Moved, Selection
from gravel.pipeline.store.sharing import init_shared, trust
from gravel.pipeline.store.signatures import advice, signed
from gravel.pipeline.trust.keys import parse_key


@click.group()
def command() -> None:
    """List, verify, clean, copy or share the cache."""


SORTS: dict[str, Callable[[Entry], Any]] = {
    "created": lambda entry: entry.record.created,
    "used": lambda entry: entry.record.used,
    "size": lambda entry: entry.record.bytes_on_disk,
    "kind": lambda entry: (entry.record.kind, entry.record.created),
    "stage": lambda entry: (entry.recipe.provenance.get("key", "") if entry.recipe else "", entry.record.id),
    "id": lambda entry: entry.record.id,
}


@command.command("ls", short_help="List every result: id, kind, size, origin.")
@cache_option
@click.option("--sort", type=click.Choice(list(SORTS)), default="created", show_default=True)
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option("--kind", metavar="KIND", help="Only artifacts of this kind, such as Graph.")
@json_option
def list_artifacts(cache_path: str | None, sort: str, reverse: bool, kind: str | None, as_json: bool) -> None:
    """List every artifact: id, kind, size on disk, when it was made, by which stage of which workflow."""
    cache = open_cache(cache_path)
    entries = [entry for entry in cache.list() if kind is None or entry.record.kind.lower() == kind.lower()]
    entries.sort(key=SORTS[sort], reverse=reverse)
    if as_json:
        print_json([_entry_json(entry) for entry in entries])
        return
    rows = [("id", "kind", "size", "made", "by")]
    pieces = [entry.record for entry in entries if entry.record.kind == PIECE and kind is None]
    for entry in entries:
        record = entry.record
        if not pieces or record.kind != PIECE:
            made = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created))
            rows.append((record.id[:12], record.kind, _size_of([record]), made, _maker(entry.recipe)))
    if pieces:
        rows.append((f"({len(pieces):,})", PIECE, _size_of(pieces), "", f"--kind {PIECE} lists them"))
    click.echo("\n".join(text_table(rows)))
    total = _size_of([entry.record for entry in entries])
    click.echo(f"{len(entries)} artifacts, {total}, in {cache.root}")
    if cache.remote is not None:
        away = sum(not cache.is_here(artifact_id) for artifact_id in cache.remote.known())
        click.echo(f"{away} more are known to lie in {cache.remote.url}, and come when they are opened")


def _size_of(records: list[ArtifactRecord]) -> str:
    return format_bytes(sum(record.bytes_on_disk for record in records))


def _maker(recipe: RecipeRecord | None) -> str:
    if recipe is None:
        return "(its recipe is gone)"
    made = recipe.provenance
    if made.get("stage") == PART:
        return ", ".join(recipe.parts["files"])
    return f"{made.get('key', made.get('stage', '?'))} of {made.get('workflow', '?')}"


def _entry_json(entry: Entry) -> dict[str, Any]:
    record, recipe = entry.record, entry.recipe
    made = {} if recipe is None else recipe.provenance
    facts = ("id", "kind", "bytes", "bytes_on_disk", "created", "used")
    return {
        **{name: made.get(name) for name in ("stage", "key", "workflow")},
        "recipe": recipe and recipe.digest,
        **{name: getattr(record, name) for name in facts},
        "path": str(record.path),
    }


@command.command("verify", short_help="Check every file; exit 1 if one is damaged.")
@cache_option
@json_option
def verify(cache_path: str | None, as_json: bool) -> int:
    """Check every file, set aside what is damaged, and exit with 1 if anything was."""
    cache = open_cache(cache_path)
    with byte_progress("read", wanted=not as_json) as show:
        outcome = cache.verify(lambda done, total: show(completed=done, total=total))
    if as_json:
        print_json(vars(outcome))
        return 1 if outcome.damaged else 0
    click.echo(
        f"read {format_bytes(outcome.bytes)}: {outcome.artifacts} artifacts and {outcome.recipes} recipes, "
        f"{len(outcome.damaged) or 'none'} damaged"
    )
    for identity, reason in outcome.damaged.items():
        click.echo(f"  {identity[:12]}  {reason}")
    if not outcome.damaged:
        return 0
    click.echo("what is damaged was set aside, where it could be, and is computed again when it is needed")
    return 1


@command.command("gc", short_help="Remove what no recorded run needs.")
@cache_option
@click.option("--yes", "delete", is_flag=True, help="Remove it; otherwise it is only listed.")
@together(
    "policy",
    click.option(
        "--max-size",
        type=size,
        metavar="SIZE",
        help="Also remove the longest unused results until at most this is left, such as 50GB.",
    ),
    click.option(
        "--older-than",
        type=age,
        metavar="AGE",
        help="Also remove runs older than this (30d, 12h) and what only they used; results used since stay.",
    ),
    click.option(
        "--quarantine-older-than",
        "quarantine",
        type=age,
        default="7d",
        show_default=True,
        metavar="AGE",
        help="Remove damaged files that were set aside longer ago than this.",
    ),
    click.option(
        "--ignore-unreadable-runs",
        "unreadable",
        is_flag=True,
        help="Also remove results of runs whose record cannot be read.",
    ),
)
@json_option
def collect_garbage(cache_path: str | None, delete: bool, policy: dict[str, Any], as_json: bool) -> None:
    """Remove what no recorded run needs, what is of an older format, and what killed runs and damage left.

    Recorded runs are those that `gravel runs` lists. Results that a running run uses are kept. Free
    locks and digests of missing files are removed too. So are this user's compiled kernels that were
    unused for 30 days, or for --older-than. Without --yes nothing is removed.
    """
    cache = open_cache(cache_path)
    outcome = collect(cache, Policy(**policy), delete=delete)
    for run, problem in outcome.unreadable.items():
        echo(
            f"the record of {run} cannot be read ({problem}), so what it used is unknown and nothing goes "
            f"for being unused; remove {cache.root / run_path(run)}, or add --ignore-unreadable-runs",
            err=True,
        )
    compiled = collect_compiled(delete=delete, older_than=policy["older_than"])
    if as_json:
        body = vars(outcome) | {"compiled": vars(compiled)}
        print_json({key: value for key, value in body.items() if key != "records"})
        return
    rows = [
        (record.id[:12], record.kind, _size_of([record]), outcome.removed[record.id])
        for record in outcome.records
        if record.kind != PIECE
    ]
    pieces = [record for record in outcome.records if record.kind == PIECE]
    if pieces:
        rows.append((f"({len(pieces):,})", PIECE, _size_of(pieces), outcome.removed[pieces[0].id]))
    if rows:
        click.echo("\n".join(text_table([("id", "kind", "size", "why"), *rows])))
    did = "removed" if delete else "would remove"
    click.echo(
        f"{did} {len(outcome.records)} artifacts ({format_bytes(outcome.bytes)}), "
        f"{len(outcome.recipes)} recipes, {len(outcome.runs)} runs and {len(outcome.files)} other files "
        f"({format_bytes(outcome.leavings)} in all of what is left over); {outcome.kept} artifacts "
        f"({format_bytes(outcome.kept_bytes)}) stay"
    )
    if compiled.entries:
        click.echo(f"{did} {compiled.entries} compiled kernels ({format_bytes(compiled.bytes)}) long unused")
    if outcome.spared:
        click.echo(f"spared {outcome.spared} that a live run may use")
    left = (rows, outcome.recipes, outcome.runs, outcome.files, outcome.leavings, compiled.entries)
    if not delete and any(left):
        click.echo("nothing was removed; `gravel cache gc --yes` does it")


@command.command("init")
@click.option("--shared", "group", metavar="GROUP", help="Let the members of this group write results.")
@cache_option
def init(group: str | None, cache_path: str | None) -> None:
    """Make a cache: for you alone, or with --shared for a group.

    Members read and write each other's results. gravel never uses schedules, hooks, compiled kernels or
    pages of others. Members name the cache with --cache or GRAVEL_CACHE, or trust it once with `gravel
    cache trust`. Without this command, gravel makes a cache for you alone when something is first
    written.
    """
    root = locate_cache(cache_path)
    if group is None:
        make_root(find_cache(cache_path))
        click.echo(f"{root} is a cache of yours alone")
        return
    if cache_path is not None and "://" in cache_path:
        problem = f"{cache_path} is a store, whose rights are set where it is"
        raise RequestError(problem, hint="share a folder with --cache")
    init_shared(root, group)
    find_cache(cache_path)
    click.echo(f"{root} is shared with the group {group}; its members name it with --cache {root}")


@command.command("trust", short_help="Use a cache that others own or can write to.")
@click.argument("folder", type=click.Path(path_type=Path))
def trust_folder(folder: Path) -> None:
    """Use caches at or below FOLDER, no matter who owns them or can write there.

    Whoever can write there decides which results you get. The list is in your own configuration.
    GRAVEL_TRUSTED adds paths to it, separated by colons.
    """
    if not folder.is_dir():
        raise RequestError(f"there is no folder {str(folder)!r}", hint="name the folder that was refused")
    file = trust(folder)
    click.echo(f"{folder.resolve()} is trusted; to take that back, remove its line from {file}")


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


@command.command("push", short_help="Copy missing results to another cache.")
@click.argument("remote", required=False)
@_selection_options
@cache_option
@json_option
def push(**options: Any) -> int:
    """Copy what is missing in REMOTE (a folder or s3://bucket/prefix) from this cache.

    Without --run, --workflow or --recipe everything is copied, including the records of ended runs. Without
    REMOTE, results go to the store that --cache names. An interrupted copy continues where it stopped.
    Recipes are signed with this user's key. Exit code 1: something here is damaged and was not copied.
    """
    return _move(push_pull.push, "pushed", "to", **options)


@command.command("pull", short_help="Copy missing results from another cache.")
@click.argument("remote", required=False)
@_selection_options
@cache_option
@json_option
def pull(**options: Any) -> int:
    """Copy what is missing here from REMOTE (a folder or s3://bucket/prefix), and check all of it.

    Without --run, --workflow or --recipe everything is copied, including the records of ended runs. Without
    REMOTE, results come from the store that --cache names. Recipes count if a trusted key signed them.
    Exit code 1: something there is damaged and was not copied.
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
        f"{did} {counted(moved.artifacts, 'artifact')} ({format_bytes(moved.bytes)}), "
        f"{counted(moved.recipes, 'recipe')} and {counted(moved.runs, 'run')} {way} {moved.where}; "
        f"{moved.present} already there"
    )
    for name, reason in moved.damaged.items():
        click.echo(f"  {name[:12]}  {reason}")
    if moved.damaged:
        click.echo("what is damaged was not copied; `gravel cache verify` tells more")
    uncounted = [(None, moved.unsigned)] if moved.unsigned else []
    for key, count in [*uncounted, *((parse_key(text), count) for text, count in moved.untrusted.items())]:
        click.echo(
            f"{counted(count, 'recipe')} came {signed(key)}, and will be computed again: {advice(key)}"
        )
    return 1 if moved.damaged else 0
