"""What a worker runs: values that go from one process to another, and items that it takes together."""

from __future__ import annotations

import errno
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
from click.testing import CliRunner

from gravel.kernels import threads
from gravel.pipeline.cli import main
from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hardware import core_count
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workers import dask_worker
from gravel.pipeline.workers.dask_worker import LEAST_BYTES, in_groups, pack, run_items
from gravel.stages.urls import shown
from tests.pipeline.tiny_stages import graph_of


def test_large_arrays_go_by_a_file_and_the_rest_is_pickled(tmp_path: Path) -> None:
    large, small = numpy.arange(1 << 17), numpy.arange(7)
    value = {"large": large, "again": large, "two": large.astype(numpy.uint32), "small": small, "text": "a"}
    sent = pickle.dumps(pack(value, tmp_path))
    assert len(sent) < 2000
    found = pickle.loads(sent).unpack()
    assert {name: type(each) for name, each in found.items()} == {
        name: type(each) for name, each in value.items()
    }
    assert all(numpy.array_equal(found[name], value[name]) for name in value)
    assert found["again"] is found["large"]
    found["large"][0] = 5
    assert large[0] == 0
    assert not list(tmp_path.iterdir())


def test_what_is_small_needs_no_file(tmp_path: Path) -> None:
    array = numpy.zeros(LEAST_BYTES // 8 - 1)
    parcel = pack([array, None], tmp_path / "not made")
    assert parcel.file is None
    assert numpy.array_equal(parcel.unpack()[0], array)
    assert not (tmp_path / "not made").exists()


def test_arrays_that_are_not_in_one_piece_or_empty(tmp_path: Path) -> None:
    values = [numpy.arange(1 << 18)[::3], numpy.asfortranarray(numpy.ones((300, 200))), numpy.zeros((0, 3))]
    for value in values:
        assert numpy.array_equal(pack(value, tmp_path).unpack(), value)


def test_a_parcel_may_be_unpacked_by_many(tmp_path: Path) -> None:
    parcel = pack(numpy.arange(1 << 17), tmp_path)
    first, second = (parcel.unpack(last=False) for _ in range(2))
    first[0] = 9
    assert second[0] == 0
    assert parcel.file is not None
    assert parcel.file.exists()


def test_a_stored_graph_is_pickled_as_where_it_lies(tmp_path: Path) -> None:
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(graph_of(numpy.arange(1 << 20)))
    stored: Any = Cache(tmp_path).open(record.id)
    parcel = pack([stored] * 4, tmp_path / "scratch")
    assert parcel.file is None
    assert len(parcel.pickled) < 10_000
    assert int(parcel.unpack()[3].row_offsets[-1]) == (1 << 20) - 1


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(dask_worker, "write_at", full)
    with pytest.raises(GravelError, match="no space left"):
        pack(numpy.arange(1 << 17), tmp_path)


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(3, [[0, 1, 2], [3, 4, 5], [6]]), (1, [[i] for i in range(7)]), (9, [list(range(7))])],
)
def test_groups_are_full_but_the_last(size: int, wanted: list[list[int]]) -> None:
    assert list(in_groups(range(7), size)) == wanted


def test_groups_are_taken_as_they_are_asked_for() -> None:
    items = iter(range(7))
    assert next(in_groups(items, 3)) == [0, 1, 2]
    assert next(items) == 3


def test_items_of_a_group_run_side_by_side(tmp_path: Path) -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(item: int) -> int:
        barrier.wait()
        return item * item

    packed, _, peak = run_items(meet, pack([1, 2, 3], tmp_path), tmp_path)
    answers = packed.unpack()
    assert answers == [(True, 1), (True, 4), (True, 9)]
    assert peak >= 0


def test_an_item_that_fails_is_told_apart_from_the_others(tmp_path: Path) -> None:
    def check(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item

    packed, _, _ = run_items(check, pack([1, 2, 3], tmp_path), tmp_path)
    answers = packed.unpack()
    assert [done for done, _ in answers] == [True, False, True]
    assert isinstance(answers[1][1], ValueError)
    assert [value for done, value in answers if done] == [1, 3]


WORKFLOW = """
workflow: threads
stages:
  edges: {stage: ingest, source: {rmat: {scale: 5, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every number of threads that kernels were given."""
    found: list[int] = []
    monkeypatch.setattr(threads, "set_threads", found.append)
    return found


def test_a_stage_of_gravel_limits_the_threads_of_its_kernels(tmp_path: Path, asked: list[int]) -> None:
    file = tmp_path / "threads.yaml"
    file.write_text(WORKFLOW)
    options = ["--cache", str(tmp_path / "cache"), "--cluster", "inline", "--backend", "cpu"]
    outcome = CliRunner().invoke(main, ["run", str(file), *options])
    assert outcome.exit_code == 0, outcome.output
    assert set(asked) == {core_count()}


def test_an_item_that_is_a_function_of_gravel_runs_on_one_thread(tmp_path: Path, asked: list[int]) -> None:
    packed, _, _ = run_items(shown, pack(["a.txt"], tmp_path), tmp_path)
    answers = packed.unpack()
    assert answers == [(True, "a.txt")]
    assert asked == [1]
