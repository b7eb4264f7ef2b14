"""Every workflow runs as it is shipped, on a machine without a network or a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow
from tests.drills.gravel import QUICKSTART, Gravel

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"


SHIPPED = sorted(
    {*WORKFLOWS.glob("*.yaml"), *WORKFLOWS.glob("papers/*.yaml")} - {WORKFLOWS / "papers" / "published.yaml"}
)  # figures of papers, for reports


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_nothing_that_a_workflow_reads_by_default_is_missing_or_elsewhere(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for run in build_plan(load_workflow(path)).runs.values():
        for file in run.stage.files(run.parameters):
            assert Path(file.location).is_file(), f"{run.key} reads {file.location}"
            assert Path(file.location).is_relative_to(WORKFLOWS)


def ids(folder: Path, *words: str) -> dict[str, list[str]]:
    """Return the ids of the quickstart's results, up to what is searched, made in a cache of their own."""
    gravel = Gravel(folder, QUICKSTART, ("--set", "scale=10", "--set", "sources=2"))
    gravel.run(*words)
    found = {stage["key"]: stage["outputs"] for stage in gravel.records()[-1]["stages"]}
    return {key: found[key] for key in ("edges", "graph", "ordered", "split", "packed")}


def test_ids_depend_on_no_process_or_thread(tmp_path: Path) -> None:
    here = ids(tmp_path / "here", "--backend", "cpu")
    workers = ids(tmp_path / "workers", "--backend", "cpu", "--cluster", "local", "--workers", "2")
    assert workers == here


@pytest.mark.gpu
def test_ids_depend_on_no_backend(tmp_path: Path) -> None:
    assert ids(tmp_path / "cuda", "--backend", "cuda") == ids(tmp_path / "cpu", "--backend", "cpu")
