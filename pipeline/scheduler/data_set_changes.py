"""Which data sets came and went since the last run of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.stages.artifact import Json
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from gravel.pipeline.workflow.model import Workflow

__all__ = ["Past", "gone", "last_data_sets", "new_and_gone"]

MAX_NAMED = 5  # in one message


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
