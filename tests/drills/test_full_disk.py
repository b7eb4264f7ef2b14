"""A disk that fills up: one message, exit 1, what was computed stays, and the next run goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.gravel import LIMIT, Gravel, environment

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


SPLIT = """
workflow: split
stages:
  edges: {stage: ingest, source: {rmat: {scale: 12, edge_factor: 16, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  split: {stage: partition, input: graph, ranks: 2}
"""


def told(failed: subprocess.CompletedProcess[str]) -> str:
    """Return the one sentence of a run that could not write."""
    assert failed.returncode == 1, failed.stdout + failed.stderr
    said = failed.stdout + failed.stderr
    assert "Traceback" not in said
    assert "requested and" not in said
    errors = [line for line in failed.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, failed.stderr
    return errors[0]


@pytest.mark.parametrize(
    "share", [40, 150, *(pytest.param(k, marks=pytest.mark.slow) for k in range(10, 480, 10))]
)
def test_a_disk_that_fills_up_at_any_place_of_a_partition(disk: Path, tmp_path: Path, share: int):
    """The disk has room for the results so far and this many kB of what the partition writes."""
    file = tmp_path / "split.yaml"
    file.write_text(SPLIT)
    assert mount("-o", "remount,size=20m", str(disk))
    gravel = Gravel(disk / "cache", file)
    gravel.run("--quiet", "--only", "graph")
    usage = shutil.disk_usage(disk)
    assert mount("-o", f"remount,size={usage.used // 1024 + share}k", str(disk))
    words = gravel.words("run", "--cluster", "inline")
    failed = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, env=environment())
    error = told(failed)
    assert f"no space left for the cache {gravel.cache}" in error
    assert "bytes are free" in error
    assert "gravel cache gc" in failed.stderr
    assert mount("-o", "remount,size=20m", str(disk))
    assert gravel.verify()["damaged"] == {}
    gravel.run("--quiet")
    assert gravel.states() == {"edges": "cached", "graph": "cached", "split": "computed"}


@pytest.mark.parametrize("limit", [20_000, 60_000])
def test_a_limit_on_the_size_of_files_is_named(tmp_path: Path, limit: int):
    file = tmp_path / "split.yaml"
    file.write_text(SPLIT)
    gravel = Gravel(tmp_path / "cache", file)
    words = ["prlimit", f"--fsize={limit}", *gravel.words("run", "--cluster", "inline")]
    failed = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, env=environment())
    error = told(failed)
    assert f"limit: {limit:,} bytes" in error
    assert "ulimit -f" in failed.stderr
    gravel.run("--quiet")
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
