"""`gravel cache`: what is cached, whether it is whole, freeing space, and moving results."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.moving import pull, push
from gravel.pipeline.cli.options import cache_option
from gravel.pipeline.cli.sharing import init, trust

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.listing import Entry

SIZE_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY_UNITS = {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
AGE_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parse_size(text: str) -> int:
    """Read a size such as 20GB, 512MiB or 1000; raises ValueError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?I?)B?\s*", text.upper())
    units = SIZE_UNITS | BINARY_UNITS
    if match is None or match[2] not in units:
        raise ValueError(f"{text!r} is no size; write it like 20GB, 512MiB or 1000000")
    return int(float(match[1]) * units[match[2]])


def parse_age(text: str) -> float:
    """Read an age such as 30d, 12h or 2w, in seconds; raises ValueError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([smhdw])\s*", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is no age; write it like 30d, 12h or 2w")
    return float(match[1]) * AGE_UNITS[match[2]]


def _read_with(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Make an option's callback of one of the functions above."""

    def read(ctx: click.Context, parameter: click.Parameter, text: str | None) -> Any:
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, parameter) from None

    return read


def _open(cache_path: str | None) -> Cache:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache

    return Cache(find_cache(cache_path))


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


@click.group()
def command() -> None:
    """List, verify, collect, move or share what is cached."""


command.add_command(push)
command.add_command(pull)
command.add_command(init)
command.add_command(trust)


SORTS: dict[str, Callable[[Entry], Any]] = {
    "created": lambda entry: entry.record.created,
    "used": lambda entry: entry.record.used,
    "size": lambda entry: entry.record.bytes_on_disk,
    "kind": lambda entry: (entry.record.kind, entry.record.created),
    "stage": lambda entry: (entry.recipe.provenance.get("key", "") if entry.recipe else "", entry.record.id),
    "id": lambda entry: entry.record.id,
}


@command.command("ls")
@cache_option
@click.option("--sort", type=click.Choice(list(SORTS)), default="created", show_default=True)
@click.option("--reverse", is_flag=True, help="Last first.")
@click.option("--kind", metavar="KIND", help="Only artifacts of this kind, such as Graph.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_artifacts(cache_path: str | None, sort: str, reverse: bool, kind: str | None, as_json: bool) -> None:
    """List every artifact: id, kind, size on disk, when it was made, by which stage of which workflow."""
    from gravel.pipeline.core.memory import format_bytes

    cache = _open(cache_path)
    entries = [entry for entry in cache.list() if kind is None or entry.record.kind.lower() == kind.lower()]
    entries.sort(key=SORTS[sort], reverse=reverse)
    if as_json:
        click.echo(json.dumps([_entry_json(entry) for entry in entries], indent=1))
        return
    rows = [
        (
            entry.record.id[:12],
            entry.record.kind,
            format_bytes(entry.record.bytes_on_disk),
            _when(entry.record.created),
            _maker(entry),
        )
        for entry in entries
    ]
    _print_table(("id", "kind", "size", "made", "by"), rows)
    total = format_bytes(sum(entry.record.bytes_on_disk for entry in entries))
    click.echo(f"{len(entries)} artifacts, {total}, in {cache.root}")
    if cache.remote is not None:
        away = sum(not cache.is_here(artifact_id) for artifact_id in cache.remote.known())
        click.echo(f"{away} more are known to lie in {cache.remote.url}, and come when they are opened")


def _maker(entry: Entry) -> str:
    if entry.recipe is None:
        return "(its recipe is gone)"
    made = entry.recipe.provenance
    return f"{made.get('key', made.get('stage', '?'))} of {made.get('workflow', '?')}"


def _entry_json(entry: Entry) -> dict[str, Any]:
    record, recipe = entry.record, entry.recipe
    return {
        "id": record.id,
        "kind": record.kind,
        "bytes": record.bytes,
        "bytes_on_disk": record.bytes_on_disk,
        "created": record.created,
        "used": record.used,
        "path": str(record.path),
        "stage": recipe and recipe.provenance.get("stage"),
        "key": recipe and recipe.provenance.get("key"),
        "workflow": recipe and recipe.provenance.get("workflow"),
        "recipe": recipe and recipe.digest,
    }


def _print_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    for row in [heads, *rows]:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


@command.command("verify")
@cache_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(cache_path: str | None, as_json: bool) -> int:
    """Digest every file, set aside what is damaged, and exit 1 if anything was."""
    from gravel.pipeline.core.memory import format_bytes

    cache = _open(cache_path)
    show = None if as_json or not sys.stderr.isatty() else _show_progress
    outcome = cache.verify(show)
    if show is not None:
        click.echo("\r\033[K", err=True, nl=False)
    if as_json:
        click.echo(json.dumps(vars(outcome), indent=1))
        return 1 if outcome.damaged else 0
    click.echo(
        f"read {format_bytes(outcome.bytes)}: {outcome.artifacts} artifacts and {outcome.recipes} recipes, "
        f"{len(outcome.damaged) or 'none'} damaged"
    )
    if outcome.bound:
        click.echo(
            f"{outcome.bound} artifacts of an older gravel had no checksums of chunks on record, and have now"
        )
    for identity, reason in outcome.damaged.items():
        click.echo(f"  {identity[:12]}  {reason}")
    if outcome.damaged:
        click.echo(
            "what is damaged was set aside, where it could be, and is computed again when it is needed"
        )
    return 1 if outcome.damaged else 0


def _show_progress(done: int, total: int) -> None:
    from gravel.pipeline.core.memory import format_bytes

    click.echo(f"\r\033[K{format_bytes(done)} of {format_bytes(total)}", err=True, nl=False)


@command.command("gc")
@cache_option
@click.option("--yes", "--delete", "delete", is_flag=True, help="Remove it; otherwise it is only listed.")
@click.option(
    "--max-size",
    callback=_read_with(parse_size),
    metavar="SIZE",
    help="Also remove the longest unused until at most this stays, such as 50GB.",
)
@click.option(
    "--older-than",
    callback=_read_with(parse_age),
    metavar="AGE",
    help="Runs older than this (30d, 12h) keep nothing and their folders go; what was used since stays.",
)
@click.option(
    "--quarantine-older-than",
    "quarantine",
    callback=_read_with(parse_age),
    default="7d",
    show_default=True,
    metavar="AGE",
    help="What was set aside as damaged goes after this.",
)
@click.option(
    "--ignore-unreadable-runs",
    "unreadable",
    is_flag=True,
    help="Also remove what only a run used whose record cannot be read.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def collect(
    cache_path: str | None,
    delete: bool,
    max_size: int | None,
    older_than: float | None,
    quarantine: float,
    unreadable: bool,
    as_json: bool,
) -> None:
    """Remove what no kept run reaches, what dead runs left, and what was set aside as damaged.

    The kept runs are those whose records lie in the cache (see `gravel runs`). What a live run uses is
    spared. Locks that nobody holds, cached plans that no longer hold, and what is remembered of files and
    artifacts that are gone go too. Compiled kernels of this user go when they were unused for 30 days, or for
    --older-than. Without --yes nothing is removed.
    """
    from gravel.pipeline.core.memory import format_bytes
    from gravel.pipeline.gc.collect import Policy, collect
    from gravel.pipeline.gc.compiled import collect_compiled

    cache = _open(cache_path)
    policy = Policy(max_size, older_than, quarantine, unreadable)
    outcome = collect(cache, policy, delete=delete)
    for run, problem in outcome.unreadable.items():
        echo(
            f"the record of {run} cannot be read ({problem}), so what it used is unknown and nothing goes "
            f"for being unused; remove {cache.root / 'runs' / run}, or add --ignore-unreadable-runs",
            err=True,
        )
    compiled = collect_compiled(delete=delete, older_than=older_than)
    if as_json:
        body = {key: value for key, value in vars(outcome).items() if key != "records"}
        body["compiled"] = vars(compiled)
        click.echo(json.dumps(body, indent=1))
        return
    rows = [
        (record.id[:12], record.kind, format_bytes(record.bytes_on_disk), outcome.removed[record.id])
        for record in outcome.records
    ]
    if rows:
        _print_table(("id", "kind", "size", "why"), rows)
    did = "removed" if delete else "would remove"
    click.echo(
        f"{did} {len(rows)} artifacts ({format_bytes(outcome.bytes)}), {len(outcome.recipes)} recipes, "
        f"{len(outcome.runs)} runs and {len(outcome.files)} other files "
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
