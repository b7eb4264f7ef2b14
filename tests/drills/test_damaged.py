"""A flipped byte, a truncated file, a deleted file: found by run and export, said, computed again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.drills.gravel import Gravel

ARGUMENTS = ("--set", "scale=7")

READERS = {"graph": "ordered", "ordered": "packed", "packed": "bfs", "bfs": "check"}
"""What is damaged, and who reads it in a run."""

ARRAYS = {"graph": "column_indices", "ordered": "permutation", "packed": "stream", "bfs": "distance"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Gravel, bytes]:
    """A finished run and its export."""
    folder = tmp_path_factory.mktemp("whole")
    gravel = Gravel(folder / "cache", arguments=ARGUMENTS, inside=True)
    gravel.run("--quiet", "--only", "check")
    gravel.export("bfs", folder / "bfs.csv")
    return gravel, (folder / "bfs.csv").read_bytes()


@pytest.fixture
def copy(tmp_path: Path, whole: tuple[Gravel, bytes]) -> Gravel:
    shutil.copytree(whole[0].cache, tmp_path / "cache")
    return Gravel(tmp_path / "cache", arguments=ARGUMENTS, inside=True)


def data_file(gravel: Gravel, stage: str, array: str | None = None) -> Path:
    """Return the largest file of data of an array of a stage's first output."""
    files = (gravel.artifact(stage) / (array or ARRAYS[stage])).rglob("c/**/*")
    return max((path for path in files if path.is_file()), key=lambda path: path.stat().st_size)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x20
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


HARMS = {"flip": flip, "truncate": truncate, "delete": Path.unlink}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("stage", READERS)
def test_a_run_that_reads_it_finds_and_mends_it(copy, whole, tmp_path, stage, harm):
    HARMS[harm](data_file(copy, stage))
    done = copy.run("--only", "check", "--force", READERS[stage])
    assert f"{stage}: artifact" in done.stderr
    assert "computed again" in done.stderr
    states = copy.states()
    assert states[stage] == states[READERS[stage]] == "computed"
    assert sorted(states.values()).count("computed") == 2
    copy.export("bfs", tmp_path / "bfs.csv")
    assert (tmp_path / "bfs.csv").read_bytes() == whole[1]
    assert copy.verify()["damaged"] == {}


@pytest.mark.parametrize("harm", HARMS)
def test_cache_verify_finds_it_and_the_next_run_mends_it(copy, whole, tmp_path, harm):
    for stage in READERS:
        HARMS[harm](data_file(copy, stage))
    assert len(copy.verify(expect=1)["damaged"]) == len(READERS)
    assert copy.verify()["damaged"] == {}
    copy.run("--only", "check")
    states = copy.states()
    assert {stage for stage, state in states.items() if state == "computed"} == set(READERS)
    copy.export("bfs", tmp_path / "bfs.csv")
    assert (tmp_path / "bfs.csv").read_bytes() == whole[1]


@pytest.mark.parametrize("harm", HARMS)
def test_an_export_finds_and_mends_it(copy, whole, tmp_path, harm):
    HARMS[harm](data_file(copy, "bfs"))
    done = copy.export("bfs", tmp_path / "bfs.csv")
    assert "damaged" in done.stderr or "not whole" in done.stderr
    assert "computed again" in done.stderr
    assert (tmp_path / "bfs.csv").read_bytes() == whole[1]
    assert copy.states()["bfs"] == "computed"
    assert copy.verify()["damaged"] == {}


def test_an_export_after_cache_verify_mends_it(copy, whole, tmp_path):
    flip(data_file(copy, "bfs"))
    flip(data_file(copy, "packed"))
    copy.verify(expect=1)
    copy.export("bfs", tmp_path / "bfs.csv")
    assert (tmp_path / "bfs.csv").read_bytes() == whole[1]


@pytest.mark.slow
def test_two_readers_at_once_find_the_same_damage(tmp_path):
    gravel = Gravel(tmp_path / "cache", arguments=ARGUMENTS)
    gravel.run("--quiet", "--only", "packed", "--only", "split")
    flip(data_file(gravel, "ordered", "row_offsets"))
    gravel.run(
        "--only", "packed", "--only", "split", "--force", "packed", "--force", "split", "--cluster", "local"
    )
    states = gravel.states()
    assert {stage for stage, state in states.items() if state == "computed"} == {"ordered", "packed", "split"}
    assert gravel.verify()["damaged"] == {}


@pytest.mark.slow
def test_a_damaged_report_is_made_again(tmp_path):
    gravel = Gravel(tmp_path / "cache", arguments=ARGUMENTS, inside=True)
    gravel.run("--quiet")
    flip(gravel.artifact("summary") / "zarr.json")
    done = gravel.run("--force", "check")
    assert "is damaged: zarr.json is not what was written" in done.stderr
    gravel.run("--quiet")
    assert [key for key, state in gravel.states().items() if state == "computed"] == ["summary"]
    assert (gravel.cache / "runs" / gravel.records()[-1]["run"] / "report.html").is_file()


@pytest.mark.parametrize("stage", ["graph", "ordered", "bfs", "check"])
def test_computing_again_mends_what_nobody_has_read(copy, whole, tmp_path, stage):
    """A result is published over its own damaged copy, in the data and in the metadata."""
    metadata = sorted(copy.artifact(stage).rglob("zarr.json"))[-1]
    flip(metadata)
    if stage in ARRAYS:
        flip(data_file(copy, stage))
    done = copy.run("--only", "check", "--force", stage)
    assert "is damaged" in done.stderr
    assert [key for key, state in copy.states().items() if state == "computed"] == [stage]
    assert copy.verify()["damaged"] == {}
    copy.export("bfs", tmp_path / "bfs.csv")
    assert (tmp_path / "bfs.csv").read_bytes() == whole[1]
