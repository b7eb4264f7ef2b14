"""Ids recomputed from stored arrays, and records that claim something else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from blake3 import blake3

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.reader import find_fault
from gravel.pipeline.store.records import ArtifactRecord, seal, unseal
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Partition, Traversal
from tests.pipeline.samples import graph


def stored(cache: Cache, artifact: Artifact) -> ArtifactRecord:
    with cache.writer() as writer:
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


@pytest.mark.parametrize(
    ("rows", "vertices"), [(3, 700_001), (1, 3_000_017), (700, 1_001), (5, 123_457), (0, 40)]
)
def test_leaves_go_across_rows(tmp_path, rows, vertices):
    assert find_fault(stored(Cache(tmp_path), searches(rows, vertices))) is None


@pytest.mark.parametrize("width", [3, 7, 999_983])
def test_arrays_of_three_axes(tmp_path, width):
    values = numpy.random.default_rng(1).integers(0, 255, (2, 3, width), numpy.uint8)
    arrays = {"rank0/cube": values, "empty": numpy.empty((4, 0), numpy.uint8)}
    shape = {"vertex_count": 40, "arc_count": 3, "symmetric": False}
    partition = Partition(
        arrays=arrays, delegates=numpy.empty(0, numpy.uint32), ranks=1, threshold=8, **shape
    )
    assert find_fault(stored(Cache(tmp_path), partition)) is None


def forge(cache: Cache, record: ArtifactRecord, change: dict[str, object]) -> ArtifactRecord:
    """Write a sealed record that says something else."""
    name = f"artifacts/{record.id}.json"
    found = cache.files.read(name)
    assert found is not None
    cache.files.replace(name, seal({**unseal(found[0]), **change}))
    return cache.describe(record.id)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, told: list[str]) -> Cache:
    return Cache(tmp_path / "cache", told.append)


def test_what_a_record_says_of_other_content_is_found(cache):
    record = stored(cache, graph())
    body = unseal((cache.root / f"artifacts/{record.id}.json").read_bytes())
    lies = [
        ({"kind": "EdgeList"}, "its content is not what its id says"),
        ({"absent": ["column_indices"]}, "says that column_indices is absent"),
        ({"bytes": 1}, "its record says 1 bytes"),
    ]
    for change, told in lies:
        assert told in (find_fault(forge(cache, record, {**body, **change})) or "")
    assert find_fault(forge(cache, record, body)) is None


def test_a_record_whose_files_are_not_those_of_its_arrays_is_damaged(cache, told):
    record = stored(cache, graph())
    body = unseal((cache.root / f"artifacts/{record.id}.json").read_bytes())
    files = body["files"]
    lies = [
        ({"arrays": {**body["arrays"], "row_offsets": ["int64", [7]]}}, "and its dtype and shape make"),
        ({"arrays": {**body["arrays"], "more": ["int64", [7]]}}, "not those of an artifact's record"),
        ({"files": [file for file in files if file[0] != "zarr.json"]}, "does not name zarr.json"),
        ({"files": [file for file in files if "offsets/c" not in file[0]]}, "row_offsets/c/0"),
        ({"files": [*files, ["more/c/0", 8, None]]}, "which belongs to none of its arrays"),
        ({"files": [*files, files[0]]}, "twice"),
        ({"files": [[path, size, None] for path, size, _ in files]}, "no digest of"),
    ]
    for change, problem in lies:
        cache.files.replace(f"artifacts/{record.id}.json", seal({**body, **change}))
        assert cache.find(record.id) is None
        assert problem in told.pop()


def test_files_that_are_whole_and_of_another_artifact_are_found(cache):
    one, other = stored(cache, graph(seed=0)), stored(cache, graph(seed=0, vertices=40))
    path = "row_offsets/c/0"
    (one.path / path).write_bytes(bytes((other.path / path).stat().st_size))
    assert "are not what was written" in (find_fault(one) or "")


@pytest.mark.parametrize("change", [{"data_type": "int32"}, {"shape": [-1]}, {"node_type": "group"}])
def test_a_layout_that_gravel_does_not_write_is_refused(cache, told, change):
    record = stored(cache, graph())
    path = "row_offsets/zarr.json"
    text = json.dumps({**json.loads((record.path / path).read_bytes()), **change}).encode()
    size = (record.path / path).stat().st_size
    (record.path / path).write_bytes(text.ljust(size)[:size])
    files = [
        [file.path, file.size, blake3((record.path / path).read_bytes()).hexdigest()]
        if file.path == path
        else [file.path, file.size, file.blake3]
        for file in record.files
    ]
    fault = find_fault(forge(cache, record, {"files": files}))
    assert "is not that of an array of its dtype and shape" in (fault or "")
