"""A file that changes while a stage reads it must never be kept under the digest of what it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.options import RunOptions, RunOutcome
from gravel.stages.stage import FileInput
from tests.pipeline.tiny_stages import MAKE, make, plan_of, stage_run


def reads(path: Path, *, edit: bool) -> Plan:
    def run(context: Any, parameters: Any) -> Any:
        text = path.read_text()
        if edit:
            path.write_text(text + "2 3\n")
        return make(context, parameters)

    stage = replace(MAKE, files=lambda parameters: [FileInput(str(path))], run=run)
    return plan_of(stage_run("a", stage, value=1))


def run(plan: Plan, root: Path) -> RunOutcome:
    return execute(plan, RunOptions(cache_root=root, cluster="inline", backend="cpu"))


def test_what_was_read_from_a_changing_file_is_not_kept(tmp_path: Path):
    path, root = tmp_path / "edges.txt", tmp_path / "cache"
    path.write_text("0 1\n")
    [failed] = run(reads(path, edit=True), root).record["stages"]
    assert failed["state"] == "failed"
    assert f"{path} changed while it was read" in failed["error"]
    assert not list(root.glob("recipes/*"))
    assert run(reads(path, edit=False), root).record["stages"][0]["state"] == "computed"
    assert run(reads(path, edit=False), root).record["stages"][0]["state"] == "cached"
