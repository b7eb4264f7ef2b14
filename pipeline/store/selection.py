"""What a cache or a store holds, and which of it to copy.

That is all, or what belongs to runs, workflows or single recipes, with what it was made from.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord, RecipeRecord, unseal
from gravel.pipeline.store.signatures import RECIPES, UNTRUSTED

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.objects import Source

Pick = Callable[[dict[str, Any]], dict[str, Any]]
"""Says which of the records that several users signed counts: the one given, or one that is kept in it."""

READ_THREADS = 16
"""Records asked for at once; each is one round trip to a store."""


@dataclass(frozen=True)
class Entry:
    """An artifact and the recipe that made it first, if that is still known."""

    record: ArtifactRecord
    recipe: RecipeRecord | None


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


@dataclass
class Moved:
    """What a push or pull did: counts of what was copied, and of artifacts that were there."""

    where: str
    recipes: int = 0
    artifacts: int = 0
    bytes: int = 0
    runs: int = 0
    present: int = 0
    damaged: dict[str, str] = field(default_factory=dict)  # artifact or recipe -> what is wrong with it
    unsigned: int = 0  # of the recipes, those that came without a signature and do not count
    untrusted: dict[str, int] = field(default_factory=dict)  # key that is not trusted -> recipes by it


def recipes(cache: CacheFolder) -> list[RecipeRecord]:
    """Return every recipe's record, the oldest first, then those of others that are not trusted.

    Damaged ones are set aside.
    """
    trusted = cache.recipe_records(RECIPES)
    known = {record.digest for record in trusted}
    return trusted + [record for record in cache.recipe_records(UNTRUSTED) if record.digest not in known]


def artifacts(cache: CacheFolder) -> list[ArtifactRecord]:
    """Return every artifact's record, the oldest first; damaged ones are set aside."""
    names = cache.files.names("artifacts", ".json")
    found = [cache.find(name.removesuffix(".json")) for name in names]
    return sorted((record for record in found if record is not None), key=lambda record: record.created)


def makers_of(known: Iterable[RecipeRecord]) -> dict[str, RecipeRecord]:
    """Return the first recipe that led to each output, by its id, and by the one that it has if unkept."""
    makers: dict[str, RecipeRecord] = {}
    for recipe in known:
        for position, output in enumerate(recipe.outputs):
            makers.setdefault(output, recipe)
            makers.setdefault(f"recipe:{recipe.digest}:{position}", recipe)
    return makers


def entries(cache: CacheFolder) -> list[Entry]:
    """Return every artifact with its maker, the oldest first."""
    makers = makers_of(recipes(cache))
    return [Entry(record, makers.get(record.id)) for record in artifacts(cache)]


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


def read_artifact_record(
    text: bytes, artifact_id: str, root: Path = Path(), data: str = "data"
) -> ArtifactRecord:
    """Read a record that came from elsewhere; raises `BrokenRecord`, also for names that lead outside."""
    try:
        record = ArtifactRecord.from_json(unseal(text), root, time.time(), data)
        check_name(record.path.name)
        for file in record.files:
            if PurePosixPath(file.path).as_posix() != file.path:
                raise BrokenRecord(f"it names {file.path!r}, which is no path")
            for part in file.path.split("/"):
                check_name(part)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BrokenRecord(str(error)) from error
    if record.id != artifact_id:
        raise BrokenRecord("it is the record of another artifact")
    return record


def check_name(name: str) -> str:
    """Return a single name that came from elsewhere; raises `BrokenRecord` if it may lead outside."""
    if not name or name.startswith(".") or "/" in name or "\\" in name or not name.isprintable():
        raise BrokenRecord(f"it names {name!r}, which is no name of a file")
    return name


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
    from gravel.pipeline.store.objects import FaultySource  # not needed to list a cache

    try:
        return [name for name in source.names(folder) if not name.startswith(".")]
    except FaultySource as error:
        chosen.damaged[folder] = str(error)
        return []


def _texts(source: Source, names: Sequence[str], place: str, chosen: Chosen) -> Iterator[tuple[str, bytes]]:
    """Read small objects, a few at once; pass over those that went, note what is not to be read."""
    from concurrent.futures import ThreadPoolExecutor

    from gravel.pipeline.store.objects import FaultySource

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
    makers = makers_of(sorted(known.values(), key=lambda recipe: recipe.created))
    reached: set[str] = set()
    waiting = list(digests)
    while waiting:
        digest = waiting.pop()
        if digest in reached:
            continue
        reached.add(digest)
        slots = known[digest].parts.get("inputs", {})
        waiting += [makers[name].digest for names in slots.values() for name in names if name in makers]
    return reached
