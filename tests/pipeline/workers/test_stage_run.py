"""Results that are written side by side: arrays of one, and several at the same time."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.scheduler import placement
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store import sink
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.identity import identify
from gravel.pipeline.store.writer import ArtifactWriter
from gravel.pipeline.workers import stage_run as running
from gravel.pipeline.workers.protocol import Readable, Written
from gravel.pipeline.workers.results_in_memory import WriteBehind
from gravel.stages.artifacts import EdgeList, Traversal
from tests.pipeline import memory_stages
from tests.pipeline.run_case import until
from tests.pipeline.tiny_stages import plan_of, stage_run


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink.os, "sched_getaffinity", lambda process: range(2))


def ends(tell: Callable[[Written], object]) -> Callable[[Readable | Written], None]:
    """Tell of the end of the writing of a result only."""
    return lambda event: tell(event) if isinstance(event, Written) else None


def task_of(cache: Cache, *, profile: bool) -> Any:
    """A task whose result is kept, of a driver on another host."""
    return SimpleNamespace(
        key="a", attempt=1, cache=cache, run="r", host="elsewhere", keep=True, profile=profile, store=None
    )


def edges(count: int) -> EdgeList:
    numbers = numpy.random.default_rng(count).integers(0, 1 << 32, (2, count), numpy.uint32)
    return EdgeList(source=numbers[0], target=numbers[1], vertex_count=1 << 32, undirected=False)


def test_arrays_of_one_result_are_written_side_by_side(tmp_path: Path, two_cores: None) -> None:
    """Each has one file; the other's is begun before it is done."""
    both = threading.Barrier(2, timeout=20)
    with Cache(tmp_path).writer(before_each=both.wait) as writer:
        record = writer.publish(edges(1 << 18))
    assert Cache(tmp_path).check(record.id) is None


def test_results_are_written_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    both, told = threading.Barrier(2, timeout=20), []

    def write(self: WriteBehind, result: Any) -> Written:
        both.wait()
        return Written(result.task.key, 1)

    monkeypatch.setattr(WriteBehind, "_write", write)
    behind = WriteBehind()
    for key in ("a", "b"):
        behind.add(SimpleNamespace(key=key, attempt=1), (), (), told.append)  # type: ignore[arg-type]
    until(lambda: len(told) == 2)
    behind.stop()
    assert {each.key for each in told} == {"a", "b"}


def test_a_process_may_end_when_all_is_written(tmp_path: Path) -> None:
    """A process that ends waits for threads, of which it may not know whom they belong to."""
    artifact, told, cache = edges(1 << 18), threading.Event(), Cache(tmp_path)
    task = task_of(cache, profile=False)
    behind = WriteBehind()
    with cache.lease("r"):
        behind.add(task, (artifact,), (identify(artifact),), ends(lambda _: told.set()))
        assert told.wait(20)
        until(lambda: not _write_threads())
    assert not _write_threads()


def _write_threads() -> list[str]:
    names = [thread.name for thread in threading.enumerate() if not thread.daemon]
    return [name for name in names if name.startswith(("gravel-write", "gravel-digest", "gravel-sync"))]


def test_only_the_measurement_itself_has_the_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a result takes after it, its id above all, keeps the cores busy anyway."""
    pauses = {}
    keep = running._keep_in_memory

    def measure(context: Any, parameters: Any, inputs: tuple[Any, ...]) -> Any:
        pauses["measured"] = context._services.write_behind._pauses
        return memory_stages.fill(context, parameters, inputs)

    def noted(task: Any, artifacts: Any, services: Any, *rest: Any) -> Any:
        pauses["kept"] = services.write_behind._pauses
        return keep(task, artifacts, services, *rest)

    monkeypatch.setattr(placement, "MIN_BYTES", 1)
    monkeypatch.setattr(running, "_keep_in_memory", noted)
    timed = replace(memory_stages.FILL, name="timed", run=measure, measures=True)
    plan = plan_of(stage_run("a", timed, count=1 << 17))
    assert execute(plan, RunOptions(cache_root=tmp_path, cluster="inline", backend="cpu")).exit_code == 0
    assert pauses == {"measured": 1, "kept": 0}


def test_a_pause_is_no_part_of_the_time_that_writing_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact, told, cache = edges(1 << 18), list[Written](), Cache(tmp_path)
    task = task_of(cache, profile=True)
    behind, prepare = WriteBehind(), ArtifactWriter.prepare
    pause = []

    def paused(*arguments: Any) -> Any:
        with behind.paused():
            pause.append(time.time())
            time.sleep(0.3)
        pause.append(time.time())
        return prepare(*arguments)

    monkeypatch.setattr(ArtifactWriter, "prepare", paused)
    with cache.lease("r"):
        behind.add(task, (artifact,), (identify(artifact),), ends(told.append))
        until(lambda: told)
    behind.stop()
    [written] = told
    before, after = written.spans
    assert written.failure is None
    assert before["began"] + before["seconds"] <= pause[0]
    assert pause[0] + 0.3 <= after["began"] <= pause[1]


@pytest.mark.parametrize("rows", [1, 3, 5])
def test_what_is_written_has_the_id_of_what_is_in_memory(tmp_path: Path, two_cores: None, rows: int) -> None:
    distance = numpy.arange(rows * 444_443, dtype=numpy.int64).reshape(rows, -1)
    artifact = Traversal(algorithm="bfs", distance=distance, vertex_count=3)
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        record = writer.publish(artifact)
    assert record.id == identify(artifact)
    found = cache.open(record.id)
    assert isinstance(found, Traversal)
    assert numpy.array_equal(numpy.asarray(found.distance), distance)


@pytest.mark.parametrize("appended", [False, True])
def test_what_the_disk_did_not_take_is_not_published(
    tmp_path: Path, appended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be written, and fail when it is waited for."""
    cache = Cache(tmp_path, pytest.fail)
    fsync = os.fsync

    def fail(handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").readlink().match("c/0"):
            raise OSError(errno.EIO, "Input/output error")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", fail)
    source: Any = numpy.arange(1 << 18, dtype=numpy.uint32)
    with cache.writer() as writer:
        if appended:
            rows = writer.sink(numpy.uint32)
            rows.append(source)
            source = rows.close()
        made = EdgeList(source=source, target=source, vertex_count=1 << 32, undirected=False)
        with pytest.raises(GravelError, match="input/output error"):
            writer.publish(made)
    assert cache.files.names("artifacts") == []
    assert cache.files.names("data") == []


@pytest.mark.parametrize("appended", [False, True])
def test_what_the_disk_gives_back_otherwise_is_not_published(
    tmp_path: Path, appended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests are made again from what was written."""
    write_at = sink.write_at

    def wrong(handle: int, view: memoryview, start: int) -> None:
        flipped = bytearray(view)
        flipped[7] ^= 1
        write_at(handle, memoryview(flipped), start)

    monkeypatch.setattr(sink, "write_at", wrong)
    cache = Cache(tmp_path)
    source: Any = numpy.arange(1 << 19, dtype=numpy.uint32)
    with cache.writer() as writer:
        rows = writer.sink(numpy.uint32)
        rows.append(source)
        given = EdgeList(source=source, target=source, vertex_count=1 << 32, undirected=False)
        with pytest.raises(GravelError, match=r"gave back something else|was changed"):
            _ = rows.close() if appended else writer.publish(given)
    assert cache.files.names("artifacts") == []
