"""What a run leaves: its outcome, the rows of its data sets, the files of its results, and its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True)
class Past:
    """The data sets of a run: the digest of each file, where it is known, by axis and location."""

    run: str
    content: Mapping[tuple[str, str], str | None]


def last_data_sets(root: Path, workflow: Workflow) -> Past | None:
    """Return those of the last run of this workflow file that is on record; None if it has none."""
    if not workflow.datasets:
        return None
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
    lost = [] if past is None else [each for each in past.content if each not in _now(workflow)]
    return [{"axis": axis, "location": location} for axis, location in lost]


def new_and_gone(past: Past | None, workflow: Workflow) -> Iterator[str]:
    """Say, in sentences, what came and what went."""
    if past is None:
        return
    new = [place[1] for place in _now(workflow) if place not in past.content]
    if new:
        yield f"new since {past.run}: {_names(new)}"
    lost = [str(each["location"]) for each in gone(past, workflow)]
    if lost:
        yield f"no longer there since {past.run}: {_names(lost)}; results that are cached stay"


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


def data_set_rows(nodes: Nodes, stages: Mapping[str, StageRecord], past: Past | None) -> list[Row]:
    """Sum up the stage runs of each data set; `past` is what the last run of the workflow had."""
    datasets = nodes.plan.workflow.datasets
    of: dict[tuple[str, Json], list[Node]] = {}
    for node in nodes:
        for axis in datasets:
            if axis in node.run.coordinates:
                of.setdefault((axis, node.run.coordinates[axis]), []).append(node)
    rows = []
    for axis, data_sets in datasets.items():
        for name, data_set in data_sets.items():
            mine = of.get((axis, name), [])
            its = [stages[node.key] for node in mine]
            content = next(
                (
                    str(node.recipe.contents[data_set.location])
                    for node in mine
                    if node.recipe is not None and data_set.location in node.recipe.contents
                ),
                None,
            )
            place = (axis, shown(data_set.location))
            before = past.content.get(place) if past is not None else None
            new = past is not None and place not in past.content
            changed = content is not None and before is not None and content != before
            edges = next((size for node in mine for size in node.extents if size.kind == "EdgeList"), None)
            states = Counter(stage.state for stage in its)
            broken = next((stage for stage in its if stage.state == "failed"), None)
            rows.append(
                Row(
                    axis,
                    name,
                    place[1],
                    _state(states),
                    "new" if new else "changed" if changed else "",
                    {state: states[state] for state in (*SUMMED, "waiting") if states[state]},
                    sum(stage.seconds or 0.0 for stage in its if stage.state == "computed"),
                    edges.vertices if edges is not None else None,
                    edges.arcs if edges is not None else None,
                    content if content is not None or mine else before,
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
