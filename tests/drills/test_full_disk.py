"""A disk that fills up: one message, exit 1, what was computed stays, and the next run goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.gravel import Gravel

ARGUMENTS = ("--set", "scale=12")


def mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 40 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        if not mount("-t", "tmpfs", "-o", "size=40k", "tmpfs", str(folder)):
            pytest.skip("mounting a file system is not permitted here")
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize(
    ("cluster", "size", "least"),
    [
        ("inline", "4k", 0),
        pytest.param("local", "16k", 0, marks=pytest.mark.slow),
        pytest.param("inline", "700k", 1, marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_is_told_and_what_is_done_stays(disk: Path, cluster: str, size: str, least: int):
    """Too small for the record of the run, for the first result and the logs, for a later result."""
    assert mount("-o", f"remount,size={size}", str(disk))
    gravel = Gravel(disk / "cache", arguments=ARGUMENTS)
    failed = gravel.run("--only", "check", "--cluster", cluster, expect=1)
    errors = [line for line in failed.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert f"no space left for the cache {gravel.cache}:" in errors[0]
    assert "gravel cache gc" in failed.stderr
    assert mount("-o", "remount,size=20m", str(disk))
    assert gravel.verify()["damaged"] == {}
    kept = len(gravel.recipes())
    assert kept >= least
    gravel.run("--quiet", "--only", "check")
    assert list(gravel.states().values()).count("cached") == kept
    assert not list(gravel.cache.glob("data/*.lock"))
    assert not list(gravel.cache.rglob("*.part"))
    assert gravel.verify()["damaged"] == {}


def test_an_export_to_a_full_disk_says_so(disk: Path, tmp_path: Path):
    gravel = Gravel(tmp_path / "cache", arguments=ARGUMENTS)
    gravel.run("--quiet", "--only", "check")
    target = disk / "bfs.csv"
    words = gravel.words("export", "bfs", "--to", str(target))
    failed = subprocess.run(words, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert f"could not write '{target}': the disk is full" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert list(disk.iterdir()) == []
