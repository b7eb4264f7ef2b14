"""Random graphs with ties, weights of zero, parallel edges, several components and unreached vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from scipy.sparse import coo_array

import gravel
from tests.equality.measures import (
    Comparison,
    compare_components,
    compare_distances,
    compare_measures,
    compare_pairs,
    compare_paths,
    compare_values,
)
from tests.equality.reference import reference
from tests.equality.table import Table


@dataclass(frozen=True)
class RandomGraph:
    """Edges between `count` vertices; weights are int32, or float32 that are multiples of 1/4."""

    count: int
    source: numpy.ndarray
    target: numpy.ndarray
    weights: numpy.ndarray
    directed: bool
    merge: str


def random_graph(seed: int) -> RandomGraph:
    """Draw a graph; of each few seeds some are directed, some have floats, and some add up duplicates."""
    random = numpy.random.default_rng(seed)
    count = int(random.integers(2, 60))
    # Blocks without edges between them are components, and what is left over is isolated.
    blocks = random.integers(0, int(random.integers(1, 4)), count)
    edges = random.integers(0, count, (2, int(random.integers(1, 3 * count))))
    edges = edges[:, blocks[edges[0]] == blocks[edges[1]]]
    again = edges[:, random.random(edges.shape[1]) < 0.3]
    turned = again[:, random.random(again.shape[1]) < 0.5][::-1]
    source, target = numpy.concatenate([edges, again, turned], axis=1)
    # Few different weights make ties of most paths, and a quarter are zero.
    weights = random.integers(0, 4, len(source))
    floats = seed % 4 >= 2
    return RandomGraph(
        count,
        source,
        target,
        (weights / 4).astype(numpy.float32) if floats else weights.astype(numpy.int32),
        directed=bool(seed % 2),
        merge="sum" if seed % 3 == 0 else "minimum",
    )


def compare_random(table: Table, graphs: int, first: int = 0) -> None:
    """Compare so many graphs, in two rows of each measure: directed and undirected ones."""
    for seed in range(first, first + graphs):
        drawn = random_graph(seed)
        name = f"random, {'directed' if drawn.directed else 'undirected'}"
        ids = numpy.arange(drawn.count)
        ends = drawn.source, drawn.target
        along = reference(ids, *ends, directed=drawn.directed)
        shape = (drawn.count, drawn.count)
        # A sparse matrix keeps isolated vertices, arrays of ends have those with edges alone.
        entries = coo_array((numpy.ones(len(drawn.source)), ends), shape)
        at = Comparison(table, name, gravel.graph(entries, directed=drawn.directed), along)
        compare_distances(at)
        compare_components(at)
        compare_pairs(at, "arcs")
        (compare_values if drawn.directed else compare_measures)(at)
        lengths = reference(ids, *ends, drawn.weights, directed=drawn.directed, merge=drawn.merge)
        weighted = gravel.graph(ends, directed=drawn.directed, weights=drawn.weights, duplicates=drawn.merge)
        if not len(weighted):
            continue
        at = Comparison(table, name, weighted, lengths)
        kind = "float32" if drawn.weights.dtype.kind == "f" else "integers"
        compare_paths(at, kind)
        compare_pairs(at, kind)
