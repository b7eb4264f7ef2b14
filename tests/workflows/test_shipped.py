"""Every workflow runs as it is shipped, on a machine without a network or a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.workflow.loading import load_workflow

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"


SHIPPED = sorted(
    {*WORKFLOWS.glob("*.yaml")} - {WORKFLOWS / "published.yaml"}
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
