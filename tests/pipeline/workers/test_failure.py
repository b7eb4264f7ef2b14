"""A file that is cut while a stage reads it, mapped: the worker dies, and what it had mapped is checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from tests.pipeline.memory_stages import FILL, LOOK
from tests.pipeline.run_case import searches, whole
from tests.pipeline.tiny_stages import count, plan_of, stage_run

NUMBERS = 1 << 18
BUS_ERROR = -7

RUN = """
import sys
from pathlib import Path
from tests.pipeline.workers.test_failure import run
sys.exit(run(Path(sys.argv[1]), "inline").exit_code)
"""


def run(root: Path, cluster: str) -> RunOutcome:
    plan = plan_of(
        stage_run("a", FILL, value=1, count=NUMBERS, marks=str(root)),
        stage_run("b", LOOK, "a", awaits=f"{root}/cache/recipes/*.json", cut=str(root / "cut")),
    )
    options = RunOptions(
        cache_root=root / "cache", cluster=cluster, backend="cpu", workers=1, resident_memory="0"
    )
    return execute(plan, options)


def assert_computed_again(root: Path, outcome: RunOutcome) -> None:
    assert outcome.exit_code == 0
    (seen,) = searches(root / "cache", outcome, "b")
    assert seen["sum"] == NUMBERS * (NUMBERS + 1) // 2
    assert count(root, 1) == 2
    assert len(list((root / "cache" / "quarantine").iterdir())) == 1
    whole(root / "cache")


def test_a_run_with_workers_goes_on(tmp_path: Path) -> None:
    assert_computed_again(tmp_path, run(tmp_path, "local"))


def test_a_run_without_workers_ends_and_the_next_one_goes_on(tmp_path: Path) -> None:
    first = subprocess.run([sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, check=False)
    assert first.returncode == BUS_ERROR
    assert_computed_again(tmp_path, run(tmp_path, "inline"))
