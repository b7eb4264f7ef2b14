"""`gravel datasets`: what a workflow or catalogue names, and bringing it here before it is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.options import cache_option, set_option
from gravel.stages.addresses import hidden, shown

if TYPE_CHECKING:
    from gravel.pipeline.datasets.downloads import Downloads
    from gravel.pipeline.workflow.model import DataSet

PLACES = ("datasets.yaml", "workflows/catalogues/datasets.yaml")
"""Catalogues that are looked into where none is named."""


@click.group()
def command() -> None:
    """List data sets, and download them ahead of a run."""


def _from(file: str | None, settings: tuple[str, ...] = ()) -> dict[str, DataSet]:
    """Return the data sets of a catalogue or of a workflow's section `datasets`, by name."""
    from gravel.pipeline.cli.options import pairs
    from gravel.pipeline.core.errors import RequestError
    from gravel.pipeline.workflow.catalogue import read_catalogue
    from gravel.pipeline.workflow.loading import load_workflow
    from gravel.pipeline.workflow.nodes import MapNode, parse
    from gravel.pipeline.workflow.reading import read_workflow_text

    if file is None:
        file = next((place for place in PLACES if Path(place).is_file()), None)
    if file is None:
        raise RequestError(
            f"there is no catalogue here: neither {' nor '.join(PLACES)}", hint="name one with --from FILE"
        )
    root, _ = parse(read_workflow_text(Path(file)))
    if not isinstance(root, MapNode) or "stages" not in root.items:
        return read_catalogue(Path(file))
    workflow = load_workflow(file, dict(pairs(settings, "--set")))
    return {
        name if len(workflow.datasets) == 1 else f"{axis}={name}": each
        for axis, found in workflow.datasets.items()
        for name, each in found.items()
    }


def _downloads(cache_path: str | None) -> Downloads:
    from gravel.pipeline.datasets.downloads import Downloads
    from gravel.pipeline.store.location import find_cache

    return Downloads(find_cache(cache_path))


def _chosen(known: dict[str, DataSet], names: tuple[str, ...]) -> dict[str, DataSet]:
    from gravel.pipeline.core.errors import RequestError
    from gravel.pipeline.core.names import suggest

    for name in names:
        if name not in known:
            raise RequestError(f"there is no data set {name!r}", hint=suggest(name, known, "data set"))
    return {name: known[name] for name in names}


def _state(each: DataSet, downloads: Downloads) -> str:
    from gravel.pipeline.datasets.downloads import is_fetched

    if not each.location:
        return "generated"
    if is_fetched(each.location):
        return "here" if downloads.find(each.location, each.sha256) is not None else "not here"
    return "a file" if Path(each.location).is_file() else "missing"


@command.command("ls")
@click.option("--from", "file", metavar="FILE", help="A catalogue or a workflow with `datasets`.")
@set_option
@cache_option
@click.option("--json", "as_json", is_flag=True, help="Print everything that is known of each.")
def list_them(file: str | None, settings: tuple[str, ...], cache_path: str | None, as_json: bool) -> None:
    """List the data sets, their counts, and whether they are here."""
    known, downloads = _from(file, settings), _downloads(cache_path)
    if as_json:
        facts = [_facts(name, each, downloads) for name, each in known.items()]
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    rows: list[tuple[str, ...]] = [("DATA SET", "STATE", "VERTICES", "EDGES", "LICENCE", "WHERE")]
    for name, each in known.items():
        counts = ["" if count is None else f"{count:,}" for count in (each.vertices, each.edges)]
        rows.append((name, _state(each, downloads), *counts, each.licence[:24], shown(each.location)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if at in (2, 3) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def _facts(name: str, each: DataSet, downloads: Downloads) -> dict[str, Any]:
    found = {key: value for key, value in vars(each).items() if key not in ("place", "name")}
    return {"name": name, "state": _state(each, downloads), **hidden(found)}


@command.command("fetch")
@click.argument("names", nargs=-1)
@click.option("--from", "file", metavar="FILE", help="A catalogue or a workflow with `datasets`.")
@click.option("--all", "everything", is_flag=True, help="Every data set there is.")
@set_option
@cache_option
def fetch_them(
    names: tuple[str, ...],
    file: str | None,
    everything: bool,
    settings: tuple[str, ...],
    cache_path: str | None,
) -> int:
    """Download the data sets NAMES into the cache; what is here is not fetched again.

    What broke off goes on where it stopped. Exit code 1: one of them could not be had; the others are here.
    """
    from gravel.pipeline.cli.errors import echo, render
    from gravel.pipeline.core.errors import GravelError, RequestError
    from gravel.pipeline.datasets.downloads import is_fetched
    from gravel.stages.errors import StageError

    known, downloads = _from(file, settings), _downloads(cache_path)
    if not names and not everything:
        raise RequestError(
            "no data set is named", hint="name some, or say --all; gravel datasets ls lists them"
        )
    failed = 0
    for name, each in (_chosen(known, names) if names else known).items():
        if not is_fetched(each.location):
            where = f"{name}: {shown(each.location)} is read where it lies"
            click.echo(where if each.location else _unfetched(name, each))
            continue
        try:
            found = downloads.fetch(each.location, each.sha256, log=lambda message: echo(message, err=True))
        except (StageError, GravelError) as error:
            hint = error.hint if isinstance(error, StageError) else error.problems[0].hint
            echo(render(GravelError(f"{name}: {error}", hint=hint)), err=True)
            failed += 1
            continue
        click.echo(f"{name}: {found.path} (sha256 {found.sha256})")
    return 1 if failed else 0


def _unfetched(name: str, each: DataSet) -> str:
    return f"{name}: has no URL of its own; see {each.homepage or 'its catalogue'}"


@command.command("drop")
@click.argument("names", nargs=-1, required=True)
@click.option("--from", "file", metavar="FILE", help="A catalogue or a workflow with `datasets`.")
@set_option
@cache_option
def drop_them(
    names: tuple[str, ...], file: str | None, settings: tuple[str, ...], cache_path: str | None
) -> None:
    """Remove what was downloaded of the data sets NAMES; results made from it stay cached."""
    from gravel.pipeline.core.memory import format_bytes

    downloads = _downloads(cache_path)
    for name, each in _chosen(_from(file, settings), names).items():
        click.echo(f"{name}: {format_bytes(downloads.drop(each.location))} freed")
