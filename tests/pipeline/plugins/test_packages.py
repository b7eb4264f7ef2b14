"""Stages of installed packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plugins.packages import Catalogue, find_offers, known_stages
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.stage import all_stages
from tests.pipeline.plugins.case import SAMPLE, WORKFLOW, edit


def package(folder: Path, name: str, points: dict[str, str]) -> None:
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [f"{key} = {value}" for key, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[gravel.stages]", *lines, ""]))


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """An importable folder with a package that adds a good stage, and others that do not."""
    (tmp_path / "tightness").mkdir()
    (tmp_path / "tightness" / "__init__.py").touch()
    (tmp_path / "tightness" / "stage.py").write_text(SAMPLE.read_text())
    package(tmp_path, "tightness", {"triangles": "tightness.stage:STAGE"})
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [each for each in sys.modules if each.partition(".")[0] == "tightness"]:
        del sys.modules[name]


def catalogue(folder: Path) -> Catalogue:
    return Catalogue(all_stages(), find_offers([str(folder)]))


def test_a_package_adds_a_stage(packages):
    found = catalogue(packages)
    assert "triangles" in found
    assert "tightness.stage" not in sys.modules
    stage = found["triangles"]
    assert stage.origin.place == "tightness 1.2"
    before = stage.origin.code
    edit(packages / "tightness" / "stage.py", "arcs are kept", "arcs stay")
    assert catalogue(packages)["triangles"].origin.code != before
    plan = build_plan(load_workflow(write(packages), stages=found))
    assert plan.runs["tight"].stage is stage


def write(folder: Path) -> Path:
    path = folder / "w.yaml"
    path.write_text(WORKFLOW.replace("plugins: [mine.py]\n", ""))
    return path


def test_broken_packages_harm_nobody_else(packages):
    package(packages, "absent", {"nowhere": "not_there_at_all:STAGE"})
    package(packages, "greedy", {"ingest": "tightness.stage:STAGE"})
    package(packages, "other", {"renamed": "tightness.stage:STAGE", "text": "tightness.stage:__doc__"})
    found = catalogue(packages)
    assert set(found.sound()) == {*all_stages(), "triangles"}
    problems = found.problems()
    assert "greedy 1.2 must choose another" in problems["ingest"]
    assert "cannot be imported: ModuleNotFoundError" in problems["nowhere"]
    assert "its entry point calls it 'renamed'" in problems["renamed"]
    assert "is a str" in problems["text"]
    package(packages, "twice", {"triangles": "tightness.stage:STAGE"})
    with pytest.raises(RequestError, match=r"comes from tightness 1.2 and twice 1.2"):
        catalogue(packages)["triangles"]


def test_the_catalogue_has_what_gravel_has():
    assert set(all_stages()) <= set(known_stages())
    assert all(stage.origin is None for stage in all_stages().values())
