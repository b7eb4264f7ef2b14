"""Strategies, constants and machines that a traversal may have, and those that are refused."""

from typing import Literal

import pytest
from pydantic import ValidationError

from gravel.stages.artifacts import Graph
from gravel.stages.errors import StageError
from gravel.stages.stage import Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traversal.strategy import backend_of_search, checked_tuning
from tests.stages.traverse_case import (
    GRAPHS,
    partitioned,
    plain,
    run,
)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "topdown"}, "did you mean 'top_down'"),
        ({"algorithm": "components", "strategy": "aforest"}, "did you mean 'afforest'"),
        ({"algorithm": "components", "strategy": "top_down"}, "there is no components strategy"),
        ({"algorithm": "components", "sources": [1]}, "components take no sources"),
        ({"algorithm": "dfs"}, "'bfs', 'shortest_paths', 'components' or 'strong_components'"),
        ({"sources": []}, "at least 1"),
        ({"sources": {"random": 0}}, "greater than or equal to 1"),
        ({"sources": {"rnd": 3}}, "random"),
        ({"max_depth": -1}, "greater than or equal to 0"),
        ({"output": "all"}, "'both', 'distance', 'predecessor' or 'checks'"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises(ValidationError, match=message):
        TraverseParameters(**parameters)


def test_choices_that_do_not_fit_the_graph():
    graph = plain(GRAPHS["two_parts"])
    directed = plain(GRAPHS["two_parts"], symmetric=False)
    with pytest.raises(StageError, match="needs a symmetric graph"):
        run(directed, strategy="direction_optimizing")
    with pytest.raises(StageError, match="did you mean 'alpha'"):
        run(graph, tuning={"alhpa": 3})
    with pytest.raises(StageError, match="did you mean 'rounds'"):
        run(graph, algorithm="components", tuning={"round": 3})
    for algorithm, strategy in (("bfs", "top_down"), ("components", "label_propagation")):
        with pytest.raises(StageError, match="a partition has no other strategy"):
            run(partitioned(graph), algorithm=algorithm, strategy=strategy)
    unsorted = Graph(**{**vars(graph), "sorted": False})
    with pytest.raises(StageError, match="not sorted"):
        run(unsorted)


def test_tuning_reaches_the_strategy():
    graph = plain(GRAPHS["complete_40"])
    for alpha, pulled in ((0, []), (15, [1])):
        _, measurement = run(graph, sources={"vertices": [0]}, tuning={"alpha": alpha})
        assert [level for level in measurement.searches[0]["levels"]["pulled"] if level == 1] == pulled
    _, measurement = run(graph, strategy="top_down", tuning={"serial_below": 1})
    assert measurement.strategy == "top_down"
    assert measurement.reason == "asked for"


@pytest.mark.parametrize(
    ("strategy", "former", "name"),
    [
        ("direction_optimizing", "floor", "bottom_up_min_arcs_per_word"),
        ("direction_optimizing", "patience", "bottom_up_min_levels"),
        ("direction_optimizing", "unqueued", "push_without_queue_factor"),
        ("direction_optimizing", "planes", "neighbour_groups"),
        ("persistent", "patience", "narrow_max_retries"),
        ("two_phase", "least", "tile_min_items"),
        ("flex", "headroom", "threads_per_vertex"),
    ],
)
def test_a_former_name_is_refused_with_those_that_there_are(strategy: str, former: str, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{strategy}' has no constant '{former}'.*it has .*\b{name}\b"):
        checked_tuning("bfs", strategy, "cuda", {former: 1})
    assert checked_tuning("bfs", strategy, "cuda", {name: 1}) == ({name: 1}, [])


def test_tuning_takes_numbers_words_and_switches():
    graph = plain(GRAPHS["complete_40"])
    for tuning, told in (
        ({"alpha": "much"}, "'alpha' of strategy 'direction_optimizing' is 'much'; it is a whole number"),
        ({"serial_below": 1.5}, "is 1.5; it is a whole number"),
        ({"serial_below": True}, "is True; it is a whole number"),
    ):
        with pytest.raises(StageError, match=told):
            run(graph, strategy="direction_optimizing", tuning=tuning)
    run(graph, strategy="top_down", tuning={"serial_below": 4.0})
    parameters = TraverseParameters(tuning={"a": True, "b": 3, "c": 0.5, "d": "warp"})
    read = TraverseParameters.model_validate_json(parameters.model_dump_json())
    assert [type(value) for value in read.tuning.values()] == [bool, int, float, str]


def test_constants_of_the_other_backend_are_left_out_and_said():
    graph = plain(GRAPHS["complete_40"])
    _, measurement = run(graph, strategy="direction_optimizing", tuning={"block": 128})
    assert "block is no constant of direction_optimizing on cpu, and was left out" in measurement.notes
    assert measurement.asked["tuning"] == {"block": 128}


def test_what_ran_is_told_with_every_constant_in_force():
    graph = plain(GRAPHS["complete_40"])
    _, asked = run(graph, strategy="direction_optimizing", tuning={"alpha": 3, "block": 128})
    _, auto = run(graph)
    function = "gravel.kernels.bfs.cpu.search:direction_optimizing"
    assert asked.ran == {
        "function": function,
        "backend": "cpu",
        "options": {"alpha": 3, "beta": 18, "serial_below": 4096},
    }
    assert auto.asked["strategy"] == "auto"
    assert auto.ran == {**asked.ran, "options": {"alpha": 15, "beta": 18, "serial_below": 4096}}
    _, parts = run(graph, algorithm="components")
    assert parts.ran["function"] == "gravel.kernels.components.cpu.afforest:prepare"


def test_a_strategy_without_cpu_code_is_not_replaced_by_another():
    graph = plain(GRAPHS["complete_40"])
    with pytest.raises(StageError, match="strategy 'hybrid' does not run on the CPU"):
        run(graph, strategy="hybrid")


def chosen_from(kind, value):
    def prepare(row_offsets, column_indices, *, output, way: kind = value):
        pass

    return prepare


def test_choices_are_told_with_the_nearest(monkeypatch):
    from gravel.kernels.strategy import Strategy

    monkeypatch.setattr(
        Strategy, "load", lambda self, backend: chosen_from(Literal["thread", "warp"], "warp")
    )
    assert checked_tuning("bfs", "top_down", "cpu", {"way": "thread"}) == (
        {"way": "thread"},
        [],
    )
    with pytest.raises(ValueError, match=r"one of 'thread', 'warp' \(did you mean 'warp'"):
        checked_tuning("bfs", "top_down", "cpu", {"way": "wrap"})
    monkeypatch.setattr(Strategy, "load", lambda self, backend: chosen_from(int | None, None))
    assert checked_tuning("bfs", "top_down", "cpu", {"way": 3.0}) == ({"way": 3}, [])
    monkeypatch.setattr(Strategy, "load", lambda self, backend: chosen_from(bool, False))
    with pytest.raises(ValueError, match="is 1; it is true or false"):
        checked_tuning("bfs", "top_down", "cpu", {"way": 1})


def test_where_a_traversal_runs():
    gpu = Machine(backend="cuda", threads=2, host_memory=1 << 30, device_memory=1 << 30)
    cpu = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    for parameters, expected in (
        ({}, "cuda"),
        ({"strategy": "two_phase"}, "cuda"),
        ({"strategy": "serial"}, "cpu"),
        ({"backend": "cpu"}, "cpu"),
        ({"algorithm": "components"}, "cuda"),
    ):
        assert backend_of_search(TraverseParameters(**parameters), gpu) == expected
        assert backend_of_search(TraverseParameters(**parameters), cpu) == "cpu"
    with pytest.raises(StageError, match="asks for backend cuda"):
        backend_of_search(TraverseParameters(backend="cuda"), cpu)


def test_threads_are_a_bound():
    graph = plain(GRAPHS["path_33"])
    _, measurement = run(graph, threads=1)
    assert measurement.asked["threads"] == 1
    assert "threads" not in " ".join(measurement.notes)
    _, measurement = run(graph, threads=5)
    assert measurement.hardware.endswith(", 2 threads")
    assert run(graph, threads=1)[1].hardware.endswith(", 1 thread")
    assert "5 threads were asked for, and 2 used" in measurement.notes
