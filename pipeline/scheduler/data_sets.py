"""The data sets of a run: how each fared, and which came and went since the last run of the workflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.stages.artifact import Json
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.records.record import StageRecord
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.workflow.model import Workflow

__all__ = ["Past", "Row", "data_set_rows", "gone", "last_data_sets", "new_and_gone"]

MAX_NAMED = 5
"""Data sets that are named in one message."""

STATES = ("failed", "skipped", "interrupted", "running", "waiting", "computed")
"""Of the stage runs of one data set, the first of these that occurs tells of the whole."""

COUNTED = ("computed", "cached", "failed", "skipped", "interrupted", "waiting")


@dataclass(frozen=True)
class Past:
    """The data sets of a run: the digest of each file, where it is known, by axis and location."""

    run: str
    content: Mapping[tuple[str, str], str | None]


def last_data_sets(root: Path, workflow: Workflow) -> Past | None:
    """Return those of the last run of this workflow file that is on record; None if it has none."""
    if not workflow.datasets:
        return None
    from gravel.pipeline.records.past_runs import read_run, run_folders

    wanted = str(workflow.path.absolute())
    for folder in run_folders(root):
        record = read_run(folder)
        if record is None or record["workflow"].get("file") != wanted or not record.get("datasets"):
            continue
        rows = record["datasets"]
        return Past(record["run"], {(row["axis"], row["location"]): row["content"] for row in rows})
    return None


def gone(past: Past | None, workflow: Workflow) -> list[dict[str, Json]]:
    """Return what the last run had and the workflow has no more."""
    now = _now(workflow)
    lost = [] if past is None else [each for each in past.content if each not in now]
    return [{"axis": axis, "location": location} for axis, location in lost]


def new_and_gone(past: Past | None, workflow: Workflow) -> list[str]:
    """Say, in sentences, what came and what went."""
    if past is None:
        return []
    new = [location for axis, location in _now(workflow) if (axis, location) not in past.content]
    lost = [str(each["location"]) for each in gone(past, workflow)]
    sentences = []
    if new:
        sentences.append(f"new since {past.run}: {_names(new)}")
    if lost:
        sentences.append(f"no longer there since {past.run}: {_names(lost)}; results that are cached stay")
    return sentences


def _now(workflow: Workflow) -> dict[tuple[str, str], None]:
    return {
        (axis, shown(each.location)): None
        for axis, found in workflow.datasets.items()
        for each in found.values()
    }


def _names(locations: list[str]) -> str:
    more = len(locations) - MAX_NAMED
    return ", ".join(locations[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Row:
    """One data set in a run.

    `state` is failed, skipped, interrupted, waiting, done (something was computed), unchanged (everything was
    cached) or "left out" (not asked for). `stages` counts its stage runs by their states, `seconds` adds up
    what was computed. `content` is the digest of its file, `change` "new", "changed" or empty, against the
    last run of the workflow.
    """

    axis: str
    name: str
    location: str
    state: str
    change: str
    stages: Mapping[str, int]
    seconds: float
    vertices: int | None = None
    edges: int | None = None
    content: str | None = None
    error: str | None = None
    failed: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the row as plain data."""
        return asdict(self)


def data_set_rows(
    plan: Plan, stages: Mapping[str, StageRecord], nodes: Mapping[str, Node], past: Past | None
) -> list[Row]:
    """Sum up the stage runs of each data set; `past` is what the last run of the workflow had."""
    mine: dict[tuple[str, Json], list[str]] = {}
    for key, run in plan.runs.items():
        for axis in plan.workflow.datasets:
            if axis in run.coordinates:
                mine.setdefault((axis, run.coordinates[axis]), []).append(key)
    rows = []
    for axis, data_sets in plan.workflow.datasets.items():
        for name, data_set in data_sets.items():
            keys = mine.get((axis, name), [])
            content = _content([nodes[key] for key in keys], data_set.location)
            place = (axis, shown(data_set.location))
            before = past.content.get(place) if past is not None else None
            new = past is not None and place not in past.content
            changed = content is not None and before is not None and content != before
            vertices, edges = _counts([nodes[key] for key in keys])
            states = Counter(stages[key].state for key in keys)
            broken = next((stages[key] for key in keys if stages[key].state == "failed"), None)
            rows.append(
                Row(
                    axis,
                    name,
                    place[1],
                    _state(states),
                    "new" if new else "changed" if changed else "",
                    {state: states[state] for state in COUNTED if states[state]},
                    sum(stages[key].seconds or 0.0 for key in keys if stages[key].state == "computed"),
                    vertices,
                    edges,
                    content if content is not None or keys else before,
                    broken.error if broken is not None else None,
                    broken.key if broken is not None else None,
                )
            )
    return rows


def _state(states: Mapping[str, int]) -> str:
    if not states:
        return "left out"
    found = next((state for state in STATES if states.get(state)), "unchanged")
    return "done" if found == "computed" else found


def _content(nodes: Sequence[Node], location: str) -> str | None:
    for node in nodes:
        files = node.recipe.contents if node.recipe is not None else {}
        if location in files:
            return str(files[location])
    return None


def _counts(nodes: Sequence[Node]) -> tuple[int | None, int | None]:
    for node in nodes:
        for extent in node.extents:
            if extent.kind == "EdgeList":
                return extent.vertices, extent.arcs
    return None, None
