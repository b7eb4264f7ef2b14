"""`gravel show`: what a result is, and who made it from what, when, where and with what."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from gravel.pipeline.cli.completion import run_stages, runs
from gravel.pipeline.cli.options import cache_option, json_option, open_cache, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.records.past_runs import find_run, list_runs
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import ARTIFACTS
from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord
from gravel.pipeline.store.selection import makers_of, recipes

SHOWN_CHARACTERS = 90
"""Of an attribute; `--json` prints it whole."""


@dataclass
class Origin:
    """An artifact, the recipe that made it first, and the same of each input by slot.

    `record` is None for what is not in the cache any more, or was never kept. `again` marks an artifact
    whose inputs are shown elsewhere in the same tree.
    """

    id: str
    record: ArtifactRecord | None
    recipe: RecipeRecord | None
    inputs: list[tuple[str, Origin]] = field(default_factory=list)
    again: bool = False


class History:
    """The recipes of a cache, by what they made."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.recipes = recipes(cache)
        self._makers = makers_of(self.recipes)

    def origin(self, artifact_id: str, shown: set[str] | None = None) -> Origin:
        """Return the tree of an artifact's makers and inputs."""
        shown = set() if shown is None else shown
        recipe = self._makers.get(artifact_id)
        origin = Origin(artifact_id, self._cache.find(artifact_id), recipe, again=artifact_id in shown)
        shown.add(artifact_id)
        if recipe is not None and not origin.again:
            slots: Mapping[str, Any] = recipe.parts.get("inputs", {})
            for slot, ids in slots.items():
                origin.inputs += [(slot, self.origin(each, shown)) for each in ids]
        return origin


@click.command()
@click.argument("name", metavar="ID|STAGE|RUN", shell_complete=runs)
@click.argument("stage", required=False, shell_complete=run_stages)
@cache_option
@json_option
def command(name: str, stage: str | None, cache_path: str | None, as_json: bool) -> None:
    """Show a result: its arrays, attributes and size, and what it was made from.

    Name it by the beginning of its id (see `gravel cache ls`) or of its recipe. Or give the key of a
    stage run such as bfs[order=rcm]; it means the newest run that has it. Or give a run and a key.
    """
    cache = open_cache(cache_path)
    history = History(cache)
    origins = [history.origin(each) for each in _find(cache, history, name, stage)]
    if as_json:
        print_json([_to_json(origin) for origin in origins])
        return
    click.echo("\n\n".join("\n".join(_lines(origin, cache)) for origin in origins))


def _find(cache: Cache, history: History, name: str, stage: str | None) -> list[str]:
    """Return the artifact ids that are meant; raises RequestError for none or several."""
    if stage is not None:
        return _outputs(find_run(cache.root, name)[1], stage)
    if re.fullmatch("[0-9a-f]{4,64}", name):
        here = {file.removesuffix(".json") for file in cache.files.names(ARTIFACTS, ".json")}
        away = set(cache.remote.known()) if cache.remote is not None else set()
        ids = sorted(found for found in here | away if found.startswith(name))
        if len(ids) > 1:
            problem = f"{len(ids)} artifacts have ids that start with {name}"
            raise RequestError(problem, hint="give more of the id")
        if ids:
            return ids
        made = [recipe for recipe in history.recipes if recipe.digest.startswith(name)]
        if len(made) > 1:
            raise RequestError(f"{len(made)} recipes start with {name}", hint="give more of the digest")
        if made:
            return list(made[0].outputs)
    runs = list_runs(cache.root, exports=True)
    exact = (run for run in runs if any(name in (each["key"], each["entry"]) for each in run["stages"]))
    like = (run for run in runs if any(each["key"].startswith(name) for each in run["stages"]))
    for run in (*exact, *like):
        return _outputs(run, name)
    if any(run["run"] == name or (len(name) >= 4 and name in run["run"]) for run in runs):
        raise RequestError(f"{name} is a run", hint=f"name a stage of it too: gravel show {name} STAGE")
    raise RequestError(
        f"nothing in {cache.root} is called {name}",
        hint="give an id of `gravel cache ls`, or a stage's key of `gravel status`",
    )


def _outputs(run: dict[str, Any], name: str) -> list[str]:
    """Return the outputs of the one stage run whose key or entry is, or starts with, this name."""
    stages = run["stages"]
    chosen = [each for each in stages if each["key"] == name]
    chosen = chosen or [each for each in stages if each["entry"] == name]
    chosen = chosen or [each for each in stages if each["key"].startswith(name)]
    if not chosen:
        keys = ", ".join(each["key"] for each in stages)
        raise RequestError(f"run {run['run']} has no stage run {name!r}", hint=f"it has {keys}")
    if len(chosen) > 1:
        keys = ", ".join(each["key"] for each in chosen)
        problem = f"{name!r} fits {len(chosen)} stage runs of {run['run']}"
        raise RequestError(problem, hint=f"name one of {keys}")
    one = chosen[0]
    if not one["outputs"]:
        raise RequestError(f"{one['key']} of run {run['run']} has no result: it is {one['state']}")
    return list(one["outputs"])


def _lines(origin: Origin, cache: Cache) -> Iterator[str]:
    record, recipe = origin.record, origin.recipe
    if record is None:
        yield f"{origin.id}: not in the cache any more"
    else:
        yield f"{record.kind} {record.id}"
        yield (
            f"  size: {format_bytes(record.bytes)}, {format_bytes(record.bytes_on_disk)} on disk "
            f"in {len(record.files)} files"
        )
        if cache.remote is not None and not cache.is_here(record.id):
            yield f"  data: in {cache.remote.url}; they come here when something opens them"
        else:
            yield f"  data: {record.path} (a Zarr group)"
        if record.arrays:
            yield "  arrays:"
            width = max(map(len, record.arrays))
            for name, (dtype, shape) in sorted(record.arrays.items()):
                yield f"    {name.ljust(width)}  {dtype} {' x '.join(f'{length:,}' for length in shape)}"
        attributes = {name: value for name, value in record.attributes.items() if value is not None}
        if attributes:
            yield "  attributes:"
            yield from (f"    {name}: {_short(value)}" for name, value in attributes.items())
    if recipe is not None:
        made = recipe.provenance
        yield "  made by:"
        yield f"    {_maker(origin)}"
        yield f"    recipe {recipe.digest}"
        for name in ("run", "host", "user", "hardware"):
            if made.get(name):
                yield f"    {name}: {made[name]}"
        if made.get("versions"):
            yield f"    versions: {', '.join(f'{name} {text}' for name, text in made['versions'].items())}"
        if made.get("peak_host_bytes"):
            yield f"    peak memory: {format_bytes(made['peak_host_bytes'])}"
        yield f"    parameters: {_short(recipe.parts.get('parameters', {}))}"
        yield from _files(recipe, "    ")
    if origin.inputs:
        yield "  from:"
        yield from _tree(origin, "    ")


def _tree(origin: Origin, indent: str) -> Iterator[str]:
    for slot, source in origin.inputs:
        kind = source.record.kind if source.record else "(not in the cache any more)"
        again = " (as above)" if source.again and source.recipe else ""
        yield f"{indent}{slot}: {kind} {source.id[:12]}, {_maker(source)}{again}"
        if source.recipe is not None and not source.again:
            yield from _files(source.recipe, indent + "  ")
        yield from _tree(source, indent + "  ")


def _files(recipe: RecipeRecord, indent: str) -> Iterator[str]:
    for location, digest in recipe.parts.get("files", {}).items():
        yield f"{indent}file: {location} ({digest[:24]})"


def _maker(origin: Origin) -> str:
    if origin.recipe is None:
        return "its recipe is gone"
    made = origin.recipe.provenance
    seconds, when = made.get("seconds"), made.get("started", origin.recipe.created)
    took = f" in {format_seconds(seconds)}" if isinstance(seconds, int | float) else ""
    if isinstance(when, int | float):
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))
    return (
        f"{made.get('key', '?')} ({origin.recipe.parts.get('stage', '?')} version "
        f"{origin.recipe.parts.get('version', '?')}) of {made.get('workflow', '?')}, "
        f"{when}{took} on {made.get('host', '?')}"
    )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    rest = f" ... ({len(text):,} characters)" if len(text) > SHOWN_CHARACTERS else ""
    return text[:SHOWN_CHARACTERS] + rest


def _to_json(origin: Origin) -> dict[str, Any]:
    body: dict[str, Any] = {"id": origin.id}
    if origin.record is not None:
        record = origin.record
        body |= {
            "kind": record.kind,
            "path": str(record.path),
            **{name: getattr(record, name) for name in ("bytes", "bytes_on_disk", "created")},
            "arrays": {name: {"dtype": each[0], "shape": each[1]} for name, each in record.arrays.items()},
            "attributes": record.attributes,
        }
    if origin.recipe is not None:
        body |= {
            "recipe": {"digest": origin.recipe.digest, **origin.recipe.parts},
            "provenance": origin.recipe.provenance,
        }
    if origin.again:
        body["again"] = True
    if origin.inputs:
        body["inputs"] = [{"slot": slot, **_to_json(source)} for slot, source in origin.inputs]
    return body
