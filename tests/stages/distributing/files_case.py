"""Files of a graph, and what one machine makes of them: `ingest`, `symmetrize`, `partition`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet

from gravel.stages.artifacts import EdgeList, Graph, Partition, VertexIds
from gravel.stages.context import PlainContext
from gravel.stages.distribute import distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize


def random_ends(kind: str, edges: int = 600, vertices: int = 150, seed: int = 1) -> tuple[Any, Any]:
    """Draw edges with loops and duplicates, a few vertices busy, under ids of a kind."""
    draw = numpy.random.default_rng(seed)
    source = (vertices * draw.random(edges) ** 3).astype(numpy.int64)
    target = draw.integers(0, vertices, edges)
    if kind == "dense":
        return source, target
    if kind == "sparse":
        ids = numpy.unique(draw.integers(0, 1 << 62, 2 * vertices))[:vertices]
        return ids[source], ids[target]
    names = numpy.array([f"{'é' * (v % 3)}{v * 7919 % 1000}-{'x' * (v % 20)}" for v in range(vertices)])
    return names[source], names[target]


def write_parquet(path: Path, source: Any, target: Any, **more: Any) -> None:
    """Write edges as Parquet."""
    pyarrow.parquet.write_table(pyarrow.table({"source": source, "target": target, **more}), path)


def write_text(path: Path, source: Any, target: Any) -> None:
    """Write edges as CSV."""
    lines = [f"{a},{b}" for a, b in zip(source.tolist(), target.tolist(), strict=True)]
    path.write_text("\n".join(["source,target", *lines]) + "\n")


WRITERS = {"parquet": write_parquet, "csv": write_text}


def write_files(folder: Path, kind: str, form: str, files: int, **drawn: Any) -> list[str]:
    """Write a random graph as some files."""
    source, target = random_ends(kind, **drawn)
    names = []
    for number in range(files):
        rows = slice(len(source) * number // files, len(source) * (number + 1) // files)
        path = folder / f"{number}.{form}"
        WRITERS[form](path, source[rows], target[rows])
        names.append(str(path))
    return names


def on_one_machine(ranks: int, threshold: Any, **asked: Any) -> tuple[EdgeList, VertexIds, Graph, Partition]:
    """Make the graph as one machine does."""
    edges, ids = ingest(PlainContext(), IngestParameters(**asked))
    graph = symmetrize(PlainContext(), SymmetrizeParameters(), input=edges)
    split = partition(PlainContext(), PartitionParameters(ranks=ranks, threshold=threshold), input=graph)
    return edges, ids, graph, split


def over_ranks(ranks: int, threshold: Any, **asked: Any) -> tuple[Partition, VertexIds]:
    """Make it on its ranks, threads of this process."""
    found = distribute(PlainContext(), DistributeParameters(ranks=ranks, threshold=threshold, **asked))
    assert isinstance(found[0], Partition)
    return found[0], found[1]


def assert_same(found: Any, expected: Any) -> None:
    """Compare artifacts field by field: values, types and counts."""
    assert type(found) is type(expected)
    for name, wanted in vars(expected).items():
        got = getattr(found, name)
        if isinstance(wanted, Mapping) and any(hasattr(each, "dtype") for each in wanted.values()):
            assert got.keys() == wanted.keys()
            _assert_arrays([got[key] for key in wanted], list(wanted.values()), list(wanted))
        elif hasattr(wanted, "dtype"):
            _assert_arrays([got], [wanted], [name])
        else:
            assert got == wanted, name


def _assert_arrays(found: Sequence[Any], expected: Sequence[Any], names: Sequence[str]) -> None:
    for got, wanted, name in zip(found, expected, names, strict=True):
        assert got.dtype == wanted.dtype, name
        assert numpy.array_equal(got, wanted), name
