"""A run that is killed goes on from what it had done, and its result is the same to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from blake3 import blake3

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.gc.collection import collect
from gravel.pipeline.store import checkpoints
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.checkpoints import FOLDER, StoredCheckpoint
from tests import forked
from tests.pipeline.samples import graph, publish, recipe
from tests.pipeline.store.centrality_process import MEASURES

DAY = 86400.0


def process(cache: Path, measure: str, last: int) -> subprocess.CompletedProcess[str]:
    command = ["-m", "tests.pipeline.store.centrality_process", str(cache), measure, str(last)]
    return forked.run(command, cwd=Path(__file__).parents[3], env=os.environ)


def result(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_killed_run_goes_on(tmp_path: Path, measure: str) -> None:
    whole = result(process(tmp_path / "whole", measure, 0))
    assert whole["saved"] > 3
    cache = tmp_path / "killed"
    killed = process(cache, measure, 3)
    assert killed.returncode == -9
    assert len(list((cache / FOLDER).iterdir())) == 1
    after = result(process(cache, measure, 0))
    assert after["values"] == whole["values"]
    # Bounds are tightened anew before the rest is searched, which may leave less of it.
    assert after["saved"] == whole["saved"] - 3 or measure == "eccentricity"
    assert 0 < after["searched"] < whole["searched"]
    log = "".join(path.read_text() for path in cache.glob("runs/*/logs/close*"))
    assert "goes on after" in log or measure == "eccentricity"
    Cache(cache, pytest.fail).sweep()
    assert not list((cache / FOLDER).iterdir())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    return Cache(tmp_path, pytest.fail)


ARRAYS = {
    "sums": numpy.arange(7) / 3,
    "ends": numpy.array([], numpy.int64),
    "rows": numpy.arange(12).reshape(3, 4)[:, ::2],
}


def anew(reason: str) -> str:
    return f"what an earlier run left of this stage {reason}, so the stage starts anew"


def saved(cache: Cache, name: str, log: list[str] | None = None) -> StoredCheckpoint:
    found = StoredCheckpoint(cache.files, name, ([] if log is None else log).append)
    found.save(lambda: ARRAYS)
    return found


def test_arrays_come_back_as_they_were(cache: Cache) -> None:
    assert StoredCheckpoint(cache.files, "a" * 64, pytest.fail).load() is None
    found = saved(cache, "a" * 64).load()
    assert found is not None
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        numpy.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize("place", [0, 70, -1])
def test_a_damaged_checkpoint_counts_as_none(cache: Cache, place: int) -> None:
    log: list[str] = []
    made = saved(cache, "a" * 64, log)
    path = cache.root / FOLDER / ("a" * 64)
    text = bytearray(path.read_bytes())
    text[place] ^= 1
    path.write_bytes(text)
    assert made.load() is None
    assert log == [anew("is damaged")]
    assert not path.exists()


RECIPE, OTHER = "a" * 64, "b" * 64


def of_stage(cache: Cache, recipe: str, log: list[str], stage: str = "centrality 7", **more: Any) -> Any:
    return StoredCheckpoint(cache.files, recipe, log.append, stage, **more)


def test_two_that_were_exchanged_count_as_none(cache: Cache) -> None:
    log: list[str] = []
    for name in (RECIPE, OTHER):
        of_stage(cache, name, log).save(lambda: ARRAYS)
    folder = cache.root / FOLDER
    (folder / RECIPE).rename(folder / "aside")
    (folder / OTHER).rename(folder / RECIPE)
    (folder / "aside").rename(folder / OTHER)
    for name in (RECIPE, OTHER):
        assert of_stage(cache, name, log).load() is None
    assert log == [anew("is of another recipe, stage or version")] * 2
    assert cache.files.names(FOLDER) == []


@pytest.mark.parametrize("stage", ["centrality 8", "verify 7", ""])
def test_one_of_another_stage_or_version_counts_as_none(cache: Cache, stage: str) -> None:
    log: list[str] = []
    of_stage(cache, RECIPE, log).save(lambda: ARRAYS)
    assert of_stage(cache, RECIPE, log).load() is not None
    assert of_stage(cache, RECIPE, log, stage).load() is None
    assert log == [anew("is of another recipe, stage or version")]
    assert cache.files.names(FOLDER) == []


def test_one_of_an_earlier_form_counts_as_none(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(checkpoints, "FORMAT", checkpoints.FORMAT - 1)
    of_stage(cache, RECIPE, log).save(lambda: ARRAYS)
    monkeypatch.undo()
    assert of_stage(cache, RECIPE, log).load() is None
    head = json.dumps({"sums": ["<f8", [2]]}).encode() + b"\n" + bytes(16)
    cache.files.replace(f"{FOLDER}/{RECIPE}", blake3(head).hexdigest().encode() + head)
    assert of_stage(cache, RECIPE, log).load() is None
    assert len(log) == 2
    assert cache.files.names(FOLDER) == []


ODD_SHAPES = [[2**62], [-1], ["9"], 9, [1] * 99]


@pytest.mark.parametrize("shape", [*(["<f8", each] for each in ODD_SHAPES), ["|O", [1]], ["V9", [1]], 3])
def test_what_its_line_says_is_bounded_before_the_rest_is_read(cache: Cache, shape: Any) -> None:
    log: list[str] = []
    head = {"format": checkpoints.FORMAT, "recipe": RECIPE, "stage": "centrality 7", "arrays": {"x": shape}}
    text = json.dumps(head).encode() + b"\n" + bytes(8)
    cache.files.replace(f"{FOLDER}/{RECIPE}", blake3(text).hexdigest().encode() + text)
    assert of_stage(cache, RECIPE, log).load() is None
    assert len(log) == 1
    assert cache.files.names(FOLDER) == []


def huge(path: Path) -> None:
    os.truncate(path, 20 << 30)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.rename(path.with_name(".other"))
    path.symlink_to(".other")


@pytest.mark.parametrize("harm", [huge, pipe, link])
@pytest.mark.parametrize("most", [None, 1 << 20])
def test_one_that_is_no_sound_file_counts_as_none(cache: Cache, harm: Any, most: int | None) -> None:
    log: list[str] = []
    of_stage(cache, RECIPE, log).save(lambda: ARRAYS)
    harm(cache.root / FOLDER / RECIPE)
    assert of_stage(cache, RECIPE, log, most=most).load() is None
    assert len(log) == 1
    assert not os.path.lexists(cache.root / FOLDER / RECIPE)


def test_checkpoints_are_seldom(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "INTERVAL", 3600.0)
    made = StoredCheckpoint(cache.files, "a" * 64, pytest.fail)
    made.save(lambda: pytest.fail("it is too early"))
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    slow = StoredCheckpoint(cache.files, "b" * 64, pytest.fail)
    slow.save(lambda: (time.sleep(0.1), ARRAYS)[1])
    slow.save(lambda: pytest.fail("the last one took long"))


def test_a_disk_that_takes_none_costs_the_checkpoint_alone(cache: Cache) -> None:
    log: list[str] = []

    def refuse(name: str) -> None:
        raise GravelError("the disk is full")

    cache.files.folder = refuse  # type: ignore[method-assign, assignment]
    saved(cache, "a" * 64, log)
    assert log == ["no checkpoint was written: the disk is full"]


def test_what_is_finished_is_swept_and_what_nobody_goes_on_with_is_collected(cache: Cache) -> None:
    publish(cache, graph(), "done")
    done, left = recipe("done").digest, "f" * 64
    for name in (done, left):
        saved(cache, name)
    cache.sweep()
    assert cache.files.names(FOLDER) == [left]
    assert f"{FOLDER}/{left}" not in collect(cache, delete=True).files
    then = time.time() - 8 * DAY
    os.utime(cache.root / FOLDER / left, (then, then))
    assert f"{FOLDER}/{left}" in collect(cache).files
    collect(cache, delete=True)
    assert cache.files.names(FOLDER) == []
