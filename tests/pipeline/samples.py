"""Small artifacts of every kind, and what fills a recipe."""

from __future__ import annotations

from pathlib import Path

import numpy

from gravel.pipeline.core.hashing import Recipe, digest
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import ArtifactRecord
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import (
    CompressedGraph,
    Counters,
    DistributedGraph,
    EdgeList,
    Graph,
    Links,
    Measurement,
    Ordering,
    Partition,
    Probe,
    Report,
    Traversal,
    Verification,
    VertexIds,
)


def graph(vertices: int = 40, seed: int = 0) -> Graph:
    random = numpy.random.default_rng(seed)
    degrees = random.integers(0, 9, vertices)
    arcs = int(degrees.sum())
    return Graph(
        row_offsets=numpy.concatenate(([0], numpy.cumsum(degrees))).astype(numpy.int64),
        column_indices=random.integers(0, max(1, vertices), arcs).astype(numpy.uint32),
        vertex_count=vertices,
        arc_count=arcs,
        symmetric=False,
        deduplicated=False,
    )


def each_kind() -> list[Artifact]:
    plain, random = graph(), numpy.random.default_rng(1)
    columns, permutation = numpy.asarray(plain.column_indices), random.permutation(40).astype(numpy.uint32)
    shape = {"vertex_count": 40, "arc_count": plain.arc_count, "symmetric": False}
    cpu = {"backend": "cpu", "hardware": "cpu"}
    statistics = {"bandwidth": 3, "mean_gap": 1.5, "nested": {"list": [1, 2.0, None, True, "ä"]}}
    ranks = {
        "rank0/nn/row_offsets": numpy.arange(5, dtype=numpy.uint32),
        **{"rank0/nn/column_indices": columns, "rank1/mask": columns > 7},
        "empty": numpy.empty(0, numpy.uint16),
    }
    wide = columns.astype(numpy.uint64) + numpy.uint64(2**33)
    ordered = {"row_offsets": plain.row_offsets, "column_indices": wide, "permutation": permutation}
    generator = {"name": "rmat", "arguments": {"scale": 5, "edge_factor": 8, "seed": 1}}
    thresholds = {"delegates": 3, "thresholds": [{"threshold": 0, "delegates": 30}]}
    packed = {
        "byte_offsets": numpy.arange(41, dtype=numpy.int64),
        "stream": numpy.arange(40, dtype=numpy.uint8),
    }
    labels = {
        "distance": numpy.arange(-1, 79, dtype=numpy.int32).reshape(2, 40),
        "predecessor": numpy.arange(80, dtype=numpy.int64).reshape(2, 40),
    }
    three = numpy.array([3], numpy.int64)
    checks = [[{"name": "tree", "rule": "it is one", "faults": 0, "vertices": [], "arcs": []}]]
    levels = [{"vertices": 1, "direction": "push"}]
    search = {"source": 3, "milliseconds": 0.5}
    measured = {"strategy": "top_down", "searches": [{**search, "levels": levels}]}
    part = {"part": "gather", "method": "warp", "schedule": "stealing"}
    probed = {"parts": [part], "searches": [{"source": 3, "milliseconds": [0.5], "passed": [None]}]}
    curve = {"transport": "wire", "pattern": "meet", "points": [{"bytes": 0, "seconds": 1e-6}]}
    counted = {"why": "the searches ran on the CPU", "totals": {"dram__bytes_read.sum": None}}
    return [
        EdgeList(source=columns, target=columns[::-1], vertex_count=40, undirected=True),
        EdgeList(source=columns, target=columns, weight=columns * 0.1, vertex_count=40, undirected=False),
        VertexIds(ids=numpy.arange(40, dtype=numpy.int64) * 2**40, vertex_count=40),
        VertexIds(first=1, vertex_count=40),
        plain,
        graph(0),
        Ordering(deduplicated=True, method="rcm", statistics=statistics, **ordered, **shape),
        Partition(arrays=ranks, delegates=columns[:3], ranks=2, threshold=8, **shape),
        Partition(arrays={}, delegates=columns[:0], ranks=1, threshold=8, permutation=permutation, **shape),
        DistributedGraph(
            generator=generator, ranks=2, threshold=8, vertex_count=32, arc_count=300, statistics=thresholds
        ),
        CompressedGraph(codec="varint", deduplicated=True, **packed, **shape),
        Traversal(algorithm="bfs", sources=numpy.array([3, 5], numpy.int64), vertex_count=40, **labels),
        Traversal(algorithm="bfs", sources=three, vertex_count=40, checks=checks),
        Traversal(algorithm="components", component=columns, vertex_count=40, max_depth=3),
        Measurement(algorithm="bfs", reason="asked for", prepare_milliseconds=1.25, **cpu, **measured),
        Probe(measure="gather", block=256, repeats=3, floor_milliseconds=0.0, **probed, **cpu),
        Links(ranks=2, hosts=1, total=1024, curves=[curve], **cpu),
        Counters(strategy="top_down", searches=[search], **counted, **cpu),
        Verification(algorithm="bfs", checks=[{"check": "levels", "passed": True}]),
        Report(title="A report", sections=[{"kind": "figure", "svg": "<svg/>"}]),
    ]


def recipe(name: str = "a", inputs: tuple[str, ...] = ()) -> Recipe:
    parts = {"stage": "symmetrize", "version": 1, "parameters": {"name": name}, "files": {}, "hardware": None}
    parts |= {"inputs": {"input": list(inputs)}}
    return Recipe(digest(parts), parts)


def provenance(key: str = "graph") -> dict[str, object]:
    run = {"workflow": "small.yaml", "run": "20260101-000000-small-0000", "started": 1.0e9, "seconds": 0.25}
    machine = {"host": "here", "user": "me", "hardware": "a CPU"}
    versions = {"python": "3.11", "gravel": "0.1.0"}
    return {"stage": "symmetrize", "key": key, **run, **machine, "versions": versions}


def publish(
    cache: Cache, artifact: Artifact, name: str = "a", inputs: tuple[str, ...] = ()
) -> ArtifactRecord:
    with cache.writer() as writer:
        record = writer.publish(artifact)
    cache.remember(recipe(name, inputs), (record.id,), provenance())
    return record


def equal(one: Artifact, other: Artifact) -> bool:
    """Whether two artifacts say the same, dtypes included."""
    if type(one) is not type(other):
        return False
    return all(_equal(value, getattr(other, name)) for name, value in vars(one).items())


def _equal(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if hasattr(one, "dtype") and hasattr(other, "dtype"):
        left, right = numpy.asarray(one), numpy.asarray(other)
        return one.dtype == other.dtype and left.shape == right.shape and bool((left == right).all())
    return type(one) is type(other) and one == other


def shards(record: ArtifactRecord) -> list[Path]:
    """The files of an artifact that hold data."""
    return [record.path / file.path for file in record.files if not file.path.endswith("zarr.json")]
