"""Ctrl-C in any method, at any line: what is asked again has the same answer."""

import gc
import threading
import time
import weakref

import numpy
import pytest

from tests.gravel.asked import ON_CPU, QUESTIONS, Steps, counted, methods, skewed, spoiled

ALL = QUESTIONS | ON_CPU

SLOW = {"save", "reorder", "compress"}
"""Questions of some thousand lines of Python; all others have some hundred."""


def test_every_method_is_asked():
    assert {name.split()[0] for name in ALL} == methods()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files that were open
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("name", ALL)
def test_cut_off_at_any_line_and_asked_again(name, directed):
    times = 8 if name in SLOW else 30
    rng = numpy.random.default_rng(len(name))
    assert spoiled(skewed(directed=directed), name, ALL[name], rng, times) == []


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_cut_off_on_a_gpu(name, directed):
    graph = skewed(directed=directed, backend="cuda")
    assert spoiled(graph, name, QUESTIONS[name], numpy.random.default_rng(len(name)), 8) == []


@pytest.mark.parametrize("name", ["bfs", "components", "distance", "shortest_paths", "closeness"])
def test_threads_of_what_was_cut_off_end(name):
    threads = threading.active_count()
    graph = skewed()
    assert spoiled(graph, name, ALL[name], numpy.random.default_rng(2), 30) == []
    del graph
    for _ in range(500):
        gc.collect()
        if threading.active_count() <= threads:
            return
        time.sleep(0.01)
    pytest.fail(f"threads are left: {threading.enumerate()[threads:]}")


def test_what_was_cut_off_is_thrown_away():
    graph = skewed()
    for name in ("bfs", "shortest_paths", "distance"):
        question = QUESTIONS[name]
        question(graph)
        kept = next(reversed(graph._rows.prepared.values()))
        question(graph)
        assert next(reversed(graph._rows.prepared.values())) is kept
        found, last = False, 0
        while not found:  # once the search is lent, until the answer is there
            last += 1
            with counted(Steps(last)):
                try:
                    question(graph)
                    pytest.fail("no line lends it")
                except KeyboardInterrupt:
                    found = all(each is not kept for each in graph._rows.prepared.values())
        question(graph)
        assert next(reversed(graph._rows.prepared.values())) is not kept


@pytest.mark.parametrize("error", [MemoryError, RuntimeError, KeyboardInterrupt])
def test_an_error_throws_it_away_as_well(error, monkeypatch):
    graph = skewed()
    expected = graph.shortest_paths(7).distance.to_numpy()
    prepared = next(iter(graph._rows.prepared.values()))

    def failing(source):
        prepared._search._queues.marks[:] = 77
        raise error

    monkeypatch.setattr(prepared._search, "run", failing)
    with pytest.raises(error):
        graph.shortest_paths(7)
    assert not graph._rows.prepared
    numpy.testing.assert_array_equal(graph.shortest_paths(7).distance.to_numpy(), expected)


KEYS = {"bfs": ("both", "auto", "out", None), "shortest_paths": ("shortest_paths", "both", "auto", "out")}


@pytest.mark.parametrize("name", KEYS)
def test_a_kept_traceback_keeps_no_workspace(name, monkeypatch):
    """As a notebook keeps that of the last error."""

    def stopped(source):
        raise KeyboardInterrupt

    graph = skewed()
    QUESTIONS[name](graph)
    prepared = graph._rows.prepared[KEYS[name]]
    (prepared.search if name == "bfs" else prepared._search).run = stopped
    prepared = weakref.ref(prepared)
    with pytest.raises(KeyboardInterrupt) as kept:
        QUESTIONS[name](graph)
    gc.collect()
    assert prepared() is None, kept
