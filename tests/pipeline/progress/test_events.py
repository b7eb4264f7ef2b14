"""What stages say, own ones included: whatever is in it, and however long it is."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import MAX_MESSAGE, on_one_line, shown
from gravel.pipeline.progress.events import PlainDisplay
from gravel.pipeline.records.past_runs import read_run
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.stages.errors import StageError
from tests.pipeline.tiny_stages import MAKE, plan_of, stage_run

SURROGATE = "a\udcff and \ud800"
LONG = "x" * 5_000_000


def run(root: Path, work: Callable[[Any], None]) -> tuple[RunOutcome, str]:
    def say(context: Any, parameters: Any) -> Any:
        work(context)
        return MAKE.run(context, parameters)

    stream = io.StringIO()
    plan = plan_of(stage_run("a", replace(MAKE, run=say), value=1))
    options = RunOptions(cache_root=root / "cache", cluster="inline", display=PlainDisplay(stream))
    return execute(plan, options), stream.getvalue()


def fail(error: Exception) -> Callable[[Any], None]:
    def work(context: Any) -> None:
        raise error

    return work


@pytest.mark.parametrize(
    "error",
    [ValueError(SURROGATE), StageError(SURROGATE), StageError("no", hint=SURROGATE), OSError(SURROGATE)],
)
def test_a_surrogate_in_a_message_is_written_as_its_number(tmp_path: Path, error: Exception) -> None:
    """It was "a worker could not take it: UnicodeEncodeError" with a traceback in one line."""
    outcome, told = run(tmp_path, fail(error))
    (stage,) = outcome.record["stages"]
    assert outcome.state == "failed"
    assert "\\udcff and \\ud800" in f"{stage['error']} {stage['hint']}"
    assert "UnicodeEncodeError" not in stage["error"]
    told.encode()
    kept = read_run(outcome.folder)
    assert kept is not None
    assert kept["stages"][0]["error"] == stage["error"]
    assert (outcome.folder / "report.html").exists()


def test_a_surrogate_in_a_remark_a_log_or_a_unit(tmp_path: Path) -> None:
    def work(context: Any) -> None:
        context.remark(SURROGATE)
        context.log(SURROGATE)
        context.progress(1, 1, SURROGATE)

    outcome, told = run(tmp_path, work)
    assert outcome.state == "done"
    assert "a: a\\udcff and \\ud800" in told
    assert (outcome.folder / "logs/a.log").read_text().count("a\\udcff") == 2


@pytest.mark.parametrize("error", [ValueError(LONG), StageError(LONG), StageError("no", hint=LONG)])
def test_a_long_message_is_cut_and_the_log_has_all(tmp_path: Path, error: StageError) -> None:
    """50 MB were printed twice, and written to the record, the page and twice to the log."""
    outcome, told = run(tmp_path, fail(error))
    (stage,) = outcome.record["stages"]
    text = f"{stage['error']}{stage['hint']}"
    assert f"({len(LONG):,} characters" in text or "(5,000,012 characters" in text
    assert len(text) < 3 * MAX_MESSAGE
    assert len(told) < 2000
    sizes = {each.name: each.stat().st_size for each in outcome.folder.glob("*.*")}
    assert max(sizes.values()) < 200_000, sizes
    if "xx" in stage["error"]:
        assert len(LONG) < (outcome.folder / "logs/a.log").stat().st_size < len(LONG) + 20_000


def test_a_long_remark_is_cut(tmp_path: Path) -> None:
    outcome, told = run(tmp_path, lambda context: context.remark(LONG))
    assert outcome.state == "done"
    assert len(told) < 2 * MAX_MESSAGE
    assert len(outcome.record["stages"][0]["remarks"][0]) < 2 * MAX_MESSAGE


def test_texts() -> None:
    assert shown("fine ü") == "fine ü"
    assert shown("short") == "short"
    assert on_one_line("short") == "short"
    assert on_one_line("a\nb") == "a..."
    assert on_one_line("y" * 300) == "y" * 200 + "..."
