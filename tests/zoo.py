"""Small graphs that every kernel and stage is run over, and SciPy's answers for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy
import pytest
from scipy.sparse import csgraph, csr_array

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
"""Real graphs that lie beside a checkout; tests that need them skip where they are missing."""

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real graphs at {DATA}")


@dataclass(frozen=True)
class ZooGraph:
    """Edges as pairs, with what makes the graph worth testing in its name."""

    name: str
    vertex_count: int
    source: numpy.ndarray
    target: numpy.ndarray

    def csr(
        self, *, symmetric: bool = True, index: type = numpy.uint32, raw: bool = False
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Sorted rows, made the slow and obvious way; `raw` keeps duplicate arcs and self-loops."""
        arcs = [(int(u), int(v)) for u, v in zip(self.source, self.target, strict=True) if raw or u != v]
        if symmetric:
            arcs += [(v, u) for u, v in arcs]
        ordered = sorted(arcs if raw else set(arcs))
        offsets = numpy.zeros(self.vertex_count + 1, numpy.int64)
        for u, _ in ordered:
            offsets[u + 1] += 1
        return numpy.cumsum(offsets), numpy.array([v for _, v in ordered], dtype=index)


def _graph(name: str, vertex_count: int, pairs: list[tuple[int, int]]) -> ZooGraph:
    array = numpy.array(pairs, dtype=numpy.uint32).reshape(-1, 2)
    return ZooGraph(name, vertex_count, array[:, 0].copy(), array[:, 1].copy())


def zoo() -> Iterator[ZooGraph]:
    """Every small graph; each is there because some kernel could get it wrong."""
    return iter(_zoo())


@cache
def _zoo() -> tuple[ZooGraph, ...]:
    return tuple(_made())


def _made() -> Iterator[ZooGraph]:
    yield _graph("empty", 0, [])
    yield _graph("one_vertex", 1, [])
    yield _graph("one_loop", 1, [(0, 0)])
    yield _graph("all_isolated", 70, [])
    yield _graph("one_edge", 2, [(0, 1)])
    yield _graph("path_33", 33, [(i, i + 1) for i in range(32)])
    yield _graph("path_1000", 1000, [(i, i + 1) for i in range(999)])
    yield _graph("cycle_64", 64, [(i, (i + 1) % 64) for i in range(64)])
    yield _graph("star_300", 300, [(0, i) for i in range(1, 300)])
    yield _graph("star_last_hub", 2000, [(1999, i) for i in range(1999)])
    yield _graph("complete_40", 40, [(i, j) for i in range(40) for j in range(i + 1, 40)])
    yield _graph("two_parts", 10, [(0, 1), (1, 2), (5, 6), (6, 7), (8, 9)])
    yield _graph("duplicates_and_loops", 6, [(0, 1), (0, 1), (1, 0), (2, 2), (2, 3), (3, 2), (4, 4)])
    yield _graph("directed_chain_back", 5, [(4, 3), (3, 2), (2, 1), (1, 0)])
    grid = [(r * 17 + c, r * 17 + c + 1) for r in range(13) for c in range(16)]
    grid += [(r * 17 + c, r * 17 + c + 17) for r in range(12) for c in range(17)]
    yield _graph("grid_13x17", 13 * 17, grid)
    random = numpy.random.default_rng(7)
    sparse = random.integers(0, 500, (600, 2))
    yield _graph("sparse_random", 500, [(int(u), int(v)) for u, v in sparse])
    skewed = (random.random((6000, 2)) ** 4 * 1500).astype(int)
    yield _graph("skewed_random", 1500, [(int(u), int(v)) for u, v in skewed])
    tree = [(int(random.integers(0, i)), i) for i in range(1, 777)]
    yield _graph("random_tree", 777, tree)
    # The one hub's arcs take many chunks, and the chain many levels; isolated vertices at both ends.
    hub = [(200, i) for i in range(1, 1150) if i != 200]
    yield _graph("hub_and_chain", 1500, hub + [(i, i + 1) for i in range(1149, 1449)])
    box = numpy.arange(9 * 6 * 5).reshape(9, 6, 5)
    ends = [(box[:-1], box[1:]), (box[:, :-1], box[:, 1:]), (box[:, :, :-1], box[:, :, 1:])]
    box_pairs = [
        (int(u), int(v)) for near, far in ends for u, v in zip(near.ravel(), far.ravel(), strict=True)
    ]
    yield _graph("lattice_9x6x5", box.size, box_pairs)
    many = random.integers(0, 40, (900, 2))
    yield _graph("many_duplicates", 44, [(int(u), int(v)) for u, v in many])
    tail = [(i, j) for i in range(30) for j in range(i)] + [(i, i + 1) for i in range(29, 59)]
    yield _graph("tail_on_clique", 60, tail)


def scipy_distances(row_offsets: numpy.ndarray, column_indices: numpy.ndarray, source: int) -> numpy.ndarray:
    """Hops from the source by SciPy, int32, -1 where unreached."""
    n = len(row_offsets) - 1
    matrix = csr_array(
        (numpy.ones(len(column_indices), numpy.int8), column_indices.astype(numpy.int64), row_offsets), (n, n)
    )
    hops = csgraph.dijkstra(matrix, unweighted=True, indices=source)
    return numpy.where(numpy.isinf(hops), -1, hops).astype(numpy.int32)


def scipy_components(row_offsets: numpy.ndarray, column_indices: numpy.ndarray) -> numpy.ndarray:
    """The smallest vertex of each vertex's weak component, by SciPy."""
    n = len(row_offsets) - 1
    if n == 0:
        return numpy.empty(0, numpy.int64)
    matrix = csr_array(
        (numpy.ones(len(column_indices), numpy.int8), column_indices.astype(numpy.int64), row_offsets), (n, n)
    )
    count, labels = csgraph.connected_components(matrix, directed=True, connection="weak")
    smallest = numpy.full(count, n, numpy.int64)
    numpy.minimum.at(smallest, labels, numpy.arange(n))
    return smallest[labels]
