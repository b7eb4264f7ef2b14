"""A graph that several threads ask, and several graphs at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import gravel
from gravel.graphs import paths, prepared
from tests.gravel.asked import ON_CPU, QUESTIONS, THREADS, answered, columns, lengths, same, skewed

ALL = {name: each for name, each in (QUESTIONS | ON_CPU).items() if name not in ("save", "edge_betweenness")}


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_mixed_questions(directed):
    assert answered(skewed(directed=directed), ALL, 6) == []


@pytest.mark.gpu
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_mixed_questions_of_a_gpu(directed):
    questions = {name: each for name, each in QUESTIONS.items() if name in ALL}
    assert answered(skewed(directed=directed, backend="cuda"), questions, 4) == []


@pytest.mark.parametrize("strategy", ["delta_stepping", "dijkstra"])
def test_shortest_paths_of_a_graph_that_all_threads_search(strategy):
    graph = skewed(vertices=5000, edges=40_000)
    questions = {
        source: lambda graph, source=source: columns(graph.shortest_paths(source, strategy=strategy))
        for source in range(24)
    }
    assert answered(graph, questions, 3) == []


def test_results_that_are_read_late():
    """A search's labels are taken out of its workspace when they are asked for, or before it runs again."""
    graph = skewed()
    expected = [lengths(graph.bfs(source)) for source in range(60)]
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(graph.bfs, range(60)))
        assert same(list(pool.map(lengths, found)), expected)


class AtOnce:
    """How many threads are inside a call."""

    def __init__(self, call):
        self.call, self.most, self._inside, self._lock = call, 0, 0, threading.Lock()

    def __call__(self, *given):
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        try:
            return self.call(*given)
        finally:
            with self._lock:
                self._inside -= 1


def test_no_graph_is_searched_twice_at_once(monkeypatch):
    """So that it takes no more memory than it states."""
    searches = AtOnce(prepared.PreparedSearch.run), AtOnce(paths.PreparedPaths.run)
    for kind, each in zip((prepared.PreparedSearch, paths.PreparedPaths), searches, strict=True):
        monkeypatch.setattr(kind, "run", lambda *given, each=each: each(*given))
    graph = skewed(vertices=3000, edges=30_000)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda source: graph.bfs(source).reached, range(40)))
        list(pool.map(lambda source: graph.shortest_paths(source).reached, range(40)))
        list(pool.map(lambda source: graph.bfs(source, direction="in").reached, range(40)))
    assert [each.most for each in searches] == [1, 1]
    assert len(graph._rows.prepared) <= 4


def test_two_graphs_are_asked_at_once():
    """The first waits in the middle of a measure for what the second answers."""
    one, other = skewed(1), skewed(2)
    answered = threading.Event()
    waited = []

    def progress(done, total):
        waited.append(answered.wait(30))

    with ThreadPoolExecutor(2) as pool:
        measure = pool.submit(one.closeness, progress=progress)
        while not waited and not measure.done():
            other.shortest_paths(3)
            answered.set()
        measure.result()
    assert waited
    assert all(waited)


def test_a_question_in_the_middle_of_another():
    """As a progress bar may ask: a thread does not wait for itself, and neither answer changes."""
    graph = skewed()
    expected = columns(graph.betweenness(30)), lengths(graph.bfs(3)), graph.distance(7, 200)
    inside = []
    found = graph.betweenness(
        30, progress=lambda *_: inside.append((lengths(graph.bfs(3)), graph.distance(7, 200)))
    )
    assert same([columns(found)], [expected[0]])
    assert inside
    assert all(same([*each], [*expected[1:]]) for each in inside)


def test_ids_that_threads_look_up_for_the_first_time():
    names = [f"vertex {number}" for number in range(2000)]
    graph = gravel.graph((names[:-1], names[1:]))
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda number: graph.distance(names[0], names[number]), range(0, 2000, 50))
        assert list(found) == list(range(0, 2000, 50))
