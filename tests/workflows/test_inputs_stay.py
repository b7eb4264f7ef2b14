"""No stage of gravel's own writes into what it reads: other stages read the same memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.scheduler import placement
from gravel.pipeline.store.identity import identify
from gravel.pipeline.workers import stage_run
from gravel.stages.artifact import Artifact
from tests.drills.gravel import PROGRAM, call_inside
from tests.workflows.memory_runs import all_stages_on


@pytest.mark.parametrize(
    "source",
    ["rmat: {scale: 7}", pytest.param("grid: {dimensions: [20, 20]}", marks=pytest.mark.slow)],
)
def test_inputs_in_memory_are_what_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    seen: dict[str, int] = {}
    run = stage_run._run

    def watched(task: Any, context: Any, inputs: dict[str, Any], *others: Any) -> Any:
        given = [
            each for value in inputs.values() for each in (value if isinstance(value, tuple) else (value,))
        ]
        artifacts = [each for each in given if isinstance(each, Artifact)]
        before = [identify(each) for each in artifacts]
        made = run(task, context, inputs, *others)
        assert [identify(each) for each in artifacts] == before, f"{task.key} writes into its input"
        seen[task.stage.name] = seen.get(task.stage.name, 0) + len(artifacts)
        return made

    monkeypatch.setattr(stage_run, "_run", watched)
    monkeypatch.setattr(placement, "MIN_BYTES", 1)
    file = tmp_path / "all.yaml"
    file.write_text(all_stages_on(f"source: {{{source}}}", "degree"))
    cache = str(tmp_path / "cache")
    done = call_inside([*PROGRAM, "run", str(file), "--cluster", "inline", "--quiet", "--cache", cache])
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"symmetrize", "reorder", "partition", "compress", "traverse", "verify", "report"} <= {*seen}
    assert all(seen[name] for name in seen if name != "ingest")
