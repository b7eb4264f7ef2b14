"""One run as a child process: its log, its time limit, and being asked to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gravel.pipeline.core.files import ROOT, given_mask
from gravel.pipeline.store.opening import names_in, read_file

STOP_GRACE = 30.0
"""Seconds that a run has to end after it was interrupted; the stage at work ends or is given up within."""
POLL = 0.1


@dataclass(frozen=True)
class Ended:
    """How a run's process ended.

    `stopped` says why it was interrupted ("time limit" or "supervisor"), if it was; `killed`, whether it had
    to be; `run` is the id of its record, if it made one; `seconds` are its own.
    """

    exit_code: int
    seconds: float
    run: str | None
    stopped: str | None
    killed: bool


def program(entry: str) -> list[str]:
    """Return the words that start a process with the function `main` of a module of this very gravel."""
    home = str(ROOT)
    # After the standard library, which nothing may hide, and before any other gravel that is installed.
    place = "next((i for i, path in enumerate(sys.path) if path.endswith('-packages')), len(sys.path))"
    code = f"import sys; sys.path.insert({place}, {home!r}); from {entry} import main; main()"
    return [sys.executable, "-P", "-c", code]


def carry_out(
    words: Sequence[str],
    *,
    root: Path,
    log: Path,
    lease: int,
    limit: float | None,
    asked: Callable[[], int],
    started: Callable[[str], None],
    grace: float = STOP_GRACE,
) -> Ended:
    """Run `gravel` with these words to its end.

    Parameters
    ----------
    words : what follows `gravel`.
    root : the cache, where the run's record appears.
    log : file for what the run prints.
    lease : descriptor of the job's lease, which the run holds too: while it lives, the job runs.
    limit : seconds after which it is interrupted as by Ctrl-C, and `grace` later killed; None for no limit.
    asked : how often the supervisor was asked to stop; the run is interrupted as often.
    started : called with the id of the run's record once there is one.

    """
    before = _run_names(root)
    began = time.monotonic()
    watched, tie = os.pipe()
    with log.open("wb") as output:
        child = subprocess.Popen(
            [*program("gravel.pipeline.cli.bound_process"), str(watched), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(watched, lease),
            start_new_session=True,
            umask=given_mask(),
        )
    os.close(watched)
    run = stopped = None
    killed = False
    passed_on = 0
    deadline = None if limit is None else began + limit
    try:
        while True:
            try:
                exit_code = child.wait(POLL)
                break
            except subprocess.TimeoutExpired:
                pass
            if run is None and (run := _find_run(root, before, child.pid)) is not None:
                started(run)
            now = time.monotonic()
            if stopped is not None and deadline is not None and now > deadline:
                killed = True
                os.killpg(child.pid, signal.SIGKILL)
            elif deadline is not None and now > deadline:
                stopped, deadline = "time limit", now + grace
                child.send_signal(signal.SIGINT)
            while passed_on < asked():
                passed_on += 1
                if stopped is None:
                    stopped, deadline = "supervisor", now + grace
                child.send_signal(signal.SIGINT)
    finally:
        os.close(tie)
        if child.poll() is None:  # The supervisor failed; the lease must not be free while the run lives.
            _end(child, grace)
    run = run or _find_run(root, before, child.pid)
    return Ended(exit_code, time.monotonic() - began, run, stopped, killed)


def _end(child: subprocess.Popen[bytes], grace: float) -> None:
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _run_names(root: Path) -> set[str]:
    try:
        return set(names_in(root, "runs"))
    except OSError:
        return set()


def _find_run(root: Path, before: set[str], pid: int) -> str | None:
    """Return the run that a process made, among those that were not there before it."""
    for name in _run_names(root) - before:
        try:
            record = json.loads(read_file(root, f"runs/{name}/run.json"))
        except (OSError, ValueError, RecursionError):
            continue
        if record.get("pid") == pid and record.get("host") == os.uname().nodename:
            return name
    return None
