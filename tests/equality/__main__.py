"""Compares gravel with SciPy, igraph, networkit and NetworkX on every real graph and on random ones.

    python -m tests.equality                      # all of them: prints a table, exits with 1 on a difference
    python -m tests.equality --only karate cnr    # the graphs whose names begin so; `random` are the 200

Files are read by gravel and by `tests.workflows.real_graphs`. Below 5,000 vertices all pairs are compared,
above it distances from 32 drawn vertices. Weights are the file's where it has them; others are drawn, once
integers and once float32. Directed files are compared along arcs, against them and both ways.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy

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
from tests.equality.random_graphs import compare_random
from tests.equality.reference import reference
from tests.equality.table import HEADER, Table
from tests.workflows.real_graphs import RealGraph, graph_files, read

RANDOM = 200
"""Random graphs."""

LARGEST_WEIGHT = 100
"""Drawn integers begin at 0, and many paths are equally long."""


def compare_file(table: Table, path: Path) -> None:
    """Compare all of one file."""
    file = read(path)
    name = path.name
    undirected = reference(file.ids, file.source, file.target, directed=False)
    at = Comparison(table, name, gravel.graph(path, directed=False, cache=False), undirected)
    compare_measures(at)
    if not file.directed:
        compare_distances(at)
        compare_components(at)
        compare_pairs(at, "arcs")
    else:
        along = reference(file.ids, file.source, file.target, directed=True)
        at = Comparison(table, name, gravel.graph(path, directed=True, cache=False), along)
        compare_values(at)
        compare_distances(at)
        compare_components(at)
        compare_pairs(at, "arcs")
    for kind, graph, weights in weighted(path, file):
        lengths = reference(file.ids, file.source, file.target, weights, directed=file.directed)
        at = Comparison(table, name, graph, lengths)
        compare_paths(at, kind)
        compare_pairs(at, kind)


def weighted(path: Path, file: RealGraph) -> Any:
    """Yield kinds of weights, the graph with them, and the weights themselves."""
    if file.weight is not None:
        graph = gravel.graph(path, directed=file.directed, weights=True, cache=False)
        # Of float64, gravel keeps float32.
        yield "weights of the file", graph, file.weight.astype(numpy.float32)
        return
    random = numpy.random.default_rng(3)
    ends = file.ids[file.source], file.ids[file.target]
    integers = random.integers(0, LARGEST_WEIGHT, len(file.source))
    for kind, weights in (
        ("integers", integers.astype(numpy.int32)),
        ("float32", random.random(len(file.source), numpy.float32)),
    ):
        yield kind, gravel.graph(ends, directed=file.directed, weights=weights), weights


def main() -> None:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.equality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", help="beginnings of names")
    asked = parser.parse_args()

    def wanted(name: str) -> bool:
        return asked.only is None or name.startswith(tuple(asked.only))

    table = Table()
    print(HEADER)
    for path in sorted(graph_files(), key=lambda each: each.stat().st_size):
        if wanted(path.name):
            begun = time.perf_counter()
            compare_file(table, path)
            table.show(path.name)
            print(f"{path.name:34} {time.perf_counter() - begun:.1f} s", flush=True)
    if wanted("random"):
        compare_random(table, RANDOM)
        for name in sorted({key[0] for key in table.rows if key[0].startswith("random")}):
            table.show(name)
    values, different = sum(row.values for row in table.rows.values()), table.different()
    print(f"{len(table.rows):,} comparisons of {values:,} values, {len(different)} different")
    for graph, measure, peer in different:
        print(f"DIFFERENT: {graph}, {measure}, {peer}: {table.rows[graph, measure, peer]}")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
