"""Values that go from one worker process to another."""

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
from gravel.pipeline.workers import parcels
from gravel.pipeline.workers.parcels import LEAST_BYTES, pack
from tests.pipeline.tiny_stages import graph_of


def test_large_arrays_go_by_a_file_and_the_rest_is_pickled(tmp_path: Path) -> None:
    large, small = numpy.arange(1 << 17), numpy.arange(7)
    value = {"large": large, "again": large, "two": large.astype(numpy.uint32), "small": small, "text": "a"}
    sent = pickle.dumps(pack(value, tmp_path))
    assert len(sent) < 2000
    found = pickle.loads(sent).unpack()
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
    parcel = pack([array, None], tmp_path / "not made")
    assert parcel.file is None
    assert numpy.array_equal(parcel.unpack()[0], array)
    assert not (tmp_path / "not made").exists()


def test_arrays_that_are_not_in_one_piece_or_empty(tmp_path: Path) -> None:
    values = [numpy.arange(1 << 18)[::3], numpy.asfortranarray(numpy.ones((300, 200))), numpy.zeros((0, 3))]
    for value in values:
        assert numpy.array_equal(pack(value, tmp_path).unpack(), value)


def test_a_parcel_may_be_unpacked_by_many(tmp_path: Path) -> None:
    parcel = pack(numpy.arange(1 << 17), tmp_path)
    first, second = (parcel.unpack(last=False) for _ in range(2))
    first[0] = 9
    assert second[0] == 0
    assert parcel.file is not None
    assert parcel.file.exists()


def test_a_stored_graph_is_pickled_as_where_it_lies(tmp_path: Path) -> None:
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(graph_of(numpy.arange(1 << 20)))
    stored: Any = Cache(tmp_path).open(record.id)
    parcel = pack([stored] * 4, tmp_path / "scratch")
    assert parcel.file is None
    assert len(parcel.pickled) < 10_000
    assert int(parcel.unpack()[3].row_offsets[-1]) == (1 << 20) - 1


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(parcels, "write_at", full)
    with pytest.raises(GravelError, match="no space left"):
        pack(numpy.arange(1 << 17), tmp_path)
