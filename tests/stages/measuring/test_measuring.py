"""What an earlier run left of a `centrality` is taken up only if it fits the graph and what is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from gravel.kernels.betweenness import on_threads
from gravel.stages.centrality import CentralityParameters
from gravel.stages.context import differs
from gravel.stages.measuring import searcher
from tests.stages.measuring.test_over_workers import Killed, Reserved, Saved, centrality, found, graph_of

MEASURES: dict[str, dict[str, Any]] = {
    "closeness": {},
    "betweenness": {},
    "edge_betweenness": {"memory": 400_000, "sources": {"random": 200}},
    "eccentricity": {},
}

OTHERS = ("complete_40", "grid_13x17", "star_last_hub")
"""Graphs of fewer and of more vertices than that of the checkpoint. One of as many has another recipe."""


class Kept(Saved):
    """As that, and says why it was dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped: list[str] = []

    def drop(self, reason: str) -> None:
        self.dropped.append(reason)
        self.arrays = None


@pytest.fixture(autouse=True)
def _little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searcher, "FOUND_BYTES", 1)
    monkeypatch.setattr(on_threads, "ROUNDS", 1)


def asked(measure: str) -> CentralityParameters:
    return CentralityParameters(measure=measure, **{"memory": 120_000, **MEASURES[measure]})


def left_by(measure: str, name: str) -> Kept:
    """Return what a run on a graph left that ended after two checkpoints."""
    saved = Kept()
    saved.left = 2
    with pytest.raises(Killed):
        centrality(Reserved(0, saved), asked(measure), input=graph_of(name))
    saved.left = -1
    return saved


@pytest.mark.parametrize("measure", MEASURES)
def test_what_fits_is_taken_up(measure: str) -> None:
    saved = left_by(measure, "skewed_random")
    before = found(Reserved(0), asked(measure), graph_of("skewed_random"))[0]
    values, _ = found(Reserved(0, saved), asked(measure), graph_of("skewed_random"))
    assert saved.dropped == []
    assert values == before


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("measure", MEASURES)
def test_that_of_another_graph_is_dropped(measure: str, other: str) -> None:
    saved = left_by(measure, "skewed_random")
    wanted = found(Reserved(0), asked(measure), graph_of(other))[0]
    values, _ = found(Reserved(0, saved), asked(measure), graph_of(other))
    assert values == wanted
    assert len(saved.dropped) == 1


def column(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def harm(arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays[name])

    return harm


HARMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no sizes": lambda arrays: arrays.pop("sizes"),
    "other arcs": column("sizes", lambda sizes: sizes + numpy.array([0, 0, 2])),
    "no form": lambda arrays: arrays.pop("form"),
    "another form": column("form", lambda form: form[::-1].copy()),
    "no ends": lambda arrays: arrays.pop("ends"),
    "no batches": column("ends", lambda ends: ends[:0]),
    "fewer ends": column("ends", lambda ends: ends[:1]),
    "ends beyond": column("ends", lambda ends: ends + (1 << 40)),
    "ends that fall": column("ends", lambda ends: ends[::-1].copy()),
    "ends below": column("ends", lambda ends: ends - (1 << 40)),
    "ends of floats": column("ends", lambda ends: ends.astype(float)),
    "ends of two axes": column("ends", lambda ends: ends.reshape(1, -1)),
    "fewer workers": column("workers", lambda workers: workers[:1]),
    "more arrays": lambda arrays: arrays.update(more=numpy.zeros(3)),
    "sums of another size": column("sums", lambda sums: sums[:-1]),
    "sums of another dtype": column("sums", lambda sums: sums.astype(numpy.float32)),
    "sums of two axes": column("sums", lambda sums: sums.reshape(1, -1)),
    "no sums": lambda arrays: arrays.pop("sums"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_does_not_fit_is_dropped(harm: str) -> None:
    saved = left_by("betweenness", "skewed_random")
    wanted = found(Reserved(0), asked("betweenness"), graph_of("skewed_random"))[0]
    assert saved.arrays is not None
    saved.arrays = dict(saved.arrays)
    HARMS[harm](saved.arrays)
    values, batches = found(Reserved(0, saved), asked("betweenness"), graph_of("skewed_random"))
    assert values == wanted
    assert len(saved.dropped) == 1
    assert not any(each["resumed"] for each in batches.batches)


@pytest.mark.parametrize("name", ["lower", "upper"])
@pytest.mark.parametrize("change", [lambda each: each[1:], lambda each: each.astype(numpy.int32), None])
def test_bounds_that_do_not_fit_are_dropped(name: str, change: Any) -> None:
    saved = left_by("eccentricity", "skewed_random")
    wanted = found(Reserved(0), asked("eccentricity"), graph_of("skewed_random"))[0]
    assert saved.arrays is not None
    saved.arrays = {key: each for key, each in saved.arrays.items() if change or key != name}
    if change is not None:
        saved.arrays[name] = change(saved.arrays[name])
    assert found(Reserved(0, saved), asked("eccentricity"), graph_of("skewed_random"))[0] == wanted
    assert saved.dropped == [f"has {name!r} of another size than this graph"]


def test_arrays_differ_by_name_dtype_and_shape() -> None:
    one = {"a": numpy.zeros(3), "b": numpy.zeros((2, 2), numpy.int8)}
    assert differs(one, {name: each + 1 for name, each in one.items()}) is None
    assert differs(one, {"a": one["a"]}) == "b"
    assert differs({"b": one["b"]}, one) == "a"
    assert differs({**one, "a": numpy.zeros(3, numpy.float32)}, one) == "a"
    assert differs({**one, "b": numpy.zeros(4, numpy.int8)}, one) == "b"
