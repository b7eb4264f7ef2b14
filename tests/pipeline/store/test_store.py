from __future__ import annotations

import os
import pickle
import tracemalloc

import numpy
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache
from gravel.stages.artifacts import Partition, Traversal
from gravel.stages.stage import Extent
from tests.pipeline.samples import each_kind, equal, graph, provenance, publish, recipe, shards

KINDS = each_kind()
DTYPES = ["bool", "float32", "float64", *(f"{sign}int{8 << bits}" for sign in ("", "u") for bits in range(4))]


@pytest.mark.parametrize("artifact", KINDS, ids=[f"{i}-{type(a).__name__}" for i, a in enumerate(KINDS)])
def test_every_kind_comes_back_as_it_was(tmp_path, artifact):
    cache = Cache(tmp_path)
    record = publish(cache, artifact)
    assert cache.check(record.id) is None
    described = cache.describe(record.id)
    assert described == record
    assert described.kind == type(artifact).__name__
    assert described.bytes_on_disk == sum(
        path.stat().st_size for path in record.path.rglob("*") if path.is_file()
    )
    opened = cache.open(record.id)
    assert equal(opened, artifact)
    assert publish(cache, opened).id == record.id


@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    st.sampled_from(DTYPES),
    arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9),
)
def test_any_array_comes_back_and_zarr_reads_it(tmp_path_factory, data, dtype, shape):
    values = data.draw(
        arrays.arrays(dtype, shape, elements={"allow_nan": False} if "float" in dtype else None)
    )
    cache = Cache(tmp_path_factory.mktemp("cache"))
    with cache.writer() as writer:
        record = writer.publish(Traversal(algorithm="x", distance=values, component=None, vertex_count=1))
    stored = cache.open(record.id).distance
    assert stored.dtype == values.dtype
    assert stored.shape == values.shape
    assert numpy.array_equal(numpy.asarray(stored), values)
    group = zarr.open(record.path, mode="r")
    assert group["distance"].dtype == values.dtype
    assert numpy.array_equal(group["distance"][...], values)


def test_plain_zarr_reads_groups_attributes_and_nested_arrays(tmp_path):
    partition = next(artifact for artifact in KINDS if isinstance(artifact, Partition))
    record = publish(Cache(tmp_path), partition)
    group = zarr.open(record.path, mode="r")
    assert group.attrs["threshold"] == 8
    assert group.attrs["gravel"] == {"kind": "Partition"}
    names = {"delegates", *(f"arrays/{name}" for name in partition.arrays)}
    assert {name for name, node in group.members(max_depth=None) if hasattr(node, "dtype")} == names
    assert group["arrays/rank0"]["nn/row_offsets"][:].tolist() == [0, 1, 2, 3, 4]


def test_zeros_are_written_and_a_missing_shard_is_no_fill_value(tmp_path):
    cache = Cache(tmp_path)
    record = publish(
        cache, Traversal(algorithm="x", component=numpy.zeros(10, numpy.uint32), vertex_count=10)
    )
    (shard,) = shards(record)
    shard.unlink()
    with pytest.raises(DamagedArtifact):
        numpy.asarray(cache.open(record.id).component)


keys = st.one_of(
    st.integers(-6, 5),
    st.slices(6),
    st.lists(st.integers(-6, 5), max_size=4).map(lambda picked: numpy.array(picked, numpy.int64)),
    st.lists(st.booleans(), min_size=6, max_size=6).map(lambda mask: numpy.array(mask, bool)),
    st.just(Ellipsis),
)


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    values = numpy.random.default_rng(3).integers(0, 1000, (6, 6, 6)).astype(numpy.int16)
    with Cache(tmp_path_factory.mktemp("cache")).writer() as writer:
        sink = writer.sink("int16", (6, 6))
        sink.append(values[:4])
        sink.append(values[4:])
        array = sink.close()
        writer.publish(Traversal(algorithm="x", distance=array, vertex_count=1))
    return values, array


@settings(max_examples=60, deadline=None)
@given(st.lists(keys, min_size=1, max_size=3))
def test_indices_mean_what_numpy_means(cube, key):
    values, array = cube
    lists = [part for part in key if isinstance(part, numpy.ndarray)]
    # Two index arrays in one index pick points, which nothing here asks for; one is enough.
    if len(lists) > 1 or sum(part is Ellipsis for part in key) > 1:
        key = [part for part in key if part is not Ellipsis][:1]
    expected = values[tuple(key)]
    found = array[tuple(key)]
    assert found.shape == expected.shape
    assert numpy.array_equal(found, expected)


@pytest.mark.parametrize("key", [6, -7, (0, 0, 0, 0), (slice(None), 6), 1.5, "a", [True, False]])
def test_wrong_indices_are_refused(cube, key):
    with pytest.raises(IndexError):
        cube[1][key]


@pytest.mark.parametrize(
    ("key", "is_right"),
    [
        (slice(5, 995), True),
        (262_143, True),
        (262_144, False),
        (slice(262_143, 262_145), False),
        (slice(0, 800_000, 262_144), False),
        (numpy.array([7, 3, 100]), True),
        (numpy.array([7, -1]), False),
        (numpy.arange(800_000) < 9, True),
        (numpy.arange(800_000) == 600_000, False),
        (slice(9, 9), True),
    ],
)
def test_what_is_read_is_checked_and_nothing_else(tmp_path, key, is_right):
    """The second of the array's pieces is not what was written, nor is any after it."""
    cache = Cache(tmp_path)
    values = numpy.random.default_rng(0).integers(0, 2**32, 800_000, numpy.uint32)
    with cache.writer() as writer:
        record = writer.publish(Traversal(algorithm="x", component=values, vertex_count=1))
    (file,) = [path for path in shards(record) if path.name == "0"]
    with file.open("r+b") as opened:
        opened.seek(1 << 20)
        opened.write(bytes(3 << 20)[: values.nbytes - (1 << 20)])
    array = cache.open(record.id).component
    if is_right:
        assert numpy.array_equal(array[key], values[key])
    else:
        with pytest.raises(DamagedArtifact, match="are not what was written"):
            array[key]


def test_stored_arrays_iterate_and_travel(tmp_path):
    cache = Cache(tmp_path)
    record = publish(cache, graph())
    opened = cache.open(record.id)
    columns = pickle.loads(pickle.dumps(opened)).column_indices
    assert list(columns) == numpy.asarray(opened.column_indices).tolist()
    assert len(columns) == columns.size == columns.nbytes // 4
    assert numpy.asarray(columns, dtype=numpy.int64).dtype == numpy.int64
    assert numpy.array(columns, copy=True).flags.owndata
    assert pickle.loads(pickle.dumps(cache)).root == cache.root


def test_a_sink_is_readable_at_once_and_not_written_twice(tmp_path):
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        sink = writer.sink("uint32")
        for start in range(0, 100, 7):
            sink.append(numpy.arange(start, min(100, start + 7), dtype=numpy.uint32))
        component = sink.close()
        assert component[3:5].tolist() == [3, 4]
        inode = (component.folder / "c" / "0").stat().st_ino
        first = writer.publish(Traversal(algorithm="x", component=component, vertex_count=100))
        assert (first.path / "component" / "c" / "0").stat().st_ino == inode
        # The same array again, in another artifact and twice in one, is copied from the first.
        second = writer.publish(Traversal(algorithm="y", component=component, vertex_count=100))
        third = writer.publish(
            Traversal(algorithm="z", component=component, sources=component, vertex_count=100)
        )
        again = writer.publish(Traversal(algorithm="x", component=component, vertex_count=100))
        assert again == first
    for record in (first, second, third):
        opened = cache.open(record.id)
        assert numpy.array_equal(numpy.asarray(opened.component), numpy.arange(100))
    assert numpy.array_equal(numpy.asarray(component), numpy.arange(100))
    folders = {record.path.name for record in (first, second, third)}
    assert {path.name for path in (tmp_path / "data").iterdir()} == folders


def test_one_unpublished_array_in_two_fields(tmp_path):
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        sink = writer.sink("int64")
        sink.append(numpy.arange(9))
        array = sink.close()
        record = writer.publish(Traversal(algorithm="x", component=array, sources=array, vertex_count=9))
    opened = cache.open(record.id)
    for array in (opened.component, opened.sources):
        assert numpy.asarray(array).tolist() == list(range(9))


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    def stage_that_fails() -> None:
        with Cache(tmp_path).writer() as writer:
            writer.sink("int64").append(numpy.arange(400_000))
            raise RuntimeError("the stage failed")

    with pytest.raises(RuntimeError, match="the stage failed"):
        stage_that_fails()
    assert list((tmp_path / "data").iterdir()) == []


def test_a_sink_holds_little_memory(tmp_path):
    rows = numpy.random.default_rng(0).integers(0, 2**62, 1 << 17)
    with Cache(tmp_path).writer() as writer:
        sink = writer.sink("int64")
        sink.append(rows)
        tracemalloc.start()
        for _ in range(48):
            sink.append(rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        array = sink.close()
    # 48 MiB went through.
    assert array.nbytes == 49 << 20
    assert peak < 24 << 20


def test_extents_are_those_of_the_stages(tmp_path):
    cache = Cache(tmp_path)
    found = graph()
    record = publish(cache, found)
    size = found.row_offsets.nbytes + found.column_indices.nbytes
    extent = Extent("Graph", 40, found.arc_count, size, directed=not found.symmetric)
    assert cache.describe(record.id).extent == extent
    assert record.bytes == size
    bfs = next(artifact for artifact in KINDS if isinstance(artifact, Traversal))
    assert publish(cache, bfs).extent == Extent("Traversal", 40, 0, 16 + 320 + 640, 2)
    assert publish(cache, KINDS[0]).extent.arcs == found.arc_count


def test_recipes_come_back_and_the_newest_answer_wins(tmp_path):
    cache = Cache(tmp_path)
    asked = recipe()
    assert cache.look_up(asked.digest) is None
    cache.remember(asked, ("b", "a"), provenance())
    record = cache.look_up(asked.digest)
    assert record.outputs == ("b", "a")
    assert record.parts == asked.parts
    assert record.provenance == provenance()
    cache.remember(asked, ("c",), provenance())
    assert cache.look_up(asked.digest).outputs == ("c",)


def test_names_that_are_no_unicode_are_kept(tmp_path):
    cache = Cache(tmp_path)
    name = os.fsdecode(b"graph-\xff.txt")
    asked = recipe(name)
    assert asked.digest != recipe("graph-?.txt").digest
    cache.remember(asked, ("a",), {"workflow": name})
    assert cache.look_up(asked.digest).provenance == {"workflow": name}


def test_where_the_cache_lies(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAVEL_CACHE", raising=False)
    project = tmp_path / "project"
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    (project / "pyproject.toml").touch()
    assert find_cache() == project / ".gravel"
    (project / "a" / ".gravel").mkdir()
    assert find_cache() == project / "a" / ".gravel"
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "elsewhere"))
    assert find_cache() == tmp_path / "elsewhere"
    assert find_cache("here") == inner / "here"
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(tmp_path / "tiers"))
    tier = find_cache("s3://bucket/some//cache/")
    assert tier.parent == tmp_path / "tiers"
    assert find_cache("s3://bucket/some/cache") == tier != find_cache("s3://bucket/other")
    assert Cache(tier).remote.url == "s3://bucket/some/cache"
    with pytest.raises(RequestError, match="ftp:// is not served"):
        find_cache("ftp://bucket/cache")
    with pytest.raises(RequestError, match="no bucket"):
        find_cache("s3:///cache")
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match="is a file"):
        find_cache(str(tmp_path / "file"))
    with pytest.raises(RequestError, match=r"cannot be made, since .*file is a file"):
        find_cache(str(tmp_path / "file" / "in" / "it"))
    assert find_cache("~nobody-of-that-name") == inner / "~nobody-of-that-name"


def test_a_cache_that_cannot_be_read_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may read whatever its mode
    with pytest.raises(RequestError, match="cannot be read: permission denied"):
        find_cache(str(tmp_path))


def test_an_unknown_artifact(tmp_path):
    cache = Cache(tmp_path)
    assert "no record" in cache.check("0" * 64)
    with pytest.raises(DamagedArtifact):
        cache.describe("0" * 64)
    with pytest.raises(DamagedArtifact):
        cache.open("0" * 64)
