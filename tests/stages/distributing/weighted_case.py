"""Files of weighted edges, their rows on one machine, and what a partition has of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy

from gravel.kernels.partition.layout import SUBGRAPHS, rank_from_arrays
from gravel.stages.artifacts import Graph, Partition, VertexIds
from gravel.stages.context import PlainContext
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from tests.kernels.partition.weighted_case import arcs_of
from tests.stages.distributing.files_case import random_ends, write_parquet

WEIGHTS = {
    "uint32": lambda draw, count: draw.integers(0, 50, count),
    "int32": lambda draw, count: draw.integers(-3, 50, count),
    "float32": lambda draw, count: draw.integers(0, 50, count) / 8 + draw.random(count) * 1e-3,
}
"""By the type in which they are stored: small enough for ties and zeros, and of parallel edges unlike."""


def write_text(path: Path, source: Any, target: Any, weight: Any) -> None:
    """Write edges as CSV with a header."""
    rows = zip(source.tolist(), target.tolist(), weight.tolist(), strict=True)
    path.write_text("source,target,weight\n" + "".join(f"{a},{b},{c!r}\n" for a, b, c in rows))


def write_weighted(folder: Path, kind: str, form: str, files: int, stored: str, **drawn: Any) -> list[str]:
    """Write a random graph as some files."""
    source, target = random_ends(kind, **drawn)
    weight = numpy.asarray(WEIGHTS[stored](numpy.random.default_rng(9), len(source)))
    names = []
    for number in range(files):
        rows = slice(len(source) * number // files, len(source) * (number + 1) // files)
        path = folder / f"{number}.{form}"
        if form == "csv":
            write_text(path, source[rows], target[rows], weight[rows])
        else:
            write_parquet(path, source[rows], target[rows], weight=weight[rows])
        names.append(str(path))
    return names


def on_one_machine(weights: str, **asked: Any) -> tuple[VertexIds, Graph]:
    """Make the graph as one machine does."""
    edges, ids = ingest(PlainContext(), IngestParameters(**asked))
    return ids, symmetrize(PlainContext(), SymmetrizeParameters(weights=weights), input=edges)


def assert_has_weights_of(split: Partition, graph: Graph) -> None:
    """Compare the weight of each arc of a partition with that of the same arc of rows."""
    assert graph.weights is not None
    heads = numpy.repeat(numpy.arange(graph.vertex_count, dtype=numpy.uint64), numpy.diff(graph.row_offsets))
    keys = heads << numpy.uint64(32) | graph.column_indices
    whole = SimpleNamespace(ranks=split.ranks, delegates=split.delegates)
    found = 0
    for rank in range(split.ranks):
        part = rank_from_arrays(split.arrays, rank)
        for name in SUBGRAPHS:
            ends, weights = arcs_of(whole, part, name), part.weights[name]
            places = numpy.searchsorted(keys, ends)
            assert numpy.array_equal(keys[places], ends)
            assert weights.dtype == graph.weights.dtype
            assert numpy.array_equal(weights, graph.weights[places])
            found += len(ends)
    assert found == graph.arc_count == split.arc_count
