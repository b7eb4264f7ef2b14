"""Which results to copy: all, or those of runs, workflows or single recipes with what they were made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.artifact_transfer import check_name
from gravel.pipeline.store.objects import FaultySource
from gravel.pipeline.store.records import BrokenRecord, RecipeRecord, unseal

if TYPE_CHECKING:
    from gravel.pipeline.store.objects import Source

Pick = Callable[[dict[str, Any]], dict[str, Any]]
"""Says which of the records that several users signed counts: the one given, or one that is kept in it."""

READ_THREADS = 16
"""Records asked for at once; each is one round trip to a store."""


@dataclass(frozen=True)
class Selection:
    """What is asked for. Without runs, workflows and recipes: everything.

    `runs` are ids or unique parts of them, `workflows` names, `recipes` beginnings of digests. `alone` leaves
    out what a chosen recipe's results were made from.
    """

    runs: Collection[str] = ()
    workflows: Collection[str] = ()
    recipes: Collection[str] = ()
    alone: bool = False

    @property
    def everything(self) -> bool:
        """Say whether nothing narrows it."""
        return not (self.runs or self.workflows or self.recipes)


@dataclass
class Chosen:
    """The recipes to copy, the oldest first, the runs, and artifacts that no recipe there leads to."""

    recipes: list[RecipeRecord] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)  # recipe or run -> what is wrong with its record


def read_recipe(text: bytes, digest: str, pick: Pick = lambda body: body) -> RecipeRecord:
    """Read a recipe's record that came from elsewhere, or the one in it that is picked.

    Raises `BrokenRecord`.
    """
    try:
        record = RecipeRecord.from_json(pick(unseal(text)))
        for output in record.outputs:
            check_name(output)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BrokenRecord(str(error)) from error
    if record.digest != digest:
        raise BrokenRecord("it is the record of another recipe")
    return record


def choose(source: Source, selection: Selection, pick: Pick = lambda body: body) -> Chosen:
    """Find what a selection means at a source; raises `RequestError` for a name that fits nothing there."""
    chosen = Chosen()
    known = _recipes(source, chosen, pick)
    runs = _runs(source, chosen)
    if selection.everything:
        chosen.recipes = sorted(known.values(), key=lambda recipe: recipe.created)
        chosen.runs = sorted(runs)
        return chosen

    digests: set[str] = set()
    ids: set[str] = set()
    for name in selection.runs:
        run = _only(name, runs, "run", source, str.__contains__)
        chosen.runs.append(run)
        digests |= set(runs[run].get("recipes", ())) & known.keys()
        ids |= {name for name in runs[run].get("artifacts", ()) if not name.startswith("recipe:")}
    for name in selection.workflows:
        fitting = [digest for digest, recipe in known.items() if recipe.provenance.get("workflow") == name]
        if not fitting:
            names = sorted({str(recipe.provenance.get("workflow")) for recipe in known.values()})
            raise RequestError(
                f"{source.where} holds no result of a workflow {name!r}",
                hint=f"it holds results of: {', '.join(names) or 'none'}",
            )
        digests |= set(fitting)
        chosen.runs += [run for run, record in runs.items() if record["workflow"].get("name") == name]
    for name in selection.recipes:
        digests.add(_only(name, known, "recipe", source, str.startswith))

    reached = digests if selection.alone else _closure(digests, known)
    chosen.recipes = sorted((known[digest] for digest in reached), key=lambda recipe: recipe.created)
    made = {output for recipe in chosen.recipes for output in recipe.outputs}
    chosen.artifacts = sorted(ids - made)
    chosen.runs = sorted(set(chosen.runs))
    return chosen


def _only(
    name: str, among: Collection[str], what: str, source: Source, fits: Callable[[str, str], bool]
) -> str:
    fitting = [name] if name in among else [each for each in sorted(among) if fits(each, name)]
    if len(fitting) != 1:
        found = f"{len(fitting)} {what}s fit {name!r}" if fitting else f"there is no {what} {name!r}"
        shown = ", ".join(each[:24] for each in (fitting or sorted(among))[:5])
        raise RequestError(f"{found} in {source.where}", hint=f"for example: {shown}" if shown else None)
    return fitting[0]


def _recipes(source: Source, chosen: Chosen, pick: Pick) -> dict[str, RecipeRecord]:
    known = {}
    digests = [name.removesuffix(".json") for name in _names(source, "recipes", chosen)]
    for digest, text in _texts(source, digests, "recipes/{}.json", chosen):
        try:
            known[digest] = read_recipe(text, digest, pick)
        except BrokenRecord as error:
            chosen.damaged[digest] = f"the record of the recipe is damaged ({error})"
    return known


def _runs(source: Source, chosen: Chosen) -> dict[str, dict[str, Any]]:
    """Return the records of the runs that have ended."""
    runs = {}
    for name, text in _texts(source, _names(source, "runs", chosen), "runs/{}/run.json", chosen):
        try:
            check_name(name)
            record = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if _is_run(record) and record.get("state") not in (None, "running"):
            runs[name] = record
    return runs


def _is_run(record: Any) -> bool:
    """Say whether of a run's record can be read what is asked of it here."""
    return (
        isinstance(record, dict)
        and isinstance(record.setdefault("workflow", {}), dict)
        and all(
            isinstance(record.setdefault(part, []), list)
            and all(isinstance(each, str) for each in record[part])
            for part in ("recipes", "artifacts")
        )
    )


def _names(source: Source, folder: str, chosen: Chosen) -> list[str]:
    try:
        return [name for name in source.names(folder) if not name.startswith(".")]
    except FaultySource as error:
        chosen.damaged[folder] = str(error)
        return []


def _texts(source: Source, names: Sequence[str], place: str, chosen: Chosen) -> Iterator[tuple[str, bytes]]:
    """Read small objects, a few at once; pass over those that went, note what is not to be read."""

    def one(name: str) -> bytes | FaultySource | None:
        try:
            return source.get(place.format(name))
        except FaultySource as error:
            return error

    with ThreadPoolExecutor(READ_THREADS) as pool:
        for name, found in zip(names, pool.map(one, names), strict=True):
            if isinstance(found, FaultySource):
                chosen.damaged[name] = str(found)
            elif found is not None:
                yield name, found


def _closure(digests: set[str], known: dict[str, RecipeRecord]) -> set[str]:
    """Add the recipes that made the inputs of these, and theirs."""
    makers: dict[str, str] = {}
    for recipe in sorted(known.values(), key=lambda recipe: recipe.created):
        for position, output in enumerate(recipe.outputs):
            makers.setdefault(output, recipe.digest)
            makers.setdefault(f"recipe:{recipe.digest}:{position}", recipe.digest)
    reached: set[str] = set()
    waiting = list(digests)
    while waiting:
        digest = waiting.pop()
        if digest in reached:
            continue
        reached.add(digest)
        slots = known[digest].parts.get("inputs", {})
        waiting += [makers[name] for names in slots.values() for name in names if name in makers]
    return reached
