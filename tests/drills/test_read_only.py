"""A cache that cannot be written: what it holds is served, nothing is written, and the rest is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.gravel import command

WORKFLOW = """
workflow: served
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, sources: [5]}
"""


def gravel(folder: Path, *words: str, expect: int = 0) -> str:
    done = command(folder, *words, expect=expect)
    return done.stdout + done.stderr


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """A folder with a workflow whose cache is complete and then mounted read-only."""
    (tmp_path / "edges.txt").write_text("".join(f"{a} {a + 1}\n" for a in range(100)))
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    cache = tmp_path / "cache"
    gravel(tmp_path, "run", "w.yaml")
    made = subprocess.run(["mount", "--bind", cache, cache], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", cache], check=True)
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", cache], check=True)


def entries(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in (folder / "cache").rglob("*")}


def test_what_is_cached_is_served_and_nothing_written(served):
    before = entries(served)
    for _ in range(2):
        said = gravel(served, "run", "w.yaml")
        assert "cannot be written: what it holds is served" in said
        assert "3 cached" in said
    assert "cached" in gravel(served, "plan", "w.yaml")
    assert "Traversal" in gravel(served, "show", "bfs")
    assert "report.html" in gravel(served, "report")
    assert "served" in gravel(served, "runs")
    gravel(served, "status")
    gravel(served, "export", "w.yaml", "bfs", "--to", "bfs.csv")
    assert len((served / "bfs.csv").read_text().splitlines()) == 102
    assert "none damaged" in gravel(served, "cache", "verify")
    gravel(served, "cache", "gc")
    assert entries(served) == before


def test_what_would_have_to_be_computed_is_refused(served):
    (served / "edges.txt").write_text("1 2\n5 6\n")
    said = gravel(served, "run", "w.yaml", expect=2)
    assert f"cannot write to the cache {served / 'cache'}" in said
    assert "edges" in said
    assert "would have to be computed" in said
    assert "--cache" in said


def test_damage_is_said_and_stays_where_it_is(served):
    cache = served / "cache"
    subprocess.run(["mount", "-o", "remount,rw,bind", cache], check=True)
    record = sorted((cache / "recipes").iterdir())[0]
    record.write_text("{")
    subprocess.run(["mount", "-o", "remount,ro,bind", cache], check=True)
    said = gravel(served, "run", "w.yaml", expect=2)
    assert record.stem[:12] in said
    assert "stays where it is" in said
    assert "would have to be computed" in said
    assert record.read_text() == "{"


def test_verify_names_what_it_cannot_set_aside(served):
    cache = served / "cache"
    subprocess.run(["mount", "-o", "remount,rw,bind", cache], check=True)
    file = next(cache.glob("data/*/column_indices/c/0"))
    text = bytearray(file.read_bytes())
    text[3] ^= 1
    file.write_bytes(text)
    subprocess.run(["mount", "-o", "remount,ro,bind", cache], check=True)
    said = gravel(served, "cache", "verify", expect=1)
    assert "column_indices/c/0: bytes 0 to 800 are not what was written" in said
    assert "stays where it is" in said
