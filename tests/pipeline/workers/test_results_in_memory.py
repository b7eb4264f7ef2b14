"""Results are handed on in memory and written behind the stages that read them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy
import pytest

from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler import placement
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.scheduler.results import Results
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.reader import open_artifact
from gravel.pipeline.store.writer import ArtifactWriter
from gravel.pipeline.workers import inline_cluster, protocol, results_in_memory
from gravel.pipeline.workers.protocol import Readable, Written
from gravel.pipeline.workers.results_in_memory import WriteBehind
from gravel.stages.artifact import Artifact
from tests.drills.gravel import PROGRAM, call_inside
from tests.pipeline.memory_stages import FILL, FOREIGN, LOOK, RANKS, looks_of_two
from tests.pipeline.run_case import Kept, by_key, searches, states, until, whole
from tests.pipeline.tiny_stages import begun, count, plan_of, stage_run
from tests.pipeline.workers.dask_processes import DaskProcesses

MIB = 1 << 17
"""Numbers of 8 bytes in a MiB."""


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster with two workers, which come back when they are killed."""
    with DaskProcesses(tmp_path_factory.mktemp("dask")) as found:
        found.worker("one")
        found.worker("two")
        found.connected(2)
        yield found.address


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MIN_BYTES", 1)


def run(plan: Plan, root: Path, cluster: str = "inline", **options: Any) -> RunOutcome:
    return execute(plan, RunOptions(cache_root=root, cluster=cluster, backend="cpu", workers=2, **options))


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "workers"])
def test_a_stage_reads_what_is_in_memory(tmp_path: Path, workers: str, inline: bool) -> None:
    cluster = "inline" if inline else workers
    plan = plan_of(stage_run("a", FILL, count=MIB), stage_run("b", LOOK, "a"))
    outcome = run(plan, tmp_path, cluster)
    assert outcome.exit_code == 0
    [seen] = searches(tmp_path, outcome, "b")
    assert (seen["type"], seen["sum"]) == ("ndarray", MIB * (MIB - 1) // 2)
    stages = by_key(outcome)
    assert stages["a"]["bytes_on_disk"] > 0
    whole(tmp_path)
    again = run(plan, tmp_path, cluster)
    assert {stage["state"] for stage in again.record["stages"]} == {"cached"}


def test_ids_are_those_of_results_that_are_written_first(tmp_path: Path) -> None:
    plan = plan_of(
        stage_run("a", FILL, count=3 * MIB + 5), stage_run("b", FILL, "a", count=7), stage_run("c", FILL, "b")
    )
    kept = run(plan, tmp_path / "kept")
    written = run(plan, tmp_path / "written", resident_memory="0")
    for key in "abc":
        assert kept.outputs(key) == written.outputs(key)
    assert not looked_types(tmp_path / "written", "ndarray")


def looked_types(root: Path, name: str) -> list[str]:
    return [
        line for log in root.glob("runs/*/logs/*") for line in log.read_text().splitlines() if name in line
    ]


def test_dependents_do_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, write = threading.Event(), WriteBehind._write

    def late(self: WriteBehind, result: Any) -> Any:
        assert gate.wait(60)
        return write(self, result)

    def open_gate() -> None:
        until(lambda: count(tmp_path / "marks", 3), 50)
        if count(tmp_path / "marks", 3):
            gate.set()

    monkeypatch.setattr(WriteBehind, "_write", late)
    marks = str(tmp_path / "marks")
    plan = plan_of(
        stage_run("a", FILL, count=MIB, value=1, marks=marks),
        stage_run("b", FILL, "a", count=MIB, value=2, marks=marks),
        stage_run("c", LOOK, "b", value=3, marks=marks),
    )
    watcher = threading.Thread(target=open_gate)
    watcher.start()
    outcome = run(plan, tmp_path / "cache")
    watcher.join()
    assert outcome.exit_code == 0
    assert count(tmp_path / "marks", 3) == 1
    whole(tmp_path / "cache")


def test_a_foreign_stage_cannot_write_into_its_input(tmp_path: Path) -> None:
    outcome = run(
        plan_of(stage_run("a", FILL, count=MIB), stage_run("b", FOREIGN, "a", spoil=True)), tmp_path
    )
    stages = by_key(outcome)
    assert (stages["a"]["state"], stages["b"]["state"]) == ("computed", "failed")
    assert "read-only" in stages["b"]["error"]
    whole(tmp_path)


def test_what_is_changed_before_it_is_written_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = WriteBehind._write

    def late(self: WriteBehind, result: Any) -> Any:
        until(lambda: count(tmp_path / "marks", 2, "spoilt"), 60)
        return write(self, result)

    monkeypatch.setattr(WriteBehind, "_write", late)
    marks = str(tmp_path / "marks")
    plan = plan_of(
        stage_run("a", FILL, count=MIB, value=1), stage_run("b", FILL, "a", value=2, marks=marks, spoil=True)
    )
    outcome = run(plan, tmp_path / "cache")
    stages = by_key(outcome)
    assert outcome.exit_code == 1
    assert "was changed in memory before all of it was written" in stages["a"]["error"]
    whole(tmp_path / "cache")


def test_a_full_disk_is_reported_when_all_that_can_be_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = ArtifactWriter.prepare

    def full(self: ArtifactWriter, artifact: Artifact, expected: str | None = None) -> Any:
        if expected is not None and getattr(artifact, "row_offsets").shape[0] == MIB:  # noqa: B009
            raise OSError(errno.ENOSPC, "No space left on device")
        return prepare(self, artifact, expected)

    monkeypatch.setattr(ArtifactWriter, "prepare", full)
    plan = plan_of(
        stage_run("a", FILL, count=MIB), stage_run("b", FILL, "a", count=9), stage_run("c", LOOK, "b")
    )
    outcome = run(plan, tmp_path)
    stages = by_key(outcome)
    assert [stages[key]["state"] for key in "abc"] == ["failed", "computed", "computed"]
    assert "disk" in stages["a"]["error"]
    monkeypatch.undo()
    monkeypatch.setattr(placement, "MIN_BYTES", 1)
    whole(tmp_path)
    again = run(plan, tmp_path)
    assert states(again) == {"a": "computed", "b": "cached", "c": "cached"}


@pytest.mark.parametrize("budget", ["0", "4MiB"])
def test_results_above_the_budget_are_written_as_they_are_made(tmp_path: Path, budget: str) -> None:
    plan = plan_of(stage_run("a", FILL, count=8 * MIB), stage_run("b", LOOK, "a"))
    kept = Kept()
    outcome = run(plan, tmp_path, resident_memory=budget, display=kept)
    assert outcome.exit_code == 0
    said = [note for note in kept.notes if "is larger than what results may take of memory (4 MiB)" in note]
    assert len(said) == (budget != "0")
    assert searches(tmp_path, outcome, "b")[0]["type"] == "StoredArray"


def test_the_oldest_results_leave_memory_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[tuple[str, ...]] = []
    release = results_in_memory.release_resident

    def noted(names: tuple[str, ...]) -> None:
        left.append(names)
        release(names)

    def at_once(self: WriteBehind, *result: Any) -> None:
        *given, tell = result
        tell(self._write(results_in_memory._Result(*given, tell)))

    monkeypatch.setattr(inline_cluster, "release_resident", noted)
    monkeypatch.setattr(WriteBehind, "add", at_once)
    fills = [stage_run(f"f{place}", FILL, count=MIB, value=place) for place in range(4)]
    plan = plan_of(*fills, stage_run("z", LOOK, *(f"f{place}" for place in range(4))))
    outcome = run(plan, tmp_path, resident_memory="2200000")
    assert outcome.exit_code == 0
    types = [each["type"] for each in searches(tmp_path, outcome, "z")]
    assert types == ["StoredArray", "StoredArray", "ndarray", "ndarray"]
    assert left[:2] == [outcome.outputs("f0"), outcome.outputs("f1")]


def test_memory_that_is_short_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "available_bytes", lambda: 2 << 20)
    plan = plan_of(stage_run("a", FILL, count=MIB, need=3 << 20), stage_run("b", LOOK, "a"))
    outcome = run(plan, tmp_path)
    assert searches(tmp_path, outcome, "b")[0]["type"] == "StoredArray"


def test_a_lost_worker_takes_results_that_were_not_written(tmp_path: Path, workers: str) -> None:
    marks = str(tmp_path / "marks")
    size = 24 * MIB
    plan = plan_of(
        stage_run("a", FILL, count=size, value=1, marks=marks),
        stage_run("b", FILL, "a", count=3, value=2, marks=marks, die_after=str(tmp_path / "died")),
        stage_run("c", LOOK, "a", "b"),
    )
    outcome = run(plan, tmp_path / "cache", workers)
    assert outcome.exit_code == 0
    assert searches(tmp_path / "cache", outcome, "c")[0]["sum"] == size * (size + 1) // 2
    assert count(tmp_path / "marks", 2) == 2
    whole(tmp_path / "cache")


def test_what_read_a_lost_result_that_comes_out_different_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """b has read the first result of a, which dies with its worker; the chain must be one of the second."""
    monkeypatch.setattr(placement, "MIN_BYTES", 1000)
    for number in range(8):  # until the worker dies before a is written
        folder = tmp_path / str(number)
        folder.mkdir()
        plan = plan_of(
            stage_run("a", FILL, count=64 * MIB, random=True),
            stage_run("b", FILL, "a", count=3, value=2, marks=str(folder / "marks")),
            stage_run("x", FILL, "a", "b", count=3, value=7, die_after=str(folder / "died")),
            stage_run("c", LOOK, "a", "b", "x"),
        )
        outcome = run(plan, folder / "cache", workers)
        assert outcome.exit_code == 0
        cache = Cache(folder / "cache")
        first: Any = cache.open(outcome.outputs("a")[0])
        total = int(numpy.asarray(first.row_offsets).sum() % 1000)
        made: Any = cache.open(outcome.outputs("b")[0])
        assert int(made.row_offsets[0]) == total + 2
        whole(folder / "cache")
        if count(folder / "marks", 2) == 2:
            return
    pytest.fail("a was always written before its worker died")


def test_other_workers_read_a_result_from_its_files(tmp_path: Path, workers: str) -> None:
    marks = tmp_path / "marks"
    plan = plan_of(
        stage_run("a", FILL, count=MIB, value=9),
        *looks_of_two(marks, 4),
        stage_run("r", RANKS, "a"),
    )
    outcome = run(plan, tmp_path, workers)
    seen = [searches(tmp_path, outcome, f"l{place}")[0] for place in range(4)]
    assert {(each["process"], each["type"]) for each in seen} == {
        (seen[0]["process"], seen[0]["type"]),
        next((each["process"], each["type"]) for each in seen if each["process"] != seen[0]["process"]),
    }
    assert {each["type"] for each in seen} == {"ndarray", "StoredArray"}
    ranks = searches(tmp_path, outcome, "r")
    assert [each["type"] for each in ranks] == ["StoredArray"] * 2
    assert len({each["sum"] for each in (*seen, *ranks)}) == 1


def test_a_result_that_is_not_kept_has_files_where_others_need_them(tmp_path: Path, workers: str) -> None:
    marks = tmp_path / "marks"
    unkept: dict[str, Any] = {"count": MIB, "keep": False, "marks": str(marks)}
    plan = plan_of(
        stage_run("a", FILL, value=1, awaits=begun(marks, 2), **unkept),
        stage_run("b", FILL, value=2, awaits=begun(marks, 1), **unkept),
        stage_run("l", LOOK, "a", "b"),
        stage_run("r", RANKS, "a", value=3),
    )
    outcome = run(plan, tmp_path, workers)
    assert outcome.exit_code == 0
    assert sorted(each["type"] for each in searches(tmp_path, outcome, "l")) == ["StoredArray", "ndarray"]
    assert [each["type"] for each in searches(tmp_path, outcome, "r")] == ["StoredArray"] * 2
    stages = by_key(outcome)
    assert [stages[key]["state"] for key in "ablr"] == ["computed"] * 4
    assert len(list((tmp_path / "data").iterdir())) == 2, "what is not kept goes after its last use"
    whole(tmp_path)


def test_files_of_a_result_outlive_the_worker_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    take = Results.take

    def told(self: Results, event: Any) -> None:
        take(self, event)
        if isinstance(event, Readable):
            (tmp_path / "readable").touch()

    monkeypatch.setattr(Results, "take", told)
    marks, readable = str(tmp_path / "marks"), str(tmp_path / "readable")
    plan = plan_of(
        stage_run("a", FILL, count=MIB, keep=False, value=1, marks=marks),
        stage_run("r", RANKS, "a", value=2),
        stage_run("d", FILL, "a", value=3, awaits=readable, die_after=str(tmp_path / "died")),
    )
    outcome = run(plan, tmp_path / "cache", workers)
    assert outcome.exit_code == 0
    assert count(tmp_path / "marks", 1) == 1
    whole(tmp_path / "cache")


def test_files_that_are_damaged_are_made_again(tmp_path: Path, workers: str) -> None:
    marks = str(tmp_path / "marks")
    plan = plan_of(
        stage_run("a", FILL, count=MIB, keep=False, value=1, marks=marks),
        stage_run("r", RANKS, "a", cut=str(tmp_path / "cut")),
    )
    outcome = run(plan, tmp_path / "cache", workers)
    assert outcome.exit_code == 0
    assert count(tmp_path / "marks", 1) == 2
    whole(tmp_path / "cache")


def test_a_result_is_readable_before_the_disk_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is slow; whoever runs elsewhere reads what is in the system's memory."""
    disk, told = threading.Event(), list[Any]()
    fsync = os.fsync

    def slow(handle: int) -> None:
        assert disk.wait(20)
        fsync(handle)

    class Events(SimpleQueue[object]):
        def put(self, event: object, *given: Any) -> None:
            if isinstance(event, Readable | Written):
                told.append(event)
            super().put(event, *given)
            if isinstance(event, Readable):
                [prepared] = event.prepared
                found: Any = open_artifact(prepared.record)
                told.append(int(found.row_offsets[-1]))
                disk.set()

    monkeypatch.setattr("gravel.pipeline.store.sink.os.fsync", slow)
    monkeypatch.setattr(protocol, "SimpleQueue", Events)
    outcome = run(plan_of(stage_run("a", FILL, count=MIB)), tmp_path)
    assert outcome.exit_code == 0
    assert [type(each) for each in told] == [Readable, int, Written]
    assert told[1] == MIB - 1
    whole(tmp_path)


@pytest.mark.parametrize("keep", ["true", "false"])
def test_recipes_read_ids_that_a_worker_has_in_memory(tmp_path: Path, workers: str, keep: str) -> None:
    """They are written, and the recipe is made then."""
    (tmp_path / "edges.csv").write_text(
        "source,target\n" + "".join(f"u{at},u{at + 1}\n" for at in range(500))
    )
    file = tmp_path / "ids.yaml"
    file.write_text(
        "workflow: ids\nstages:\n"
        f"  edges: {{stage: ingest, file: edges.csv, keep: {keep}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  bfs: {stage: traverse, input: graph, sources: [u250]}\n"
        "  check: {stage: verify, graph: graph, traversal: bfs}\n"
    )
    words = ["run", str(file), "--cluster", workers, "--backend", "cpu", "--cache", str(tmp_path / "cache")]
    done = call_inside([*PROGRAM, *words])
    assert done.returncode == 0, done.stderr
    whole(tmp_path / "cache")
