"""Arrays of an artifact that other processes write."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Partition, Traversal
from tests.pipeline.samples import equal

WRITER = """
import pickle, sys
import numpy
with pickle.load(open(sys.argv[1], "rb")).open() as sink:
    columns = sink("uint32")
    for first in range(0, 600_000, 100_000):
        columns.append(numpy.arange(first, first + 100_000, dtype=numpy.uint32))
    closed = [columns.close(), sink("int64").close()]
pickle.dump(closed, open(sys.argv[2], "wb"))
"""


def written(folder: Path, maker: object) -> list[object]:
    """Have another process write two arrays."""
    (folder / "maker").write_bytes(pickle.dumps(maker))
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", WRITER, str(folder / "maker"), str(folder / "arrays")]
    subprocess.run(command, cwd=root, check=True)
    return list(pickle.loads((folder / "arrays").read_bytes()))


def split(arrays: dict[str, object]) -> Partition:
    delegates = numpy.arange(3, dtype=numpy.uint32)
    counts = {"ranks": 1, "threshold": 4, "vertex_count": 5, "arc_count": 0, "symmetric": True}
    return Partition(arrays=arrays, delegates=delegates, **counts)


def test_what_another_process_wrote_is_adopted_and_not_copied(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", say=pytest.fail)
    with cache.writer() as writer:
        columns, none = written(tmp_path, writer.sinks_elsewhere())
        place = columns.folder.stat().st_ino
        record = writer.publish(split({"rank0/nn/column_indices": columns, "rank0/nn/row_offsets": none}))
    assert (record.path / "arrays/rank0/nn/column_indices").stat().st_ino == place
    stored = cache.open(record.id)
    whole = {
        "rank0/nn/column_indices": numpy.arange(600_000, dtype=numpy.uint32),
        "rank0/nn/row_offsets": numpy.empty(0, numpy.int64),
    }
    assert equal(stored, split(whole))
    assert cache.verify().damaged == {}
    # The same arrays in memory have the same id.
    with cache.writer() as writer:
        assert writer.publish(split(whole)).id == record.id


def test_a_piece_that_was_changed_since_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", say=lambda _: None)
    with cache.writer() as writer:
        columns, none = written(tmp_path, writer.sinks_elsewhere())
        with (columns.folder / "c" / "0").open("r+b") as file:
            file.write(b"\xff\xff")
        record = writer.publish(split({"rank0/nn/column_indices": columns, "rank0/nn/row_offsets": none}))
    with pytest.raises(DamagedArtifact):
        numpy.asarray(cache.open(record.id).arrays["rank0/nn/column_indices"])


def test_what_is_not_published_is_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", say=pytest.fail)
    with cache.writer() as writer:
        columns, _ = written(tmp_path, writer.sinks_elsewhere())
        assert columns.folder.exists()
    assert not columns.folder.exists()
    assert not list((tmp_path / "cache" / "data").iterdir())


RANGES = """
import pickle, sys
import numpy
with open(sys.argv[1], "rb") as file:
    writer, ranges, dtype = pickle.load(file)
receipts = [writer.write(a, numpy.arange(a, b).astype(dtype)) for a, b in ranges]
with open(sys.argv[2], "wb") as file:
    pickle.dump(receipts, file)
"""

LONG = 700_000


def write_ranges(folder: Path, writer: object, ranges: list[tuple[int, int]], dtype: str) -> list[object]:
    """Have another process write ranges of the whole numbers from 0 on."""
    (folder / "asked").write_bytes(pickle.dumps((writer, ranges, dtype)))
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", RANGES, str(folder / "asked"), str(folder / "receipts")]
    subprocess.run(command, cwd=root, check=True)
    return list(pickle.loads((folder / "receipts").read_bytes()))


def labels(array: object) -> Traversal:
    return Traversal(algorithm="bfs", sources=numpy.arange(2), distance=array, vertex_count=LONG)


def test_ranges_of_an_array_that_several_wrote_are_the_array(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", say=pytest.fail)
    whole = numpy.arange(2 * LONG, dtype=numpy.int32).reshape(2, LONG)
    with cache.writer() as writer:
        ranges = writer.ranges("int32", (LONG,))
        piece = ranges.writer.piece
        assert piece == 1 << 18
        # The end of the first row lies within a piece, to which the second row adds.
        cuts = [0, 2 * piece, LONG, 3 * piece, 2 * LONG]
        for some in ([(cuts[2], cuts[3]), (cuts[0], cuts[1])], [(cuts[1], cuts[2]), (cuts[3], cuts[4])]):
            ranges.add(write_ranges(tmp_path, ranges.writer, some, "int32"))
        array = ranges.close(2)
        assert numpy.array_equal(array, whole)
        place = (array.folder / "c" / "0" / "0").stat().st_ino
        record = writer.publish(labels(array))
    assert (record.path / "distance/c/0/0").stat().st_ino == place
    assert cache.verify().damaged == {}
    with cache.writer() as writer:
        assert writer.publish(labels(whole)).id == record.id


def test_ranges_that_are_not_all_of_the_array_are_refused(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", say=pytest.fail)
    with cache.writer() as writer:
        for cuts in ([(0, 10), (12, 20)], [(0, 12), (10, 20)], [(0, 10)]):
            ranges = writer.ranges("int64")
            ranges.add(write_ranges(tmp_path, ranges.writer, cuts, "int64"))
            with pytest.raises(ValueError, match="are not all of 160 bytes"):
                ranges.close(20)
        assert len(writer.ranges("int64").close(0)) == 0


@pytest.mark.parametrize("place", [5, 4 * LONG - 3, 4 * LONG + 3])
def test_a_range_that_the_disk_gives_back_otherwise_is_no_array(tmp_path: Path, place: int) -> None:
    cache = Cache(tmp_path / "cache", say=pytest.fail)
    with cache.writer() as writer:
        ranges = writer.ranges("int32", (LONG,))
        ranges.add(write_ranges(tmp_path, ranges.writer, [(0, LONG), (LONG, 2 * LONG)], "int32"))
        with ranges.writer.path.open("r+b") as file:
            file.seek(place)
            file.write(b"\xff")
        with pytest.raises(GravelError, match="gave back something else"):
            ranges.close(2)


def test_a_link_in_the_place_of_ranges_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"not of this cache")
    cache = Cache(tmp_path / "cache", say=pytest.fail)
    with cache.writer() as writer:
        ranges = writer.ranges("int64")
        ranges.writer.path.parent.mkdir(parents=True)
        ranges.writer.path.symlink_to(other)
        with pytest.raises((GravelError, OSError)):
            ranges.writer.write(0, numpy.arange(10))
    assert other.read_bytes() == b"not of this cache"


def test_the_mask_of_the_writers_process_stays(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Cache(tmp_path / "cache", say=pytest.fail).writer() as writer:
            ranges = writer.ranges("int64")
            ranges.add([ranges.writer.write(0, numpy.arange(10))])
            ranges.close(10)
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
