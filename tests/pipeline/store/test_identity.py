"""Ids recomputed from stored arrays, and records that claim something else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from blake3 import blake3

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.identity import identify
from gravel.pipeline.store.reader import find_fault
from gravel.pipeline.store.records import ArtifactRecord, seal, unseal
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import EdgeList, Partition, Traversal
from tests.pipeline.samples import each_kind, equal, graph
from tests.pipeline.tiny_stages import graph_of


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


ARRAYS = {
    "empty": numpy.zeros(0, numpy.int64),
    "one": numpy.array([7]),
    "a MiB": numpy.arange(1 << 17),
    "a byte more": numpy.arange((1 << 20) + 1).astype(numpy.uint8),
    "large": numpy.arange(5 << 20, dtype=numpy.uint32),
    "strided": numpy.arange(1 << 18)[::3],
    "big-endian": numpy.arange(1000).astype(">i8"),
    "bool": numpy.arange(99) % 3 == 0,
    "columns": numpy.arange(60_000, dtype=numpy.int32).reshape(3, 20_000),
    "fortran": numpy.asfortranarray(numpy.arange(60_000).reshape(300, 200)),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_id_in_memory_is_that_of_the_store(tmp_path: Path, name: str, threads: int) -> None:
    artifact = graph_of(ARRAYS[name])
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(artifact)
    assert identify(artifact, threads) == record.id
    assert identify(Cache(tmp_path).open(record.id), threads) == record.id


def test_what_cannot_be_identified_is_refused_as_the_store_does() -> None:
    with pytest.raises(TypeError, match="complex128 cannot be stored"):
        identify(graph_of(numpy.zeros(3, numpy.complex128)))
    edges = EdgeList(
        source=numpy.zeros(1, numpy.uint32),
        target=numpy.zeros(1, numpy.uint32),
        vertex_count=float("nan"),  # type: ignore[arg-type]
        undirected=False,
    )
    with pytest.raises(ValueError, match="which has no such number"):
        identify(edges)


IDS = """\
862b25e4f8f9772fd166acbb2f56479ca0d0229c074069675c07aa9130f3e784
e07842812b5eca41329444c6814bfba85a8a94fdc332465ae1a3bd07f0269f4c
effef47e30832bacd42c8fbd5848dc283f477399c1a08cbf871882d973485c74
4e99d91e75186bdc05ef203367ed35ebbd800dde366a18eddeffd685d412568a
a282add6ad372e9f50cc62b141c90d7ebc083b728d248b28e1ca05427567d0ed
8434581412d4b6414065e937bee66df7a595ecb156f0dee801305cceb29e1e14
3c947f656dd63e4bc267262102b54b9dd9bfc51431effcf4a4f52975cbb47e2d
87e97e20c4ccef153807d588a3a22e76682fac98f723d69776dcbd992b01d8d7
4ca9b3fed78b236980da872984e3ef7271a929e5573d84fea535c1921dc491d1
c63e6083d053f6c9613eab4e0d7d3dec58ef056f376f1c9f6e7e0f3bc2ae37a7
42a540e0f222990233d42f0a7f78188c3963d256999d2830812ef0de067e07f4
b071e74b6af434329f557648664b6039f7fea7025ed4a72dcf081c3b7d384c4c
cb175914659a82dfdb5fe407d056fbeb5ff7c923d9078f1870b677cf5fab4ead
52fbaddb8f9252644e9452e9e76e7a9c1a80cc027abe69cfb398496966c606b5
fe2564664bdcbc8192f18e4741a6b102e2ad0a5430f39c79b2b55573d870e173
6d70e68c873ba3f6d568da2ce971868ddfe546db4e593ecd75d677679b053755
6e9661896716853fab98f34c9dbd68aaf7f8f59dc626354cc5b7b342a3b2b1d6
816b6e2db881a5a871e96cb37e607c638691928d09bbde39ef39abcc80c7cf8b
6cf0236e82625aff54172bf5ef011f037c5db4174d57113972a0b87663458fbf
b18e364cfd34f6e1cf5a941be1a8929e9cb512141e51a3d3c3f99300547ba937
5502199c8d994083371932565b96e50a6c9d159a74e9ca0b4dd3407d4845ee87
73db193e202a103c7fe656b4aa84448860ca8e78eca517ec8870a876ead53a9d
eae225e1ddb705c3bb369e3c5d97c604bc4f159d491c864fb70c6d5aba786e35
e7cbe2c8463baed93d4d6d4af346ff09562488eead8598ab73fd2c80e187677c
909eefab671efba4c32a89edfd287a5e49ba111cdeac4e8a839c752708ffbc6e
1cdec094babe1d4a3a19c6114ea1ed9fd7b6714d3918da2708ff8ec5cf86512c
"""


def artifacts() -> list[Artifact]:
    """One of every kind, and arrays that are larger than a leaf of the id, in several shapes and orders."""
    words = numpy.random.default_rng(4).integers(0, 2**32, 800_003, numpy.uint32)
    signed = words.view(numpy.int32)
    return [
        *each_kind(),
        Traversal(algorithm="components", component=words, vertex_count=len(words)),
        Traversal(algorithm="components", component=words[: 1 << 18], vertex_count=1 << 18),
        Traversal(
            algorithm="bfs",
            sources=numpy.arange(2),
            distance=signed[:800_000].reshape(2, 400_000),
            vertex_count=400_000,
        ),
        Traversal(algorithm="bfs", distance=signed[:800_001].reshape(-1, 3), vertex_count=3),
        EdgeList(source=words[::2], target=words[1::2], vertex_count=2**32, undirected=True),
        EdgeList(
            source=words.astype(">u4"),
            target=words,
            weight=words.astype(">f8"),
            vertex_count=2**32,
            undirected=False,
        ),
    ]


def test_ids_are_those_that_were_recorded(tmp_path: Path) -> None:
    given = artifacts()
    assert [identify(each) for each in given] == IDS.split()
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        assert [writer.publish(each).id for each in given] == IDS.split()
    assert cache.verify().damaged == {}
    little_endian = given[:-1]
    assert all(equal(cache.open(name), each) for name, each in zip(IDS.split(), little_endian, strict=False))
