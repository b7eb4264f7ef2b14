"""The `gravel` command as a process: it ends at once with its code, and where its output goes nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gravel.pipeline.progress.events import JsonDisplay, QuietDisplay
from gravel.pipeline.scheduler.run_events import RunEvents

PROGRAM = """\
import atexit, os, sys, threading, time
from concurrent import futures
from gravel.pipeline.cli import program

class Late:
    def __del__(self):
        os.write(2, b"taken apart")

late = Late()
late.self = late
atexit.register(lambda: print("at exit"))
{before}
program.main = lambda **_: {main}
program.program()
"""


def run(main: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = PROGRAM.format(main=main, before=before)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=buffered)


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_it_ends_with_the_code_of_the_command(code: int) -> None:
    done = run(f"(print('out'), print('err', file=sys.stderr), sys.exit({code}))")
    assert (done.returncode, done.stdout, done.stderr) == (code, "out\nat exit\n", "err\n")


def test_it_waits_for_threads_that_a_process_waits_for() -> None:
    work = "threading.Thread(target=lambda: (time.sleep(0.3), print('thread'))).start()"
    idle = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    assert run("sys.exit(0)", f"{work}\n{idle}").stdout == "thread\nat exit\n"


def test_a_pool_of_threads_that_nobody_closed_ends() -> None:
    pool = "pool = futures.ThreadPoolExecutor(1)\npool.submit(int).result()"
    assert run("sys.exit(0)", pool).returncode == 0


def test_whoever_read_the_output_may_be_gone() -> None:
    done = run("(sys.stdout.write('x'), sys.exit(0))", "atexit._clear(); os.close(1)")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_exit_is_raised() -> None:
    done = run("1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert run("sys.exit('words')").stderr.startswith("words\n")


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
    events._display = JsonDisplay(Full())  # type: ignore[arg-type]
    events._data_sets = {}
    events.emit("note", message="a")
    assert isinstance(events._display, QuietDisplay)
    events.emit("note", message="b")
