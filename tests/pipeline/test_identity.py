"""Ids recomputed from stored arrays, whatever way chunks, shards and leaves cut them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from blake3 import blake3

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.faults import find_fault, find_faults
from gravel.pipeline.store.records import ArtifactRecord, seal, unseal
from gravel.pipeline.store.writer import ArtifactWriter
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Partition, Traversal
from tests.pipeline.samples import each_kind, graph


def stored(cache: Cache, artifact: Artifact, **sizes: int) -> ArtifactRecord:
    with ArtifactWriter(cache, **sizes) as writer:
        return writer.publish(artifact)


def searches(rows: int, vertices: int) -> Traversal:
    random = numpy.random.default_rng(0)
    return Traversal(
        algorithm="bfs",
        sources=numpy.arange(rows, dtype=numpy.int64),
        distance=random.integers(-1, 2**31 - 1, (rows, vertices), numpy.int32),
        predecessor=random.integers(-1, 9, (rows, vertices), numpy.int64),
        vertex_count=vertices,
    )


def test_every_kind_has_the_id_that_it_was_published_under(tmp_path):
    records = [stored(Cache(tmp_path), artifact) for artifact in each_kind()]
    assert find_faults(records) == {}


@pytest.mark.parametrize(
    ("rows", "vertices", "sizes"),
    [
        (3, 700_001, {}),
        (1, 3_000_017, {}),
        (700, 1_001, {}),
        (3, 700_001, {"chunk_bytes": 300_000, "shard_bytes": 1_700_000}),
        (5, 123_457, {"chunk_bytes": 7_000, "shard_bytes": 50_000}),
        (0, 40, {}),
    ],
)
def test_leaves_go_across_chunks_and_shards(tmp_path, rows, vertices, sizes):
    record = stored(Cache(tmp_path), searches(rows, vertices), **sizes)
    assert find_fault(record) is None


@pytest.mark.parametrize("width", [3, 7, 999_983])
def test_arrays_of_three_axes(tmp_path, width):
    values = numpy.random.default_rng(1).integers(0, 255, (2, 3, width), numpy.uint8)
    arrays = {"rank0/cube": values, "empty": numpy.empty((4, 0), numpy.uint8)}
    shape = {"vertex_count": 40, "arc_count": 3, "symmetric": False}
    partition = Partition(
        arrays=arrays, delegates=numpy.empty(0, numpy.uint32), ranks=1, threshold=8, **shape
    )
    assert find_fault(stored(Cache(tmp_path), partition)) is None
    assert find_fault(stored(Cache(tmp_path / "b"), partition, chunk_bytes=1000, shard_bytes=9000)) is None


def forge(cache: Cache, record: ArtifactRecord, change: dict[str, object]) -> ArtifactRecord:
    """Write a sealed record that says something else."""
    name = f"artifacts/{record.id}.json"
    found = cache.files.read(name)
    assert found is not None
    cache.files.replace(name, seal({**unseal(found[0]), **change}))
    return cache.describe(record.id)


def forge_file(cache: Cache, record: ArtifactRecord, path: str, text: bytes) -> ArtifactRecord:
    """Write another file and the record that fits it."""
    (record.path / path).write_bytes(text)
    files = [
        [file.path, len(text), blake3(text).hexdigest()]
        if file.path == path
        else [file.path, file.size, file.blake3]
        for file in record.files
    ]
    return forge(cache, record, {"files": files})


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", lambda message: None)


def test_what_a_record_says_of_other_content_is_found(cache):
    record = stored(cache, graph())
    body = unseal((cache.root / f"artifacts/{record.id}.json").read_bytes())
    lies = [
        ({"kind": "EdgeList"}, "its content is not what its id says"),
        ({"absent": ["column_indices"]}, "says that column_indices is absent"),
        ({"bytes": 1}, "its record says 1 bytes"),
        ({"arrays": {**body["arrays"], "row_offsets": ["int64", [7]]}}, "unlike its record"),
        ({"arrays": {**body["arrays"], "more": ["int64", [7]]}}, "does not name more/zarr.json"),
        ({"files": [file for file in body["files"] if file[0] != "zarr.json"]}, "does not name zarr.json"),
        ({"files": [file for file in body["files"] if "offsets/c" not in file[0]]}, "row_offsets/c/0"),
    ]
    for change, told in lies:
        assert told in (find_fault(forge(cache, record, {**body, **change})) or "")
    assert find_fault(forge(cache, record, body)) is None


def test_files_that_are_whole_and_of_another_artifact_are_found(cache):
    one, other = stored(cache, graph(seed=0)), stored(cache, graph(seed=1))
    path = "row_offsets/c/0"
    text = (other.path / path).read_bytes()
    assert "not what its id says" in (find_fault(forge_file(cache, one, path, text)) or "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"data_type": "int32"}, "unlike its record"),
        ({"shape": [-1]}, ""),
        ({"shape": []}, ""),
        ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}}, ""),
        ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 60]}}}, ""),
        ({"node_type": "group"}, "not of a gravel array"),
    ],
)
def test_a_layout_that_gravel_does_not_write_is_refused(cache, change, told):
    record = stored(cache, graph())
    path = "row_offsets/zarr.json"
    text = json.dumps({**json.loads((record.path / path).read_bytes()), **change}).encode()
    fault = find_fault(forge_file(cache, record, path, text))
    assert fault is not None
    assert told in fault
