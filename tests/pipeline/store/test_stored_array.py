"""Arrays of the cache in memory: mapped, checked once a process, and of one type for NumPy and Numba."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy
import pytest

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store import stored_array
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import ArtifactRecord
from gravel.pipeline.workers.results_in_memory import read_only
from gravel.stages.artifacts import Traversal

VALUES = numpy.random.default_rng(0).integers(0, 2**32, 3 << 20, numpy.uint32)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", lambda message: None)


@pytest.fixture
def record(cache: Cache) -> ArtifactRecord:
    with cache.writer() as writer:
        return writer.publish(Traversal(algorithm="x", component=VALUES, vertex_count=1))


def data_of(record: ArtifactRecord) -> Path:
    return record.path / "component" / "c" / "0"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first bytes of the pieces that are read."""
    found: list[int] = []
    read_at = stored_array.read_at

    def noted(handle: int, view: memoryview, start: int) -> None:
        found.append(start)
        read_at(handle, view, start)

    monkeypatch.setattr(stored_array, "read_at", noted)
    monkeypatch.setattr(stored_array, "_checked", {})
    return found


def test_an_artifact_travels_as_where_it_lies(cache, record):
    opened = cache.open(record.id)
    assert opened.component[5] == VALUES[5]
    text = pickle.dumps(opened)
    assert len(text) < 2000
    assert numpy.array_equal(pickle.loads(text).component, VALUES)


def test_each_piece_is_checked_once_in_a_process(cache, record, reads):
    component = cache.open(record.id).component
    assert component[(1 << 18) + 5] == VALUES[(1 << 18) + 5]
    assert component[1 << 18] == VALUES[1 << 18]
    assert reads == [1 << 20]
    assert numpy.array_equal(component, VALUES)
    assert sorted(reads) == list(range(0, VALUES.nbytes, 1 << 20))
    # Nor again where it is opened again.
    assert numpy.array_equal(cache.open(record.id).component, VALUES)
    assert len(reads) == 12


def test_what_is_copied_out_is_checked_there(cache, record, reads):
    out = numpy.empty(700_000, numpy.uint32)
    component = cache.open(record.id).component
    component.read_into(out, 100_000)
    assert numpy.array_equal(out, VALUES[100_000:800_000])
    assert sorted(reads) == [0, 1 << 20, 2 << 20, 3 << 20]
    with data_of(record).open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"other")
    with pytest.raises(DamagedArtifact):
        cache.open(record.id).component.read_into(out, 100_000)


def test_a_file_that_is_cut_while_it_is_mapped_is_no_signal(cache, record, monkeypatch):
    monkeypatch.setattr(stored_array, "_checked", {})
    component = cache.open(record.id).component
    assert component[0] == VALUES[0]
    os.truncate(data_of(record), 2 << 20)
    with pytest.raises(DamagedArtifact, match=r"has 2,097,152 bytes and should have"):
        numpy.asarray(component)


def test_numba_compiles_nothing_anew_for_what_is_mapped(cache, record):
    @numba.njit
    def total(values):
        found = 0
        for value in values:
            found += value
        return found

    expected = total(VALUES)
    component = cache.open(record.id).component
    assert total(numpy.asarray(component)) == expected
    assert total(component[:10]) == total(VALUES[:10])
    assert numba.typeof(component[:]) == numba.typeof(VALUES)
    assert len(total.signatures) == 1


def test_a_stage_of_somebody_else_cannot_write_to_what_is_mapped(cache, record):
    component = read_only(cache.open(record.id)).component
    for part in (numpy.asarray(component), component[3:9]):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    assert numpy.array_equal(pickle.loads(pickle.dumps(component)), VALUES)


def test_mapped_memory_goes_with_its_last_array(cache, record):
    maps = Path("/proc/self/maps")
    part = cache.open(record.id).component[10:20]
    assert str(data_of(record)) in maps.read_text()
    assert numpy.array_equal(part, VALUES[10:20])
    del part
    assert str(data_of(record)) not in maps.read_text()
    assert not [path for path in Path("/proc/self/fd").iterdir() if path.resolve() == data_of(record)]


def test_memory_that_cannot_be_mapped_is_reported(cache, record):
    code = f"""
import resource, numpy
from pathlib import Path
from gravel.pipeline.core.errors import NotEnoughMemory
from gravel.pipeline.store.cache import Cache
component = Cache(Path({str(cache.root)!r})).open({record.id!r}).component
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20),) * 2)
try:
    component[0]
except NotEnoughMemory as error:
    print(error, error.problems[0].hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the system maps no more memory: 12,582,912 bytes were asked for" in done.stdout
    assert "ulimit -v" in done.stdout


@pytest.mark.parametrize(
    ("key", "is_refused"),
    [
        ([0], False),
        ([-4], False),
        (numpy.array([True, False, False, False]), False),
        ([1], True),
        ([-3], True),
        ([2, 0], True),
        (numpy.array([True, True, False, False]), True),
    ],
)
def test_rows_that_are_picked_are_checked_and_no_others(cache, key, is_refused):
    """Rows of a piece each, of which the second is damaged."""
    rows = numpy.random.default_rng(0).integers(0, 2**31, (4, 1 << 18), numpy.int32)
    with cache.writer() as writer:
        record = writer.publish(Traversal(algorithm="x", distance=rows, vertex_count=1 << 18))
    with (record.path / "distance" / "c" / "0" / "0").open("r+b") as file:
        file.seek((2 << 20) - 4)
        file.write(b"harm")
    distance = cache.open(record.id).distance
    if is_refused:
        with pytest.raises(DamagedArtifact):
            distance[key]
    else:
        assert numpy.array_equal(distance[key], rows[key])


def test_one_row_is_checked_to_its_end(cache):
    row = numpy.random.default_rng(0).integers(0, 2**31, (1, 1 << 19), numpy.int32)
    with cache.writer() as writer:
        record = writer.publish(Traversal(algorithm="x", distance=row, vertex_count=1 << 19))
    with (record.path / "distance" / "c" / "0" / "0").open("r+b") as file:
        file.seek((2 << 20) - 4)
        file.write(b"harm")
    with pytest.raises(DamagedArtifact):
        cache.open(record.id).distance[[0]]
