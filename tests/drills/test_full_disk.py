"""A disk that fills up: one message, exit 1, what was computed stays, and the next run goes on."""

from __future__ import annotations

import errno
import random
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.drills.conftest import share
from tests.drills.gravel import LIMIT, Gravel, environment
from tests.drills.outcomes import Tally, limited
from tests.drills.preloaded import preloaded

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
        pytest.param("local", "260k", 0, marks=pytest.mark.slow),
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
    "share", [120, 150, *(pytest.param(k, marks=pytest.mark.slow) for k in range(130, 400, 10))]
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
    failed = forked.run(words[1:], cwd=tmp_path, env=environment())
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


CLEAR = re.compile(r"no space left|disk is full|quota|limit on file sizes", re.IGNORECASE)
"""What the one error must speak of."""

REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to preload that has the disk full from a given change on."""
    return preloaded("full_disk.c", tmp_path_factory.mktemp("shim"))


class FullDisk:
    """Runs into a full disk, and what is there afterwards."""

    def __init__(self, folder: Path, scale: int) -> None:
        self.folder, self.tally = folder, Tally()
        self.arguments = ("--set", f"scale={scale}")
        reference = Gravel(folder / "reference", arguments=self.arguments, inside=True)
        reference.run("--quiet", "--only", "check")
        reference.export("bfs", folder / "reference.csv")
        self.answer = (folder / "reference.csv").read_bytes()

    def run(self, cache: Path, harm: str, *words: str, **how: object) -> bool:
        """Run into it in a process of its own; returns whether it failed."""
        gravel = Gravel(cache, arguments=self.arguments)
        command = gravel.words("run", "--only", "check", "--cluster", "inline", *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, **how)  # type: ignore[call-overload]
        self.tally.check(done, "run", harm)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        is_refused = done.returncode == 2 and "and the disk of the cache" in done.stderr
        if (
            done.returncode
            and not is_refused
            and (done.returncode != 1 or len(errors) != 1 or not CLEAR.search(errors[0]))
        ):
            self.tally.fail(f"exit {done.returncode}, not clear: {errors or done.stderr[-300:]}", harm)
        self.tally.counts["places"] += 1
        return done.returncode != 0

    def mend(self, cache: Path, harm: str) -> None:
        """Run again with space."""
        gravel = Gravel(cache, arguments=self.arguments, inside=True)
        try:
            with limited():
                assert gravel.verify()["damaged"] == {}
                kept = len(gravel.recipes())
                gravel.run("--quiet", "--only", "check")
                assert list(gravel.states().values()).count("cached") == kept
                assert not list(gravel.cache.glob("data/*.lock"))
                assert not list(gravel.cache.rglob("*.part"))
                gravel.export("bfs", self.folder / "again.csv")
                assert (self.folder / "again.csv").read_bytes() == self.answer
                assert gravel.verify()["damaged"] == {}
        except AssertionError as error:
            self.tally.fail(f"the next run: {error}", harm)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_disk_full_from_any_change_on(tmp_path, shim, tries, seed) -> None:
    """Three in five of the places, evenly over all changes that a run makes; three errors in turn."""
    full, cache = FullDisk(tmp_path, scale=8), tmp_path / "cache"
    plain = environment() | {"LD_PRELOAD": str(shim), "DRILL_UNDER": str(cache)}
    full.run(cache, "nothing", env=plain | {"DRILL_COUNT": str(tmp_path / "count")})
    changes = int((tmp_path / "count").read_text())
    assert changes > 20
    places = (
        share(tries("disk_full"), 0, 5) + share(tries("disk_full"), 1, 5) + share(tries("disk_full"), 2, 5)
    )
    for number in range(places):
        at, how = 1 + number * changes // places, REFUSALS[number % 3]
        shutil.rmtree(cache)
        harm = f"{errno.errorcode[how]} from change {at} of {changes} on"
        failed = full.run(cache, harm, env=plain | {"DRILL_AT": str(at), "DRILL_ERRNO": str(how)})
        full.tally.counts["failed runs"] += failed
        full.mend(cache, harm)
    full.tally.tell("disk full at a change")


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_disk_of_any_size(disk: Path, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """One in five of the places: file systems of 8 to 600 kB."""
    full, dice = FullDisk(tmp_path, scale=12), random.Random(f"disk {seed}")
    for _ in range(share(tries("disk_full"), 3, 5)):
        size = round(8 * 75 ** dice.random())
        assert mount("-o", f"remount,size={size}k", str(disk))
        harm = f"a file system of {size} kB"
        full.tally.counts["failed runs"] += full.run(disk / "cache", harm, env=environment())
        assert mount("-o", "remount,size=20m", str(disk))
        full.mend(disk / "cache", harm)
        shutil.rmtree(disk / "cache")
    full.tally.tell("small file systems")


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_files_of_limited_size(tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """One in five of the places: `ulimit -f` of 0.1 to 200 kB."""
    full, dice = FullDisk(tmp_path, scale=12), random.Random(f"ulimit {seed}")
    cache = tmp_path / "cache"
    for _ in range(share(tries("disk_full"), 4, 5)):
        size = round(100 * 2000 ** dice.random())

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        harm = f"no file above {size} bytes"
        failed = full.run(cache, harm, env=environment(), preexec_fn=limit)
        full.tally.counts["failed runs"] += failed
        full.mend(cache, harm)
        shutil.rmtree(cache, ignore_errors=True)
    full.tally.tell("limited files")
