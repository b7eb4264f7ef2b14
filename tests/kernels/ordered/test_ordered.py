"""Searches that keep the order of the rows, by their definitions on the zoo, with rows in random order."""

from itertools import chain, pairwise

import numpy
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gravel.kernels.cores import core_numbers
from gravel.kernels.ordered.bfs import search
from gravel.kernels.ordered.bidirectional import path
from gravel.kernels.ordered.labelled_arcs import FORWARD, LEVEL, REVERSE, TREE, labelled_arcs
from gravel.kernels.ordered.predecessors import predecessors
from gravel.kernels.ordered.strong_components import strong_components
from tests.zoo import zoo

ZOO = [graph for graph in zoo() if graph.vertex_count]


def rows_of(graph, symmetric, index=numpy.uint32):
    """Return rows of a graph, each in random order, and as lists."""
    offsets, columns = graph.csr(symmetric=symmetric, index=index)
    random = numpy.random.default_rng(3)
    for row in range(graph.vertex_count):
        random.shuffle(columns[offsets[row] : offsets[row + 1]])
    lists = [columns[offsets[v] : offsets[v + 1]].tolist() for v in range(graph.vertex_count)]
    return (offsets, columns), lists


def turned(lists):
    """Return the rows of predecessors."""
    back = [[] for _ in lists]
    for u, row in enumerate(lists):
        for v in row:
            back[v].append(u)
    offsets = numpy.cumsum([0, *map(len, back)])
    return offsets.astype(numpy.int64), numpy.array(list(chain.from_iterable(back)), numpy.uint32)


def plain(lists, sources, max_depth):
    """Search with a queue of Python; returns (vertex, predecessor, level) in its order."""
    queue = [(v, v, 0) for v in dict.fromkeys(sources)]
    seen = {v for v, _, _ in queue}
    for u, _, level in queue:
        for v in lists[u] if level < max_depth else ():
            if v not in seen:
                seen.add(v)
                queue.append((v, u, level + 1))
    return queue


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_search_finds_vertices_in_the_order_of_a_queue(graph, symmetric):
    rows, lists = rows_of(graph, symmetric)
    last = graph.vertex_count - 1
    for sources, depth in (([0], None), ([last], 2), ([last, 0, last], None), ([last // 2], 0)):
        found = search(*rows, sources, depth)
        expected = plain(lists, sources, graph.vertex_count if depth is None else depth)
        assert found.order.tolist() == [v for v, _, _ in expected]
        assert found.predecessor.tolist() == [u for _, u, _ in expected]
        levels = numpy.repeat(numpy.arange(len(found.level_offsets) - 1), numpy.diff(found.level_offsets))
        assert levels.tolist() == [level for _, _, level in expected]


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_predecessors_are_all_of_the_level_before(graph):
    rows, lists = rows_of(graph, True)
    found = search(*rows, [0])
    offsets, vertices = predecessors(*rows, found)
    level = {v: level for v, _, level in plain(lists, [0], graph.vertex_count)}
    for i, v in enumerate(found.order.tolist()):
        expected = [u for u in level if level[u] + 1 == level[v] and v in lists[u]]
        assert vertices[offsets[i] : offsets[i + 1]].tolist() == expected


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_a_path_is_a_shortest_one(graph, symmetric):
    rows, lists = rows_of(graph, symmetric)
    back = turned(lists)
    random = numpy.random.default_rng(1)
    for source in random.integers(0, graph.vertex_count, 5).tolist():
        level = {v: level for v, _, level in plain(lists, [source], graph.vertex_count)}
        for target in [source, *random.integers(0, graph.vertex_count, 8).tolist()]:
            found = path(rows, back, source, target)
            if target not in level:
                assert found is None
                continue
            steps = found.tolist()
            assert (steps[0], steps[-1], len(steps)) == (source, target, level[target] + 1)
            assert all(v in lists[u] for u, v in pairwise(steps))


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_labels_of_arcs_follow_from_the_levels(graph):
    rows, lists = rows_of(graph, False)
    level = {v: level for v, _, level in plain(lists, [0], graph.vertex_count)}
    tree = {(u, v) for v, u, _ in plain(lists, [0], graph.vertex_count)[1:]}
    tails, heads, labels = (each.tolist() for each in labelled_arcs(*rows, [0], symmetric=False))
    assert list(zip(tails, heads, strict=True)) == [(u, v) for u in level for v in lists[u]]
    for u, v, label in zip(tails, heads, labels, strict=True):
        step = level[v] - level[u]
        expected = TREE if (u, v) in tree else FORWARD if step > 0 else LEVEL if step == 0 else REVERSE
        assert label == expected


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_strong_components_are_those_of_scipy(graph):
    (offsets, columns), _ = rows_of(graph, False)
    bounds, members = strong_components(offsets, columns)
    ones = numpy.ones(len(columns), numpy.int8)
    matrix = csr_array((ones, columns.astype(numpy.int32), offsets), (graph.vertex_count,) * 2)
    count, label = connected_components(matrix, connection="strong")
    assert len(bounds) - 1 == count
    assert sorted(members.tolist()) == list(range(graph.vertex_count))
    for begin, end in pairwise(bounds):
        assert len(set(label[members[begin:end]].tolist())) == 1


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_core_numbers_by_removing_vertices_of_small_degree(graph, index):
    rows, lists = rows_of(graph, True, index)
    found = core_numbers(*rows).tolist()
    expected, left, k = {}, set(range(graph.vertex_count)), 0
    while left:
        while small := {v for v in left if sum(u in left for u in lists[v]) <= k}:
            expected.update(dict.fromkeys(small, k))
            left -= small
        k += 1
    assert found == [expected[v] for v in range(graph.vertex_count)]
