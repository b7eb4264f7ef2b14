"""What happens in a run, shown on the screen and kept in the run's record: the part that needs no plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.pipeline.progress.events import Event, QuietReporter
from gravel.pipeline.store.failures import explain
from gravel.pipeline.workers.spans import Spans
from gravel.stages.urls import hidden_in_text

if TYPE_CHECKING:
    from gravel.pipeline.progress.events import Reporter
    from gravel.pipeline.records.record import RunRecord
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Json


class RunMessages:
    """Tells of a run and of results that are found; `failures` are those of its stages."""

    def __init__(self, record: RunRecord, reporter: Reporter) -> None:
        self.record = record
        self._reporter = reporter
        self._write_failed = False
        self._needs: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
        self.failures: list[tuple[str, str, str | None]] = []
        self.spans = Spans(kept=bool(record.options.get("profile")))
        """What the run itself spends its time on."""
        record.spans = self.spans.taken

    def emit(self, kind: str, **data: Any) -> None:
        """Show an event. When nobody reads any more, or what they read is full, the run goes on unseen."""
        try:
            shown = {
                name: hidden_in_text(value) if isinstance(value, str) else value
                for name, value in data.items()
            }
            self._reporter.handle(Event(kind, shown))
        except OSError:
            self._reporter = QuietReporter()

    def tick(self) -> None:
        """Refresh the screen and, now and then, the record."""
        self._reporter.tick()
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

    def not_run(self, key: str) -> None:
        """Say what a stage run asks for that is not here; one that rests on such a run is counted alone."""
        why = self.record.stages[key].why
        if why and not why[0].startswith("it needs "):
            self.emit("stage_not_run", stage=key, reason="; ".join(why))

    def identified(self, key: str, recipe: str | None, *, keep: bool) -> None:
        """A stage run's recipe is known."""
        stage = self.record.change(key)
        stage.recipe = recipe
        stage.state = "waiting" if keep else "not needed"

    def cached(
        self,
        key: str,
        outputs: Sequence[str],
        provenance: Mapping[str, Json],
        described: Sequence[ArtifactRecord],
        why: str = "cached",
    ) -> None:
        """A stage run's result was found."""
        stage = self.record.change(key)
        stage.state, stage.why = "cached", () if why == "cached" else (why,)
        stage.outputs = tuple(outputs)
        stage.seconds = provenance.get("seconds")
        stage.need = self._shared_need(provenance.get("need"))
        stage.peak_host_bytes = provenance.get("peak_host_bytes")
        stage.peak_device_bytes = provenance.get("peak_device_bytes")
        stage.bytes = sum(artifact.bytes for artifact in described)
        stage.bytes_on_disk = sum(artifact.bytes_on_disk for artifact in described)
        self.emit("stage_cached", stage=key, seconds=stage.seconds, bytes=stage.bytes)
        self.remarked(key, provenance.get("remarks") or ())

    def _shared_need(self, need: dict[str, int] | None) -> dict[str, int] | None:
        """Return an equal one that is in memory already: those of a study's stage runs are few."""
        return None if need is None else self._needs.setdefault(tuple(need.items()), need)

    def remarked(self, key: str, remarks: Sequence[str]) -> None:
        """A stage had something to say of its result: reported each time that the result is used."""
        self.record.change(key).remarks = tuple(remarks)
        for remark in remarks:
            self.emit("note", message=f"{key}: {remark}")
