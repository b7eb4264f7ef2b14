"""What a run leaves: its outcome, the rows of its data sets, the files of its results, and its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.records.past_runs import last_report, read_run, run_folders
from gravel.pipeline.records.record import DONE, EXPORT
from gravel.pipeline.store.failures import explain
from gravel.stages.artifact import Json
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from gravel.pipeline.export.tables import Table
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.records.record import RunRecord, StageRecord
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.nodes import Nodes
    from gravel.pipeline.scheduler.run_events import RunEvents
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workflow.model import Workflow

MAX_NAMED = 5
"""Data sets that are named in one message."""

STATES = ("failed", "skipped", "interrupted", "running", "waiting", "computed")
"""Of the stage runs of one data set, the first of these that occurs tells of the whole."""

SUMMED = ("computed", "cached", "failed", "skipped", "interrupted")
"""States that a run's last line counts."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended: `state` is done, failed or interrupted; `record` is what run.json holds."""

    run: str
    state: str
    folder: Path
    source: RunRecord
    report: str | None = None

    @cached_property
    def record(self) -> dict[str, Json]:
        """The record as plain data."""
        return self.source.to_json()

    @property
    def exit_code(self) -> int:
        """0 done, 1 a stage failed, 130 interrupted."""
        return {"done": 0, "interrupted": 130}.get(self.state, 1)

    def outputs(self, key: str) -> tuple[str, ...]:
        """Return the output ids of a stage run."""
        return tuple(next(stage["outputs"] for stage in self.record["stages"] if stage["key"] == key))


class DataSets:
    """The data sets of a run's workflow, against those of its last run on record, if it has one."""

    def __init__(self, root: Path, workflow: Workflow) -> None:
        self._of_axes = workflow.datasets
        self._last_run: str | None = None
        self._past: dict[tuple[str, str], str | None] = {}
        for folder in run_folders(root) if workflow.datasets else ():
            record = read_run(folder)
            if record is None or record["workflow"].get("file") != str(workflow.path.absolute()):
                continue
            if rows := record.get("datasets"):
                self._last_run = record["run"]
                self._past = {(row["axis"], row["location"]): row["content"] for row in rows}
                break
        now = {
            (axis, shown(each.location)): None
            for axis, found in workflow.datasets.items()
            for each in found.values()
        }
        self._new = [place for place in now if place not in self._past] if self._last_run else []
        self.gone = [{"axis": axis, "location": at} for axis, at in self._past if (axis, at) not in now]
        """What the last run had and the workflow has no more."""

    def messages(self) -> Iterator[str]:
        """Say, in sentences, what came and what went."""
        if self._new:
            yield f"new since {self._last_run}: {_names([location for _, location in self._new])}"
        if self.gone:
            lost = _names([each["location"] for each in self.gone])
            yield f"no longer there since {self._last_run}: {lost}; results that are cached stay"

    def rows(self, nodes: Nodes, stages: Mapping[str, StageRecord]) -> list[dict[str, Json]]:
        """Sum up the stage runs of each data set.

        `state` is failed, skipped, interrupted, waiting, done (something was computed), unchanged (everything
        was cached) or "left out" (not asked for). `stages` counts its stage runs by their states, `seconds`
        adds up what was computed. `content` is the digest of its file, `change` "new", "changed" or empty,
        against the last run of the workflow.
        """
        of: dict[tuple[str, Json], list[Node]] = {}
        for node in nodes:
            for axis in self._of_axes:
                if axis in node.run.coordinates:
                    of.setdefault((axis, node.run.coordinates[axis]), []).append(node)
        return [
            self._row(axis, name, data_set.location, of.get((axis, name), []), stages)
            for axis, found in self._of_axes.items()
            for name, data_set in found.items()
        ]

    def _row(
        self, axis: str, name: str, location: str, nodes: list[Node], stages: Mapping[str, StageRecord]
    ) -> dict[str, Json]:
        mine = [stages[node.key] for node in nodes]
        contents = [node.recipe.contents for node in nodes if node.recipe is not None]
        content = next((str(each[location]) for each in contents if location in each), None)
        place = (axis, shown(location))
        before = self._past.get(place)
        has_changed = content is not None and before is not None and content != before
        edges = next((size for node in nodes for size in node.extents if size.kind == "EdgeList"), None)
        failed = next((stage for stage in mine if stage.state == "failed"), None)
        states = Counter(stage.state for stage in mine)
        state = next((state for state in STATES if states[state]), "unchanged") if mine else "left out"
        return {
            "axis": axis,
            "name": name,
            "location": place[1],
            "state": "done" if state == "computed" else state,
            "change": "new" if place in self._new else "changed" if has_changed else "",
            "stages": {state: states[state] for state in (*SUMMED, "waiting") if states[state]},
            "seconds": sum(stage.seconds or 0.0 for stage in mine if stage.state == "computed"),
            "vertices": None if edges is None else edges.vertices,
            "edges": None if edges is None else edges.arcs,
            "content": content if nodes else before,
            "error": None if failed is None else failed.error,
            "failed": None if failed is None else failed.key,
        }


def _names(locations: list[str]) -> str:
    more = len(locations) - MAX_NAMED
    return ", ".join(locations[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def output_files(plan: Plan, root: Path) -> list[Table]:
    """Return the tables that the workflow asks for as files; raises RequestError for one it cannot have."""
    if not plan.workflow.outputs:
        return []
    from gravel.pipeline.export.tables import tables_of_outputs

    return tables_of_outputs(plan, root)


def write_files(files: Sequence[Table], events: RunEvents, cache: Cache, state: str) -> str:
    """Write the files of the results that there are; one that cannot be written fails the run."""
    record = events.record

    def outputs(key: str) -> Sequence[str]:
        stage = record.stages[key]
        return stage.outputs if stage.state in DONE else ()

    for table in files:
        there, missing = table.split(outputs)
        problem, rows, is_new = table.problem(missing), None, False
        try:
            if there.parts:
                written = there.write(cache, outputs)
                rows, is_new = written.rows, written.is_new
        except DamagedArtifact as damage:
            cache.quarantine(damage.artifact_id, damage.reason)
            problem = f"{damage}; the next run makes both"
        except GravelError as error:
            problem = str(error)
        done = "missing" if rows is None else "written" if is_new else "unchanged"
        file = {"file": str(table.path), "entry": table.entry, "rows": rows}
        record.outputs.append({**file, "state": done, "problem": problem})
        if problem and not missing:
            state = "failed"
    events.emit("outputs", outputs=record.outputs)
    return state


def summary(record: RunRecord) -> dict[str, Json]:
    """Return what the last line of a run says."""
    return {
        "run": record.run,
        "state": record.state,
        "seconds": round(record.seconds, 3),
        **{name: record.count(name) for name in SUMMED},
        "not_run": record.count("not run"),
        "report": record.report,
    }


def write_page(events: RunEvents, cache: Cache) -> str | None:
    """Write the run's page, or return where the last one of the same recipes is if nothing was computed.

    A run that was killed before its page leaves it to the next one.
    """
    record = events.record
    if record.kind == EXPORT:
        return None
    recipes = {stage.recipe for stage in record.stages.values() if stage.recipe}
    last = last_report(cache.root, str(record.workflow["path"]), recipes)
    if last is not None and not record.count("computed") and not events.failures:
        return last
    if record.state == "interrupted" or not record.kept:
        return last
    from gravel.pipeline.report.page import write_run_report

    try:
        return str(write_run_report(record.folder, record.to_json(), cache))
    except DamagedArtifact as damage:
        cache.quarantine(damage.artifact_id, damage.reason)
        events.emit("note", message=f"the report could not be written: {damage}; the next run makes both")
        return None
    except (GravelError, OSError) as error:
        message = (explain(error, cache.root) if isinstance(error, OSError) else None) or error
        events.emit("note", message=f"the report could not be written: {message}")
        return None
