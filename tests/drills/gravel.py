"""The command line, in processes of its own or in this one, and what it left in the cache."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

from gravel.pipeline.cli import main
from gravel.pipeline.core.files import shows_every_change
from tests import forked

QUICKSTART = Path(__file__).resolve().parents[2] / "workflows" / "quickstart.yaml"
PROGRAM = [sys.executable, "-c", "from gravel.pipeline.cli.program import program; program()"]
IN_MEMORY = (
    sys.executable,
    "-c",
    "from gravel.pipeline.scheduler import placement; placement.MIN_BYTES = 1; "
    "from gravel.pipeline.cli.program import program; program()",
)
"""The same, where results of any size stay in memory, and are written behind the stages that read them."""
LIMIT = 240.0
"""Seconds after which a command counts as hung."""


@dataclass(frozen=True)
class Gravel:
    """Commands on one cache; `arguments` follow each workflow file, as `--set scale=8` does.

    With `inside` they run in this process, which saves the second that a new one takes to start. `program`
    is what starts a run.
    """

    cache: Path
    file: Path = QUICKSTART
    arguments: tuple[str, ...] = ()
    inside: bool = False
    program: tuple[str, ...] = tuple(PROGRAM)

    def words(self, verb: str, *words: str) -> list[str]:
        """Return the whole command line of a verb on the workflow file."""
        place = ["--cache", str(self.cache)]
        return [*self.program, verb, str(self.file), *self.arguments, *words, *place]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `gravel run` in a session of its own, by which its processes are found."""
        return subprocess.Popen(
            self.words("run", *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment(),
        )

    def run(self, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run to the end on this process's own machine, inline unless told otherwise."""
        if "--cluster" not in words:
            words = ("--cluster", "inline", *words)
        return self._call(self.words("run", *words), expect)

    def export(self, stage: str, target: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """Export a stage inline."""
        return self._call(
            self.words("export", stage, "--to", str(target), "--cluster", "inline", *words), expect=0
        )

    def verify(self, expect: int = 0) -> dict[str, Any]:
        """Return what `gravel cache verify` found."""
        words = [*PROGRAM, "cache", "verify", "--json", "--cache", str(self.cache)]
        found: dict[str, Any] = json.loads(self._call(words, expect).stdout)
        return found

    def _call(self, words: list[str], expect: int) -> subprocess.CompletedProcess[str]:
        if self.inside:
            done = call_inside(words)
        else:
            assert words[0] == sys.executable
            done = forked.run(words[1:], cwd=Path.cwd(), env=environment())
        said = done.stdout + done.stderr
        assert done.returncode == expect, f"exit {done.returncode}: {said}"
        assert "Traceback" not in said, said
        return done

    def records(self) -> list[dict[str, Any]]:
        """Return the records of all runs, the oldest first, as they lie on the disk."""
        paths = sorted(self.cache.glob("runs/*/run.json"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(path.read_text()) for path in paths]

    def states(self) -> dict[str, str]:
        """Return the state of each stage of the last run."""
        return {stage["key"]: stage["state"] for stage in self.records()[-1]["stages"]}

    def recipes(self) -> set[str]:
        """Return the recipes that are on record."""
        return {path.stem for path in self.cache.glob("recipes/*.json")}

    def artifact(self, stage: str, output: int = 0) -> Path:
        """Return the folder of data of a stage's output in the last run that has the stage."""
        made = [one["outputs"] for run in self.records() for one in run["stages"] if one["key"] == stage]
        record = json.loads((self.cache / "artifacts" / f"{made[-1][output]}.json").read_text())
        return self.cache / "data" / record["data"]


def command(folder: Path, *words: str, expect: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command here, on the cache that is called `cache` in a folder; fails if it shows a traceback."""
    if words[0] == "run":
        words = (*words, "--cluster", "inline")
    done = call_inside([*PROGRAM, *words, "--cache", "cache"], folder)
    said = done.stdout + done.stderr
    assert "raceback" not in said, said
    assert expect in (None, done.returncode), said
    return done


def make_old(file: Path) -> None:
    """Date a file back, and wait until its state shows every change: only then its digest is remembered."""
    os.utime(file, (1e9, 1e9))
    while not shows_every_change(str(file), file.stat(), time.time()):
        time.sleep(0.01)


def call_inside(
    words: list[str], cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Do what a process with this command line would do in a folder with these variables, here."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.dict(os.environ, variables),
        chdir(cwd or Path.cwd()),
    ):
        try:
            main.main(words[len(PROGRAM) :])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def environment() -> dict[str, str]:
    """Return the variables of a plain user: none that steer gravel."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GRAVEL_")}


def session(leader: int) -> list[psutil.Process]:
    """Return the processes of a session that live; zombies do not."""
    found = []
    for process in psutil.process_iter(["status"]):
        try:
            if os.getsid(process.pid) == leader and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        except ProcessLookupError:
            continue
    return found


def wait_until_gone(leader: int, seconds: float) -> float:
    """Return after how many seconds no process of a session was left; fails if some outlive the limit."""
    started = time.monotonic()
    while left := session(leader):
        taken = time.monotonic() - started
        assert taken < seconds, f"after {taken:.1f} s: {[process.cmdline() for process in left]}"
        time.sleep(0.05)
    return time.monotonic() - started
