"""`gravel datasets`: what a workflow or catalogue names, and bringing it here before it is needed."""

from __future__ import annotations

from pathlib import Path

import click

from gravel.pipeline.cli.errors import echo, render
from gravel.pipeline.cli.options import cache_option, json_option, pairs, print_json, set_option
from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.core.names import suggest
from gravel.pipeline.datasets.downloads import Downloads, is_fetched
from gravel.pipeline.progress.tables import text_table
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workflow.catalogue import read_catalogue
from gravel.pipeline.workflow.model import DataSet
from gravel.pipeline.workflow.nodes import MapNode, parse
from gravel.pipeline.workflow.source import read_workflow_text
from gravel.stages.errors import StageError
from gravel.stages.urls import hidden, shown

PLACES = ("datasets.yaml", "workflows/catalogues/datasets.yaml")
"""Catalogues that are looked into where none is named."""


@click.group()
def command() -> None:
    """List data sets, and download them ahead of a run."""


_from_option = click.option(
    "--from", "file", metavar="FILE", help="A catalogue or a workflow with `datasets`."
)


def _from(file: str | None, settings: tuple[str, ...]) -> dict[str, DataSet]:
    """Return the data sets of a catalogue or of a workflow's section `datasets`, by name."""
    from gravel.pipeline.workflow.loader import load_workflow

    if file is None:
        file = next((place for place in PLACES if Path(place).is_file()), None)
    if file is None:
        problem = f"there is no catalogue here: neither {' nor '.join(PLACES)}"
        raise RequestError(problem, hint="name one with --from FILE")
    root, _ = parse(read_workflow_text(Path(file)))
    if not isinstance(root, MapNode) or "stages" not in root.items:
        return read_catalogue(Path(file))
    workflow = load_workflow(file, dict(pairs(settings, "--set")))
    return {
        name if len(workflow.datasets) == 1 else f"{axis}={name}": each
        for axis, found in workflow.datasets.items()
        for name, each in found.items()
    }


def _chosen(known: dict[str, DataSet], names: tuple[str, ...]) -> dict[str, DataSet]:
    for name in names:
        if name not in known:
            raise RequestError(f"there is no data set {name!r}", hint=suggest(name, known, "data set"))
    return {name: known[name] for name in names}


def _state(each: DataSet, downloads: Downloads) -> str:
    if not each.location:
        return "generated"
    if is_fetched(each.location):
        return "here" if downloads.find(each.location, each.sha256) is not None else "not here"
    return "a file" if Path(each.location).is_file() else "missing"


@command.command("ls", short_help="List the data sets and their downloads.")
@_from_option
@set_option
@cache_option
@json_option
def list_them(file: str | None, settings: tuple[str, ...], cache_path: str | None, as_json: bool) -> None:
    """List the data sets, their counts, and whether they are downloaded."""
    known, downloads = _from(file, settings), Downloads(find_cache(cache_path))
    if as_json:
        facts = [
            {"name": name, "state": _state(each, downloads), **hidden(vars(each))}
            for name, each in known.items()
        ]
        print_json([{key: value for key, value in each.items() if key != "place"} for each in facts])
        return
    rows: list[tuple[str, ...]] = [("DATA SET", "STATE", "VERTICES", "EDGES", "LICENCE", "WHERE")]
    for name, each in known.items():
        counts = ["" if count is None else f"{count:,}" for count in (each.vertices, each.edges)]
        rows.append((name, _state(each, downloads), *counts, each.licence[:24], shown(each.location)))
    click.echo("\n".join(text_table(rows, right=(2, 3))))


@command.command("fetch", short_help="Download data sets into the cache.")
@click.argument("names", nargs=-1)
@_from_option
@click.option("--all", "everything", is_flag=True, help="All data sets.")
@set_option
@cache_option
def fetch_them(
    names: tuple[str, ...],
    file: str | None,
    everything: bool,
    settings: tuple[str, ...],
    cache_path: str | None,
) -> int:
    """Download the data sets NAMES into the cache, unless they are there already.

    An interrupted download continues. Exit code 1: a download failed; the others are complete.
    """
    known, downloads = _from(file, settings), Downloads(find_cache(cache_path))
    if not names and not everything:
        raise RequestError(
            "no data set is named", hint="name some, or say --all; gravel datasets ls lists them"
        )
    failed = 0
    for name, each in (_chosen(known, names) if names else known).items():
        if not is_fetched(each.location):
            lies = f"{shown(each.location)} is read where it lies"
            lacks = f"has no URL of its own; see {each.homepage or 'its catalogue'}"
            click.echo(f"{name}: {lies if each.location else lacks}")
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


@command.command("drop", short_help="Remove downloads of data sets.")
@click.argument("names", nargs=-1, required=True)
@_from_option
@set_option
@cache_option
def drop_them(
    names: tuple[str, ...], file: str | None, settings: tuple[str, ...], cache_path: str | None
) -> None:
    """Remove the downloads of the data sets NAMES; results made from them stay cached."""
    downloads = Downloads(find_cache(cache_path))
    for name, each in _chosen(_from(file, settings), names).items():
        click.echo(f"{name}: {format_bytes(downloads.drop(each.location))} freed")
