"""Why a run is not cached: what changed since it last ran, or since the most similar run of the same project.

A project is the folder of a workflow file. What another one computed is never compared with, though its
results are used where recipes are equal: a cache may be shared by many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from gravel.pipeline.core.hashing import Recipe, flat_parts, is_input
from gravel.pipeline.plan.model import StageRun
from gravel.pipeline.records.past_runs import read_head, read_run, run_folders
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import RecipeRecord
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.scalars import to_text
from gravel.stages.artifact import Json

__all__ = ["History", "show_value"]

Parts = dict[str, Json]
"""A recipe's parts under their names of `flat_parts`."""

MAX_TEXT = 60  # characters of an old or new value
MAX_RUNS = 8  # earlier runs of a project whose records are read, the newest first
FILLED_IN = ("labels", "graphs", "not_run")  # parameters of a report that follow from its inputs
MAX_PAST = 200  # earlier recipes of a stage that are compared, the newest first


class History:
    """What a workflow file's project computed before, read from the cache when it is first asked."""

    def __init__(self, cache: Cache, workflow: Workflow) -> None:
        self._cache = cache
        self._name = workflow.name
        self._file = workflow.path.absolute()

    @cached_property
    def _past(self) -> tuple[dict[str, list[Parts]], dict[tuple[str, str], Parts]]:
        """The latest recipes of each stage, the newest first, and the newest one of each stage and run."""
        from gravel.pipeline.store.selection import recipes

        by_stage: dict[str, list[Parts]] = {}
        by_run: dict[tuple[str, str], Parts] = {}
        every = recipes(self._cache)
        known = {record.digest: record for record in every}
        for run, digest, is_same in self._recorded():
            if digest in known:
                parts = dict(flat_parts(known[digest].parts))
                by_stage.setdefault(run[0], []).append(parts)
                if is_same:
                    by_run.setdefault(run, parts)
        for record in reversed(every):
            file = self._file_of(record)
            if file is None or file.parent != self._file.parent:
                continue
            stage = record.parts.get("stage", "")
            run = stage, record.provenance.get("key", "")
            is_same = self._is_same(file, record.provenance.get("workflow")) and run not in by_run
            latest = by_stage.setdefault(stage, [])
            if is_same or len(latest) < MAX_PAST:
                parts = dict(flat_parts(record.parts))
                if is_same:
                    by_run[run] = parts
                if len(latest) < MAX_PAST:
                    latest.append(parts)
        return by_stage, by_run

    def _recorded(self) -> Iterator[tuple[tuple[str, str], str, bool]]:
        """Yield stage and key, recipe, and whether it is the same workflow, of the project's runs on record.

        What they used may have been computed for another project.
        """
        left = MAX_RUNS
        for folder in run_folders(self._cache.root):
            head = read_head(folder)
            file = Path((head or {"workflow": {}})["workflow"].get("file") or "/")
            if head is None or file.parent != self._file.parent:
                continue
            is_same = self._is_same(file, head["workflow"].get("name"))
            for stage in (read_run(folder) or {"stages": []})["stages"]:
                if stage["recipe"] is not None:
                    yield (stage["stage"], stage["key"]), stage["recipe"], is_same
            left -= 1
            if not left:
                return

    def _is_same(self, file: Path, name: str | None) -> bool:
        return file == self._file and name == self._name

    def _file_of(self, record: RecipeRecord) -> Path | None:
        """Return the workflow file that a result was computed for, if its record says so."""
        stated = record.provenance.get("file")
        return Path(stated) if isinstance(stated, str) else None

    def explain(self, run: StageRun, recipe: Recipe) -> tuple[tuple[str, ...], bool]:
        """Return the reasons, as old value -> new value, and whether only the hardware differs."""
        by_stage, by_run = self._past
        now = dict(flat_parts(recipe.parts))
        known = (by_run.get((run.stage.name, key)) for key in (run.key, *run.aliases))
        same = [parts for parts in known if parts is not None][:1]
        best: tuple[str, ...] | None = None
        only_hardware = False
        for before in same or by_stage.get(run.stage.name, []):
            changes = _without_filled_in(run.stage.name, dict(_changes(before, now)))
            if not changes:
                continue
            only = set(changes) == {"hardware"}
            if best is None or len(changes) < len(best):
                best, only_hardware = tuple(changes.values()), only
        if best is None:
            return ("its record is gone" if same else "not computed before",), False
        if not same:
            best = (f"not computed before; the most similar {run.stage.name} differs in:", *best)
        elif only_hardware:
            best = (*best, "only the hardware differs, and this stage measures time")
        return best, only_hardware


def _without_filled_in(stage: str, changes: dict[str, str]) -> dict[str, str]:
    """Leave out what the planner fills in from inputs, where something else says what changed."""
    filled_in = FILLED_IN if stage == "report" else ()
    return {
        name: text for name, text in changes.items() if name.partition(".")[0] not in filled_in
    } or changes


def _changes(before: Parts, after: Parts) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        # A parameter that is not given and one that this form of it lacks are the same to a reader.
        if was != now:
            old, new = show_value(name, was), show_value(name, now)
            yield name, f"{name}: {old} -> {new if new != old else 'others'}"


def show_value(name: str, value: Json) -> str:
    """Write a part of a recipe, under its name of `flat_parts`, in a few words."""
    if value is None:
        return "none"
    if is_input(name) and isinstance(value, list | tuple):
        return f"{len(value)} artifacts"
    if name == "stage code" or name.startswith("file ") or is_input(name):
        return str(value).removeprefix("recipe:")[:12]
    text = to_text(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."
