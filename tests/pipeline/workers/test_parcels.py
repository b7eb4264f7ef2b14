"""Values that go from one worker to another, by files, or by a store and Dask."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workers import own_tier, parcels
from gravel.pipeline.workers.parcels import LEAST_BYTES, Parcel, Route, StaysHere
from tests.pipeline.store.conftest import line, server
from tests.pipeline.store.remote_case import URL, Place, places, put_graph
from tests.pipeline.tiny_stages import graph_of

__all__ = ["line", "places", "server"]


def sent(value: Any, scratch: Path) -> Parcel:
    parcel = Route(scratch, None, "run").pack(value)
    assert isinstance(parcel, Parcel)
    return parcel


def test_large_arrays_go_by_a_file_and_the_rest_is_pickled(tmp_path: Path) -> None:
    large, small = numpy.arange(1 << 17), numpy.arange(7)
    value = {"large": large, "again": large, "two": large.astype(numpy.uint32), "small": small, "text": "a"}
    pickled = pickle.dumps(sent(value, tmp_path))
    assert len(pickled) < 2000
    found = pickle.loads(pickled).unpack()
    assert {name: type(each) for name, each in found.items()} == {
        name: type(each) for name, each in value.items()
    }
    assert all(numpy.array_equal(found[name], value[name]) for name in value)
    assert found["again"] is found["large"]
    found["large"][0] = 5
    assert large[0] == 0
    assert not list(tmp_path.iterdir())


def test_what_is_small_needs_no_file(tmp_path: Path) -> None:
    array = numpy.zeros(LEAST_BYTES // 8 - 1)
    parcel = sent([array, None], tmp_path / "not made")
    assert parcel.file is None
    assert numpy.array_equal(parcel.unpack()[0], array)
    assert not (tmp_path / "not made").exists()


def test_arrays_that_are_not_in_one_piece_or_empty(tmp_path: Path) -> None:
    values = [numpy.arange(1 << 18)[::3], numpy.asfortranarray(numpy.ones((300, 200))), numpy.zeros((0, 3))]
    for value in values:
        assert numpy.array_equal(sent(value, tmp_path).unpack(), value)


def test_a_parcel_may_be_unpacked_by_many(tmp_path: Path) -> None:
    parcel = sent(numpy.arange(1 << 17), tmp_path)
    first, second = (parcel.unpack(last=False) for _ in range(2))
    first[0] = 9
    assert second[0] == 0
    assert parcel.file is not None
    assert parcel.file.exists()


def test_a_stored_graph_is_pickled_as_where_it_lies(tmp_path: Path) -> None:
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(graph_of(numpy.arange(1 << 20)))
    stored: Any = Cache(tmp_path).open(record.id)
    parcel = sent([stored] * 4, tmp_path / "scratch")
    assert parcel.file is None
    assert len(parcel.pickled) < 10_000
    assert int(parcel.unpack()[3].row_offsets[-1]) == (1 << 20) - 1


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(parcels, "write_at", full)
    with pytest.raises(GravelError, match="no space left"):
        sent(numpy.arange(1 << 17), tmp_path)


def test_between_tiers_stored_arrays_are_named_and_others_copied(
    places: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker: Place = places("maker")
    record = put_graph(maker, vertices=300_000)
    graph: Any = maker.cache.open(record.id)
    with maker.cache.writer() as writer:
        sink = writer.sink("int64")
        sink.append(numpy.arange(1000))
        unpublished = sink.close()
        value = {"rows": graph.row_offsets.locked(), "graph": graph, "here": unpublished, "text": "a"}
        parcel = Route(tmp_path / "scratch", URL, "run").pack(value)
    pickled = pickle.dumps(parcel)
    assert len(pickled) < 20_000 < graph.row_offsets.nbytes

    reader: Place = places("reader")
    monkeypatch.setattr(own_tier, "_tiers", {})
    found = pickle.loads(pickled).unpack()
    own_tier.leave(URL, "run")
    assert found["rows"].root == reader.root
    assert found["rows"].is_locked
    assert numpy.array_equal(found["rows"], graph.row_offsets)
    assert found["graph"].row_offsets.root == reader.root
    assert numpy.array_equal(found["here"], numpy.arange(1000))


def test_what_names_a_scratch_file_stays_on_its_machine(tmp_path: Path) -> None:
    route = Route(tmp_path / "scratch", URL, "run")
    assert route.pack([tmp_path / "other"]).unpack() == [tmp_path / "other"]
    with pytest.raises(StaysHere):
        route.pack([{"file": tmp_path / "scratch" / "degrees"}])
