"""What is no file or folder where the cache has one: set aside, said and made again, never waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.drills.gravel import PROGRAM, environment, make_old
from tests.drills.gravel import command as gravel
from tests.pipeline.store.test_opening import bind

WORKFLOW = """
workflow: obstacles
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
"""
LIMIT = 60.0
"""Seconds after which a command of another user counts as one that waits for ever; it takes two."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the workflow and its cache, computed."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "edges.txt").write_text("".join(f"{a} {a + 1}\n" for a in range(100)))
    (folder / "w.yaml").write_text(WORKFLOW)
    make_old(folder / "edges.txt")
    assert gravel(folder, "run", "w.yaml").returncode == 0
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    subprocess.run(["cp", "-a", made, folder], check=True)
    return folder


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


KINDS: dict[str, Callable[[Path], None]] = {
    "a dangling link": lambda path: path.symlink_to("nowhere/at/all"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a folder": lambda path: (path / "inside").mkdir(parents=True),
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": bind,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


def kinds(*quick: str) -> list[object]:
    """Return every kind as a parameter; all but these are tried with the slow tests."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in KINDS]


def record_of(cache: Path, folder: str) -> Path:
    return sorted((cache / folder).iterdir())[0]


def lock_of(cache: Path, folder: str) -> Path:
    return cache / "locks" / f"{record_of(cache, folder).stem}.lock"


@pytest.mark.parametrize("kind", kinds("a dangling link", "a folder", "a pipe"))
@pytest.mark.parametrize("folder", ["artifacts", "recipes"])
def test_where_a_record_should_be(work, folder, kind):
    path = record_of(work / "cache", folder)
    remove(path)
    KINDS[kind](path)
    done = gravel(work, "run", "w.yaml")
    assert done.returncode == 0, done.stderr
    assert path.is_file()
    assert not path.is_symlink()
    assert path.stem[:12] in done.stdout + done.stderr
    assert "set aside" in done.stdout + done.stderr or "computed again" in done.stdout + done.stderr
    assert any(path.name in str(found) for found in (work / "cache" / "quarantine").rglob("*"))
    assert gravel(work, "cache", "verify").returncode == 0
    again = gravel(work, "run", "w.yaml", "--json")
    assert '"computed": 0' in again.stdout


@pytest.mark.parametrize("kind", kinds("a folder"))
def test_where_a_lock_should_be(work, kind):
    cache = work / "cache"
    lock = lock_of(cache, "recipes")
    remove(cache / "recipes" / f"{lock.stem}.json")
    remove(lock)
    KINDS[kind](lock)
    done = gravel(work, "run", "w.yaml")
    assert done.returncode == 0, done.stderr
    assert (cache / "recipes" / f"{lock.stem}.json").is_file()
    assert not (cache / "locks" / "nowhere").exists()


@pytest.mark.parametrize("kind", kinds("a pipe"))
def test_where_leases_and_memos_should_be(work, kind):
    cache = work / "cache"
    for path in (
        cache / "leases" / "20260101-000000-old-0000.lock",
        cache / "data" / "0123456789abcdef.lock",
        record_of(cache, "digests"),
    ):
        path.parent.mkdir(exist_ok=True)
        remove(path)
        KINDS[kind](path)
    run = cache / "runs" / "20200101-000000-old-0000"
    run.mkdir()
    KINDS[kind](run / "run.json")
    for words in (("run", "w.yaml"), ("plan", "w.yaml"), ("runs",), ("cache", "verify")):
        done = gravel(work, *words)
        assert done.returncode == 0, done.stderr
    shutil.rmtree(run)
    done = gravel(work, "cache", "gc", "--yes")
    assert done.returncode == 0, done.stderr
    assert "spared" not in done.stdout
    assert list((cache / "leases").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a dangling link", "a link to itself", "a pipe", "a socket"])
@pytest.mark.parametrize("folder", ["artifacts", "recipes", "data", "locks", "leases", "runs", "digests"])
def test_where_a_folder_should_be(work, folder, kind):
    remove(work / "cache" / folder)
    KINDS[kind](work / "cache" / folder)
    done = gravel(work, "run", "w.yaml")
    assert done.returncode == 0, done.stderr
    assert (work / "cache" / folder).is_dir()
    assert not (work / "cache" / folder).is_symlink()
    assert gravel(work, "cache", "verify").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inside", ["", "row_offsets/zarr.json", "row_offsets/c/0"])
def test_where_data_should_be(work, inside, kind):
    cache = work / "cache"
    (group,) = (path.parent.parent for path in (cache / "data").glob("*/row_offsets/zarr.json"))
    target = group / inside if inside else group
    remove(target)
    KINDS[kind](target)
    done = gravel(work, "run", "w.yaml")
    assert done.returncode == 0, done.stderr
    assert "damaged" in done.stdout + done.stderr
    assert gravel(work, "cache", "verify").returncode == 0


@pytest.mark.parametrize("kind", ["a dangling link", "a link to itself", "a pipe"])
def test_where_the_cache_itself_should_be(work, kind):
    remove(work / "cache")
    KINDS[kind](work / "cache")
    done = gravel(work, "run", "w.yaml")
    assert done.returncode == 2
    assert "the cache" in done.stderr
    assert "--cache" in done.stderr


@pytest.mark.parametrize("kind", ["a dangling link", "a pipe"])
def test_where_quarantine_should_be(work, kind):
    KINDS[kind](work / "cache" / "quarantine")
    record_of(work / "cache", "recipes").write_text("{")
    assert gravel(work, "run", "w.yaml").returncode == 0


@pytest.fixture
def elsewhere(made: Path) -> Iterator[Path]:
    """A copy of the folder that belongs to another user and that they can reach."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        subprocess.run(["cp", "-a", made, f"{folder}/work"], check=True)
        subprocess.run(["chown", "-R", "65534:65534", f"{folder}/work"], check=True)
        Path(folder, "work").chmod(0o755)
        yield Path(folder, "work")


@pytest.mark.parametrize("folder", ["artifacts", "recipes"])
def test_a_record_that_may_not_be_read_is_named(elsewhere, folder):
    path = record_of(elsewhere / "cache", folder)
    os.chown(path, 0, 0)
    path.chmod(0o600)
    somebody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [*somebody, *PROGRAM, "run", "w.yaml", "--cache", "cache", "--cluster", "inline"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**environment(), "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(elsewhere)},
    )
    unreadable = "Permission denied" in done.stderr and sys.executable in done.stderr
    if unreadable or "ModuleNotFoundError" in done.stderr:
        pytest.skip("another user cannot start Python from here")
    assert done.returncode == 2, done.stderr
    assert f"{path.name} cannot be read: permission denied (it belongs to root, mode 600)" in done.stderr
    assert "Traceback (most recent" not in done.stderr
    assert "gravel-traceback" not in done.stderr
