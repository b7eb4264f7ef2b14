"""Two runs of one workflow at once share the work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.drills.gravel import LIMIT, Gravel


@pytest.mark.parametrize(
    "clusters",
    [("inline", "inline"), pytest.param(("local", "inline"), marks=pytest.mark.slow)],
    ids="+".join,
)
def test_each_stage_is_computed_once(tmp_path: Path, clusters: tuple[str, str]):
    gravel = Gravel(tmp_path / "cache", arguments=("--set", "scale=10"))
    processes = [gravel.start("--only", "check", "--cluster", cluster) for cluster in clusters]
    said = [process.communicate(timeout=LIMIT)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert not any("Warning" in text or "Traceback" in text for text in said), said
    records = gravel.records()
    assert [record["state"] for record in records] == ["done", "done"]
    computed = Counter(
        stage["key"] for record in records for stage in record["stages"] if stage["state"] == "computed"
    )
    assert computed == {stage["key"]: 1 for stage in records[0]["stages"]}
    assert records[0]["artifacts"] == records[1]["artifacts"]
    assert gravel.verify()["damaged"] == {}
