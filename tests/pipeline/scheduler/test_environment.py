"""A process may run several workflows: one run's cluster leaves nothing for the next."""

from __future__ import annotations

import os
from pathlib import Path

from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.options import RunOptions
from tests.pipeline.tiny_stages import MAKE, plan_of, stage_run


def environment() -> dict[str, str]:
    # Importing Dask sets its own mark.
    return {name: value for name, value in os.environ.items() if not name.startswith("__DASK")}


def test_a_cluster_leaves_the_environment_as_it_was(tmp_path: Path) -> None:
    before = environment()
    for value in (1, 2):
        options = RunOptions(cache_root=tmp_path / "cache", cluster="local", backend="cpu", workers=1)
        outcome = execute(plan_of(stage_run("a", MAKE, value=value)), options)
        assert outcome.state == "done"
        assert (outcome.folder / "logs" / "dask.log").is_file()
        assert environment() == before
