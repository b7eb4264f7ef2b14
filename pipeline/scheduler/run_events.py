"""What happens in a run, shown on the screen and kept in the run's record."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gravel.pipeline.plan.builder import MEASURED
from gravel.pipeline.plan.status import History
from gravel.pipeline.plan.vertex_ids import ids_through, planned_ids
from gravel.pipeline.progress.events import Display, Event, QuietDisplay
from gravel.pipeline.progress.pace import Pace
from gravel.pipeline.records.profile import Spans
from gravel.pipeline.records.record import RunRecord, StageRecord
from gravel.pipeline.store.failures import explain
from gravel.pipeline.workers.protocol import Compiles, Progress, Reported
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.urls import hidden_in_text

if TYPE_CHECKING:
    from gravel.pipeline.datasets.contents import Contents
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord
    from gravel.pipeline.workers.protocol import Failure, StageOutcome, Written
    from gravel.stages.artifact import Json
    from gravel.stages.stage import Need


SHOWN_VERTICES = 8
"""Offending vertices that a failure names."""


class RunEvents:
    """One method per thing that can happen to a stage run; `failures` are those of stage runs."""

    def __init__(self, plan: Plan, record: RunRecord, display: Display, cache: Cache) -> None:
        self.record = record
        self._display = display
        self._write_failed = False
        self.failures: list[tuple[str, str, str | None]] = []
        self.spans = Spans(kept=bool(record.options.get("profile")))
        """What the run itself spends its time on."""
        record.spans = self.spans.taken
        self._host = socket.gethostname()
        self._plan = plan
        self._data_sets = {
            key: to_text(run.coordinates[axis])
            for axis in plan.workflow.datasets
            for key, run in plan.runs.items()
            if axis in run.coordinates
        }
        self.last_ended = 0.0
        """When the last stage run ended so far, in seconds since the epoch."""
        self.open: Callable[[str], object] = cache.open
        """Opens a result, wherever it is."""
        self._paces: dict[str, Pace] = {}
        self._history = History(cache, plan.workflow)
        self._repetitions: dict[str, list[str]] = {}
        for key, run in plan.runs.items():
            if run.repeats is not None:
                self._repetitions.setdefault(run.repeats, [run.repeats]).append(key)

    @property
    def data_sets(self) -> dict[str, int]:
        """How many stage runs each data set has."""
        return Counter(self._data_sets.values())

    def emit(self, kind: str, **data: Any) -> None:
        """Show an event. When nobody reads any more, or what they read is full, the run goes on unseen."""
        if (name := self._data_sets.get(data.get("stage", ""))) is not None:
            data["dataset"] = name
        texts = {name: hidden_in_text(value) for name, value in data.items() if isinstance(value, str)}
        try:
            self._display.handle(Event(kind, data | texts))
        except OSError:
            self._display = QuietDisplay()

    def fetched(self, fetches: Contents | None) -> None:
        """Tell what has come of files that are fetched."""
        for message in fetches.messages() if fetches is not None else ():
            self.emit("note", message=message)

    def tick(self) -> None:
        """Refresh the screen and, now and then, the record."""
        self._display.tick()
        self.write(soon=True)

    def end(self, state: str) -> None:
        """Record how the run ended."""
        self.record.end(state)
        self.write()

    def write(self, *, soon: bool = False) -> None:
        """Log what has changed, or write the record of a run that has ended.

        A full disk must not stop stages that may still end.
        """
        try:
            if self.record.state == "running":
                self.record.log(soon=soon)
            else:
                self.record.write()
        except OSError as error:
            if not self._write_failed:
                self._write_failed = True
                shown = explain(error, self.record.folder.parents[1]) or error
                self.emit("note", message=f"the run's record cannot be written: {shown}")

    def _stage(self, node: Node) -> StageRecord:
        return self.record.change(node.key)

    def not_run(self, node: Node) -> None:
        """A node asks for what is not here; one that rests on such a node is counted alone."""
        why = self.record.stages[node.key].why
        if why and not why[0].startswith("it needs "):
            self.emit("stage_not_run", stage=node.key, reason="; ".join(why))

    def identified(self, node: Node) -> None:
        """A node's recipe is known."""
        stage = self._stage(node)
        assert node.recipe is not None
        stage.recipe = node.recipe.digest
        stage.state = "waiting" if node.run.keep else "not needed"

    def cached(self, node: Node, record: RecipeRecord, described: Sequence[ArtifactRecord], why: str) -> None:
        """A node's result was found."""
        stage, provenance = self._stage(node), record.provenance
        stage.state, stage.why = "cached", () if why == "cached" else (why,)
        stage.outputs = record.outputs
        stage.seconds = provenance.get("seconds")
        stage.need = provenance.get("need")
        stage.peak_host_bytes = provenance.get("peak_host_bytes")
        stage.peak_device_bytes = provenance.get("peak_device_bytes")
        stage.bytes = sum(artifact.bytes for artifact in described)
        stage.bytes_on_disk = sum(artifact.bytes_on_disk for artifact in described)
        self.emit("stage_cached", stage=node.key, seconds=stage.seconds, bytes=stage.bytes)
        self._remarked(node, provenance.get("remarks") or ())

    def _remarked(self, node: Node, remarks: Sequence[str]) -> None:
        """Report what a stage had to say of its result, each time that the result is used."""
        self._stage(node).remarks = tuple(remarks)
        for remark in remarks:
            self.emit("note", stage=node.key, message=f"{node.key}: {remark}")

    def stated(self, key: str, need: Need) -> None:
        """What a stage run will need is known before it starts."""
        self.record.change(key).need = {"host": need.host_bytes, "device": need.device_bytes}

    def wanted(self, node: Node, why: Sequence[str] | None) -> None:
        """A node has to be computed; with None for the reason, because of what differs from earlier runs."""
        if why is None and node.recipe is not None:
            why = self._history.explain(node.run, node.recipe)[0]
        stage = self._stage(node)
        stage.state, stage.why = "waiting", tuple(why or ())

    def started(self, node: Node) -> None:
        """A node runs."""
        stage = self._stage(node)
        stage.state, stage.place, stage.attempts = "running", node.attempt.worker_slot, node.attempt.number
        stage.started, stage.progress, stage.error = time.time(), None, None
        need = node.attempt.need
        if need is not None:
            self.stated(node.key, need)
        self._paces[node.key] = Pace()
        self.emit(
            "stage_started",
            stage=node.key,
            place=node.attempt.worker_slot,
            attempt=node.attempt.number,
            need_host_bytes=need.host_bytes if need else None,
            need_device_bytes=need.device_bytes if need else None,
        )
        self.write()  # the stage may run in this process, and say nothing for long

    def progressed(self, progress: Reported) -> None:
        """A running node came further, or waits for a kernel."""
        if isinstance(progress, Compiles):
            self.emit("stage_compiles", stage=progress.key, kernel=progress.kernel)
            return
        assert isinstance(progress, Progress)
        pace = self._paces.get(progress.key)
        if pace is None:
            return
        pace.update(progress.done, progress.total, progress.unit)
        data = {"done": progress.done, "total": progress.total, "unit": progress.unit}
        self.record.change(progress.key).progress = {**data, "rate": pace.rate}
        self.emit("stage_progress", stage=progress.key, **data, rate=round(pace.rate, 3))
        self.write(soon=True)

    def finished(self, node: Node, outcome: StageOutcome) -> None:
        """A node was computed."""
        stage = self._stage(node)
        stage.state, stage.progress = "computed", None
        if outcome.started and outcome.host == self._host:
            stage.started = outcome.started  # until then it was on its way to the worker
        self.last_ended = time.time()
        stage.outputs = list(outcome.outputs)
        stage.seconds = outcome.seconds
        stage.bytes, stage.bytes_on_disk = outcome.bytes, outcome.bytes_on_disk
        if outcome.parts:
            stage.why = (*stage.why, outcome.parts)
        stage.peak_host_bytes = outcome.peak_host_bytes
        stage.peak_device_bytes = outcome.peak_device_bytes
        stage.spans = outcome.spans
        self.emit(
            "stage_finished",
            stage=node.key,
            seconds=outcome.seconds,
            bytes=outcome.bytes,
            peak_host_bytes=outcome.peak_host_bytes,
            compile_seconds=round(outcome.compile_seconds, 3),
            compiled=list(outcome.compiled),
            parts=outcome.parts,
        )
        self._remarked(node, outcome.remarks)
        self._compare_repetitions(node)
        self.write(soon=True)

    def published(self) -> None:
        """All results are published: since the last stage run ended nothing else was waited for."""
        if self.last_ended:
            self.spans.add("publish", self.last_ended, time.time() - self.last_ended)

    def written(self, node: Node, written: Written) -> None:
        """A result that was in memory is on the disk, all but its record."""
        stage = self._stage(node)
        stage.bytes_on_disk = sum(each.record.bytes_on_disk for each in written.prepared)
        stage.spans = (*stage.spans, *written.spans)
        self.write(soon=True)

    def _compare_repetitions(self, node: Node) -> None:
        """Say if repetitions of a measurement differ in what is not measured: only the first is read on."""
        for key in self._repetitions.get(node.run.repeats or node.key, ()):
            other, mine = self.record.stages[key].outputs, node.ids or ()
            if key == node.key or len(other) != len(mine) or not node.run.keep:
                continue
            named = zip(node.run.stage.outputs, mine, other, strict=True)
            kinds = [kind for kind, one, its in named if one != its and kind not in MEASURED]
            if kinds:
                message = f"the {kinds[0]} of {node.key} is not that of {key}; only the first one is verified"
                stage = self.record.change(node.key)
                stage.why = (*stage.why, message)
                self.emit("note", message=message)
                return

    def failed(self, node: Node, failure: Failure, ids: Mapping[str, tuple[str, ...]]) -> None:
        """A node has no result."""
        message = self._describe(failure, node.key, ids)
        stage = self._stage(node)
        stage.state, stage.error, stage.hint, stage.progress = "failed", message, failure.hint, None
        self.failures.append((node.key, message, failure.hint))
        self.emit("stage_failed", stage=node.key, message=message, hint=failure.hint)
        self.write()

    def _describe(self, failure: Failure, key: str, ids: Mapping[str, tuple[str, ...]]) -> str:
        """Put a failure into one message, with its file and line and the vertices that it names."""
        line = "" if failure.line is None else f":{failure.line}"
        text = failure.message if failure.file is None else f"{failure.file}{line}: {failure.message}"
        if not failure.vertices:
            return text
        shown = failure.vertices[:SHOWN_VERTICES]
        named = None
        outputs = planned_ids(self._plan, *self._plan.runs[key].upstream)
        if outputs and all(run in ids for run, _ in outputs):
            with suppress(Exception):  # that the ids cannot be read must not hide the failure
                named = _file_ids(ids_through([self.open(ids[run][place]) for run, place in outputs]), shown)
        words = ", ".join(map(str, named or shown))
        more = len(failure.vertices) - len(shown)
        kind = "ids in the input" if named else "internal indices"
        return f"{text} (vertices, {kind}: {words}{f' and {more} more' if more else ''})"

    def skipped(self, node: Node, because: str) -> None:
        """A node will not run."""
        stage = self._stage(node)
        stage.state = "skipped"
        stage.why = ("the run was stopped" if because == "stopped" else f"{because} failed",)
        self.emit("stage_skipped", stage=node.key, because=because)

    def left_out(self, node: Node, what: str) -> None:
        """A node that gathers does without a data set that failed."""
        self._stage(node).upstream = list(node.run.upstream)
        self.emit("note", message=f"{node.key} goes on without {what}")

    def interrupted(self, node: Node) -> None:
        """A node was stopped before its end."""
        self._stage(node).state = "interrupted"

    def retried(self, node: Node, message: str) -> None:
        """A node's worker was lost and it is tried again."""
        self._stage(node).state = "waiting"
        self.emit("stage_retried", stage=node.key, attempt=node.attempt.number + 1, message=message)

    def waits(self, node: Node, who: Mapping[str, Json]) -> None:
        """Another run computes the node's recipe: the one whose lease says `who`."""
        self.emit("waiting", stage=node.key, message=f"{_other_run(who)}; waiting for that")

    def damaged(self, node: Node, artifact: str, message: str) -> None:
        """A result is not what was written."""
        self.emit("damaged", stage=node.key, artifact=artifact, message=message)


def _other_run(who: Mapping[str, Json]) -> str:
    name = str(who.get("purpose", "")).removeprefix("run ")
    if name in ("", "unknown"):
        return "another user's run is computing it"
    return f"another run is computing it ({name}, process {who.get('pid')} on {who.get('host')})"


def _file_ids(artifact: Any, vertices: Sequence[int]) -> list[int | str]:
    if artifact.text is not None:
        ends = [map(int, artifact.offsets[vertex : vertex + 2]) for vertex in vertices]
        return [repr(bytes(artifact.text[begin:end]).decode()) for begin, end in ends]
    if artifact.ids is None:
        return [int(artifact.first) + vertex for vertex in vertices]
    return [int(artifact.ids[vertex : vertex + 1][0]) for vertex in vertices]
