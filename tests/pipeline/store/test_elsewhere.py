"""Arrays of an artifact that other processes write."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Partition
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
