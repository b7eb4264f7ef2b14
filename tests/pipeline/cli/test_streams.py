"""The command where its output goes nowhere: closed streams, readers that have gone, full disks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gravel.pipeline.progress.events import JsonReporter, QuietReporter
from gravel.pipeline.scheduler.run_events import RunEvents

GRAVEL = f'"{sys.executable}" -c "from gravel.pipeline.cli import main; main()"'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "w.yaml").write_text("stages: {edges: {stage: ingest, source: {path: {vertices: 5}}}}")
    return tmp_path


def shell(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    text = command.replace("gravel", GRAVEL)
    return subprocess.run(["bash", "-c", text], cwd=home, capture_output=True, text=True, timeout=60)


def test_a_reader_that_has_gone_is_no_failure(home: Path) -> None:
    # The pipe's reader is gone before anything is written.
    done = shell(home, "(sleep 0.5; gravel stages; echo $? >&2) | true")
    assert done.stderr == "0\n"


def test_an_error_keeps_its_exit_code_when_nobody_reads_it(home: Path) -> None:
    done = shell(home, "((sleep 0.5; gravel plan nothing.yaml; echo $? > code) 2>&1) | true; cat code")
    assert done.stdout == "2\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_failure(home: Path, closed: str) -> None:
    done = shell(home, f"gravel plan w.yaml {closed}")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr


class Full:
    """A stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        """Nothing to do."""


def test_a_run_goes_on_unseen_when_its_events_cannot_be_written() -> None:
    events = RunEvents.__new__(RunEvents)
    events._reporter = JsonReporter(Full())  # type: ignore[arg-type]
    events.emit("note", message="a")
    assert isinstance(events._reporter, QuietReporter)
    events.emit("note", message="b")
