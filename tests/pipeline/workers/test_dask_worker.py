"""What a worker runs: items that it takes together, and the threads of their kernels."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from gravel.kernels import threads
from gravel.pipeline.cli import main
from gravel.pipeline.core.hardware import core_count
from gravel.pipeline.workers.dask_worker import in_groups, run_items
from gravel.pipeline.workers.parcels import Route
from gravel.stages.urls import shown


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


@pytest.fixture
def route(tmp_path: Path) -> Route:
    """The way between workers that see the same scratch folder."""
    return Route(tmp_path, None, "run")


def test_items_of_a_group_run_side_by_side(route: Route) -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(item: int) -> int:
        barrier.wait()
        return item * item

    packed, _, peak = run_items(meet, route.pack([1, 2, 3]), route)
    answers = packed.unpack()
    assert answers == [(True, 1), (True, 4), (True, 9)]
    assert peak >= 0


def test_an_item_that_fails_is_told_apart_from_the_others(route: Route) -> None:
    def check(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item

    packed, _, _ = run_items(check, route.pack([1, 2, 3]), route)
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


def test_an_item_that_is_a_function_of_gravel_runs_on_one_thread(route: Route, asked: list[int]) -> None:
    packed, _, _ = run_items(shown, route.pack(["a.txt"]), route)
    answers = packed.unpack()
    assert answers == [(True, "a.txt")]
    assert asked == [1]
