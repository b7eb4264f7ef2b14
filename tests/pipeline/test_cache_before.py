"""A cache that gravel filled when its packages were `pipeline`, `stages` and `kernels` is used as it is.

`cache_before.tar.gz` holds a workflow, its file, and the cache after three runs. The first computed
everything, the others nothing. Then a schedule was added.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main

BEFORE = Path(__file__).with_name("cache_before.tar.gz")
FIRST = "20261125-053026"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(BEFORE) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "cache").chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def gravel(*words: str) -> Result:
    found = CliRunner().invoke(main, words, standalone_mode=False)
    assert found.exit_code == 0, f"{found.output} {found.exception!r}"
    return found


def test_recipes_cached_before_still_hit(study: Path):
    # What is timed belongs to the hardware; versions of stages may be higher since, as that of compress, and
    # those of ingest and symmetrize, which give the same edges and rows again.
    words = ("before.yaml", "--backend", "cpu")
    gravel("run", *words, "--only", "graph", "--cluster", "inline", "--quiet")
    stages = json.loads(gravel("plan", *words, "--json").output)["stages"]
    states = {each["key"]: each["state"] for each in stages}
    for key in ("edges", "graph", "ordered[order=original]", "ordered[order=degree]"):
        assert states[key] == "cached", (key, states)


def test_a_run_uses_what_is_there_and_ends_well(study: Path):
    gravel("run", "before.yaml", "--backend", "cpu", "--cluster", "inline", "--quiet")
    newest = json.loads(gravel("status", "--json").output)
    states = {each["key"]: each["state"] for each in newest["stages"]}
    assert states["ordered[order=degree]"] == "cached"
    assert set(states.values()) <= {"cached", "computed"}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("runs",), "before-"),
        (("status", FIRST), "packed[order=degree]"),
        (("show", FIRST, "graph"), "Graph"),
        (("logs", FIRST, "edges"), "5 edges, 6 vertices"),
        (("report", FIRST), "report.html"),
        (("cache", "ls"), "artifacts"),
        (("cache", "verify"), "none damaged"),
        (("cache", "gc"), "would remove 0 artifacts"),
        (("schedule", "list"), "nightly"),
        (("export", "before.yaml", "graph", "--to", "graph.npz", "--backend", "cpu"), ""),
    ],
)
def test_every_verb_reads_it(study: Path, words: tuple[str, ...], shown: str):
    assert shown in gravel(*words).output


def test_runs_of_before_are_compared_with_each_other(study: Path):
    runs = [each["run"] for each in json.loads(gravel("runs", "--json").output)]
    assert len(runs) == 3
    assert "cached" in gravel("diff", runs[-1], runs[0]).output
