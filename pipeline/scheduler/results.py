"""Results of stage runs: from the worker's answer to the record in the cache."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hardware import hardware
from gravel.pipeline.plan.recipes import NeedsResult
from gravel.pipeline.scheduler.node import DONE, FAILED, WAITING, Node
from gravel.pipeline.store.committer import Committed, Committer, Result
from gravel.pipeline.store.exchange import Exchange
from gravel.pipeline.store.reader import open_artifact
from gravel.pipeline.store.records import RecipeRecord
from gravel.pipeline.workers.protocol import Failure, Readable, Written
from gravel.pipeline.workers.results_in_memory import PREFIX, read_resident
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gravel.pipeline.scheduler.attempts import Attempts
    from gravel.pipeline.scheduler.run import Run
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.workers.protocol import StageOutcome
    from gravel.stages.artifact import Artifact, Json


SOON = 10.0
"""Seconds for which a message waits for the ids of the vertices that it names."""

MAX_NAMED = 5
"""Files that changed and are named in one message."""


class Results:
    """Takes what stage runs made; whoever reads it goes on at once, and it is published behind them."""

    def __init__(self, run: Run, attempts: Attempts) -> None:
        self._run = run
        self._attempts = attempts
        self._records: dict[str, RecipeRecord] = {}
        self._early: dict[str, list[Readable | Written]] = {}
        self.committer = Committer(run.cache, run.locks, run.put)

    def computed(self, node: Node, outcome: StageOutcome) -> None:
        """Take a result."""
        run = self._run
        changed = run.resolver.changed_files(node)
        worker_slot = node.attempt.worker_slot
        if changed:
            for output in outcome.prepared:
                output.drop()
            self._attempts.drop(node)
            if outcome.behind and run.cluster is not None:
                run.cluster.release(worker_slot, outcome.outputs)
            names = ", ".join(map(shown, changed[:MAX_NAMED]))
            names += f" and {len(changed) - MAX_NAMED:,} more" if len(changed) > MAX_NAMED else ""
            message = f"{names} changed while it was read"
            run.resolver.fail(node, Failure("stage", message, "run again when nothing writes to it"))
            return
        if not self._noted(node, outcome.prepared):
            return
        if node.run.keep:
            record = self._record(node, outcome)
            if outcome.behind:
                self._records[node.key] = record
            else:
                self.committer.add(Result(node.key, record, outcome.prepared))
        self._attempts.drop(node, keep_lock=node.run.keep)
        node.extents, node.computed = outcome.extents, True
        run.nodes.identify(node, outcome.outputs)
        if not node.run.keep or outcome.behind:
            run.nodes.set_resident(node, worker_slot)
            run.placement.keep_resident(node, outcome.bytes, worker_slot)
        if outcome.behind:
            run.residency.add(node)
        run.nodes.move(node, DONE)
        if run.cluster is not None and run.cluster.kind != "inline":
            self._attempts.note_end(node.run.stage.name, outcome.seconds)
        run.events.finished(node, outcome)
        self._renew_readers(node)
        for event in self._early.pop(node.key, ()):
            self.take(event)
        self._attempts.release_unneeded()

    def _noted(self, node: Node, prepared: Sequence[Prepared]) -> bool:
        """Take note of where others put a result; if it is not what they say, its stage run has failed."""
        try:
            for output in prepared:
                output.note_in(self._run.cache)
        except GravelError as error:
            self._attempts.drop(node)
            self._run.resolver.fail(node, Failure("disk", str(error), error.problems[0].hint))
            return False
        return True

    def _renew_readers(self, node: Node) -> None:
        """A result that was lost came out different: whoever read what was lost reads again."""
        lost, node.previous_ids = node.previous_ids, None
        if lost in (None, node.ids):
            return
        for reader in node.consumers:
            if reader.state == DONE and reader.computed:
                reader.previous_ids = reader.ids
                self._run.nodes.identify(reader, None)
                self._run.nodes.move(reader, WAITING)

    def take(self, event: Readable | Written | Committed) -> None:
        """Take note of what has become of a result since it was computed."""
        node = self._run.nodes[event.key]
        match event:
            case Committed():
                self._published(node, event)
            case _ if node.is_running(event.attempt):  # it came before the end of the stage was heard of
                self._early.setdefault(node.key, []).append(event)
            case Written():
                self._written(node, event)
            case Readable():  # from files, by other workers and for recipes
                self._run.residency.readable(node, event.attempt, event.prepared)
                self._run.nodes.answer(node)

    def _written(self, node: Node, written: Written) -> None:
        """A result that is in memory was written; its record follows. Or it cannot be, and stays there."""
        if not self._run.residency.written(node, written.attempt):
            for output in written.prepared:
                output.drop()
            return
        if not node.run.keep:
            if written.failure is not None:
                self._run.resolver.fail(node, written.failure)
        else:
            record = self._records.pop(node.key)
            if written.failure is None and self._noted(node, written.prepared):
                self._run.events.written(node, written)
                self.committer.add(Result(node.key, record, written.prepared))
            elif written.failure is not None:
                self._run.locks.release(record.digest)
                self._run.residency.unrecorded[node] = written.failure
        self._run.nodes.check_needed(node)
        self._attempts.release_unneeded()

    def lost(self, node: Node) -> None:
        """The only copy of a result is gone: it is computed again."""
        record = self._records.pop(node.key)
        self._run.locks.release(record.digest)
        node.previous_ids = node.ids
        self._run.resolver.compute_again(node, "the worker that had its result in memory is gone")

    def damaged(self, node: Node, artifact_id: str, reason: str, began: float) -> None:
        """An input cannot be read: it is computed again, then the node."""
        self._attempts.drop(node)
        artifact_id = self._run.residency.name_of(artifact_id)
        if artifact_id in self._run.cache.unpublished:
            self.committer.flush()  # what is set aside is a published artifact
        owner = self._run.nodes.owner(artifact_id, node)
        if owner is not None and owner.resident_at is not None and self._attempts.forget(owner):
            self.lost(owner)
            self._run.nodes.move(node, WAITING)
            return
        self._run.resolver.repair(artifact_id, reason, node, began)

    def _record(self, node: Node, outcome: StageOutcome) -> RecipeRecord:
        """Return the record of a result: its recipe, and who made it from what, when and where."""
        environment, facts, workflow = self._run.environment, self._run.facts, self._run.plan.workflow
        recipe, need = node.recipe, node.attempt.need
        assert recipe is not None
        provenance: dict[str, Json] = {
            "stage": node.run.stage.name,
            "key": node.key,
            "workflow": workflow.name,
            "file": str(workflow.path.absolute()),
            "run": self._run.events.record.run,
            "recipe": recipe.digest,
            "inputs": recipe.parts["inputs"],
            "started": outcome.started,
            "seconds": outcome.seconds,
            "host": outcome.host,
            "user": facts["user"],
            "hardware": hardware(environment.backend_of(node.run.stage), devices=environment.devices),
            "versions": facts["versions"],
            "peak_host_bytes": outcome.peak_host_bytes,
            "peak_device_bytes": outcome.peak_device_bytes,
            "need": None if need is None else {"host": need.host_bytes, "device": need.device_bytes},
        }
        if outcome.remarks:
            provenance["remarks"] = list(outcome.remarks)
        node.recipe = recipe.without_parts
        return RecipeRecord(recipe.digest, outcome.outputs, provenance, recipe.parts, time.time())

    def _published(self, node: Node, committed: Committed) -> None:
        """A result is in the cache, or cannot be brought there: then its stage run has failed."""
        if committed.problem is None or node.state == FAILED:
            return
        message, hint = committed.problem
        failure = Failure("disk", f"its result cannot be recorded: {message}", hint)
        if node.resident_at is not None:
            self._run.residency.unrecorded[node] = failure
        else:
            self._run.resolver.fail(node, failure)

    def publish_all(self) -> None:
        """Have all results published and take what came of it, before anything else that has happened."""
        self.committer.flush()
        self._take_events()

    def _take_events(self) -> None:
        """Take what has become of results that are written, and leave all other events for later."""
        cluster = self._run.cluster
        others: list[object] = []
        while cluster is not None and not cluster.events.empty():
            event = cluster.events.get_nowait()
            if isinstance(event, Committed | Readable):
                self.take(event)
            else:
                others.append(event)
        for event in others:
            self._run.put(event)

    def open(self, name: str) -> Artifact:
        """Open a result; raises `NeedsResult` for one that no file has, and has it written, or made."""
        run = self._run
        node = next((node for node in run.nodes.in_memory() if name in (node.ids or ())), None)
        if node is None and name.startswith(PREFIX):
            raise NeedsResult(next(node.key for node in run.nodes if name in (node.ids or ())))
        if node is not None and run.cluster is not None:
            if run.cluster.kind == "inline":
                return read_resident(name)
            if (record := run.residency.records(node).get(name)) is not None:
                if run.cluster.store is not None:
                    return Exchange(run.cache, run.events.record.run).open(record.id)
                return open_artifact(record)
            if not run.residency.is_readable(node):
                self._attempts.write_out(node)
                raise NeedsResult(node.key)
        return run.cache.open(name)

    def open_soon(self, name: str) -> Artifact:
        """Open a result, and wait for its files if need be; raises `NeedsResult` if that takes too long."""
        limit = time.monotonic() + SOON
        while True:
            try:
                return self.open(name)
            except NeedsResult:
                if time.monotonic() > limit or not self._run.residency.unwritten:
                    raise
            time.sleep(0.02)
            self._take_events()

    def close(self) -> None:
        """Publish what was computed: a run is not done before all of it is; then free all locks.

        Stage runs whose results the cache refused have failed, though they were of use until now.
        """
        self.publish_all()
        for node, failure in self._run.residency.unrecorded.items():
            if node.state == DONE:
                self._run.resolver.fail(node, failure)
        self.committer.close()
        self._run.locks.release_all()
