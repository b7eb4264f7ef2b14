from __future__ import annotations

import math

import numpy
import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.core.hashing import digest
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.identity import ArrayContent, LeafDigest, artifact_id, root_of
from gravel.pipeline.store.layout import LEAF_BYTES
from gravel.stages.artifacts import Measurement, Partition, Traversal
from tests.pipeline.samples import graph


def root(data: bytes) -> str:
    leaves = [data[start : start + LEAF_BYTES] for start in range(0, len(data), LEAF_BYTES)]
    return blake3(b"".join(blake3(leaf).digest() for leaf in leaves)).hexdigest()


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 3 * LEAF_BYTES + 5),
    st.lists(st.integers(1, 2 * LEAF_BYTES), min_size=1, max_size=5),
)
def test_leaves_do_not_depend_on_the_pieces(size, pieces):
    data = numpy.random.default_rng(size).bytes(size)
    stream = LeafDigest()
    start = turn = 0
    while start < size:
        piece = pieces[turn % len(pieces)]
        stream.update(memoryview(data)[start : start + piece])
        start, turn = start + piece, turn + 1
    assert root_of(stream.finish()) == root(data)


def test_everything_that_is_said_changes_the_id():
    array = ArrayContent("int32", (2, 3), "r")
    base = artifact_id("Graph", {"a": 1}, {"x": array})
    others = [
        artifact_id("Ordering", {"a": 1}, {"x": array}),
        artifact_id("Graph", {"a": 1.0}, {"x": array}),
        artifact_id("Graph", {"a": True}, {"x": array}),
        artifact_id("Graph", {"a": 1, "b": None}, {"x": array}),
        artifact_id("Graph", {"a": 1}, {"y": array}),
        artifact_id("Graph", {"a": 1}, {}),
        artifact_id("Graph", {"a": 1}, {"x": ArrayContent("uint32", (2, 3), "r")}),
        artifact_id("Graph", {"a": 1}, {"x": ArrayContent("int32", (3, 2), "r")}),
        artifact_id("Graph", {"a": 1}, {"x": ArrayContent("int32", (2, 3), "s")}),
    ]
    assert len({base, *others}) == len(others) + 1


def test_an_id_is_what_the_page_says(tmp_path):
    stored = graph()
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(stored)
    attributes = {"vertex_count": 40, "arc_count": stored.arc_count, "symmetric": False}
    attributes |= {"sorted": True, "deduplicated": False, "loop_count": 0}
    offsets, columns = stored.row_offsets.astype("<i8"), stored.column_indices.astype("<u4")
    arrays = {
        "row_offsets": {"dtype": "int64", "shape": [41], "root": root(offsets.tobytes())},
        "column_indices": {"dtype": "uint32", "shape": [len(columns)], "root": root(columns.tobytes())},
    }
    body = {"content format": 1, "kind": "Graph", "attributes": attributes, "arrays": arrays}
    assert record.id == digest(body)
    assert record.attributes == attributes


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 300_000),
    st.sampled_from([(), (1,), (3,), (257,)]),
    st.lists(st.integers(1, 200_000), min_size=1, max_size=3),
)
def test_ids_do_not_depend_on_the_rows_that_came_together(tmp_path_factory, count, row_shape, pieces):
    rows = count // math.prod(row_shape)
    values = numpy.random.default_rng(rows).integers(-9, 2**31 - 1, (rows, *row_shape), numpy.int32)
    cache = Cache(tmp_path_factory.mktemp("cache"))
    with cache.writer() as writer:
        whole = writer.publish(Traversal(algorithm="bfs", distance=values, vertex_count=3))
    cache = Cache(tmp_path_factory.mktemp("cache"))
    with cache.writer() as writer:
        sink = writer.sink("int32", row_shape)
        start = turn = 0
        while start < rows:
            piece = pieces[turn % len(pieces)]
            sink.append(values[start : start + piece])
            start, turn = start + piece, turn + 1
        array = sink.close()
        assert numpy.array_equal(numpy.asarray(array), values)
        record = writer.publish(Traversal(algorithm="bfs", distance=array, vertex_count=3))
    assert record.id == whole.id
    assert cache.check(record.id) is None
    assert numpy.array_equal(numpy.asarray(cache.open(record.id).distance), values)


def test_byte_order_and_memory_order_do_not_change_the_id(tmp_path):
    values = numpy.arange(24, dtype=numpy.int32).reshape(4, 6)
    with Cache(tmp_path).writer() as writer:
        ids = {
            writer.publish(Traversal(algorithm="bfs", distance=array, vertex_count=6)).id
            for array in (values, values.astype(">i4"), numpy.asfortranarray(values), values[:, ::1])
        }
        transposed = writer.publish(Traversal(algorithm="bfs", distance=values.T, vertex_count=6)).id
    assert len(ids) == 1
    assert transposed not in ids


def test_attributes_are_plain_data(tmp_path):
    def measured(**searches: object) -> Measurement:
        about = {"algorithm": "bfs", "strategy": "s", "reason": "r", "backend": "cpu", "hardware": "h"}
        return Measurement(**about, prepare_milliseconds=1.0, searches=searches)

    with Cache(tmp_path).writer() as writer:
        of_numpy = writer.publish(measured(count=numpy.int64(3), rate=numpy.float32(0.5), pair=(1, 2)))
        of_python = writer.publish(measured(count=3, rate=0.5, pair=[1, 2]))
        assert of_numpy.id == of_python.id
        for wrong, error in [
            ({"x": math.nan}, ValueError),
            ({"x": math.inf}, ValueError),
            ({"x": {1: 2}}, TypeError),
            ({"x": {1, 2}}, TypeError),
            ({"x": numpy.arange(3)}, TypeError),
            ({"x": b"bytes"}, TypeError),
        ]:
            with pytest.raises(error, match="searches"):
                writer.publish(measured(**wrong))


def test_an_array_of_objects_is_refused(tmp_path):
    with Cache(tmp_path).writer() as writer:
        for dtype in ("O", "U4", "complex64", "datetime64[s]"):
            with pytest.raises(TypeError, match="cannot be stored"):
                writer.sink(dtype)


@pytest.mark.parametrize("name", ["../up", "a//b", "", "/a", "zarr.json", "a/zarr.json", ".", "__x"])
def test_array_names_stay_inside_the_artifact(tmp_path, name):
    shape = {"vertex_count": 1, "arc_count": 1, "symmetric": True, "ranks": 1, "threshold": 1}
    wrong = Partition(arrays={name: numpy.arange(3)}, delegates=numpy.arange(3), **shape)
    with Cache(tmp_path).writer() as writer, pytest.raises(ValueError, match="cannot be named"):
        writer.publish(wrong)


def test_a_value_that_does_not_fit_is_refused(tmp_path):
    with Cache(tmp_path).writer() as writer:
        sink = writer.sink("uint32")
        sink.append(numpy.array([1, 2**32 - 1], numpy.int64))
        for wrong in (numpy.array([-1]), numpy.array([2**32]), numpy.array([0.5])):
            with pytest.raises(ValueError, match="cannot"):
                sink.append(wrong)
        assert numpy.asarray(sink.close()).tolist() == [1, 2**32 - 1]
        with pytest.raises(ValueError, match="closed"):
            sink.append(numpy.arange(2))
