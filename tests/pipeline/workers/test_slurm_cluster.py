"""Runs in jobs of a stand-in for Slurm: sized by the plan, ended with the run, and what goes wrong."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.progress.events import Event, QuietDisplay
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from tests.drills.gravel import PROGRAM
from tests.pipeline.run_case import states
from tests.pipeline.tiny_stages import ADD, MAKE, count, plan_of, stage_run
from tests.pipeline.workers.slurm_stand_in import SlurmStandIn

# It is not imported here: that replaces what this process does on Ctrl-C.
if find_spec("dask_jobqueue") is None:
    pytest.skip("needs dask-jobqueue", allow_module_level=True)

SETTINGS = """\
queue: long
walltime: 1 h 30 min
cores: 2
memory: 2 GiB
jobs: 4
interface: lo
directives: ["--account=graphs"]
"""

WORKFLOW = """\
workflow: jobs
stages:
  edges: {stage: ingest, source: {rmat: {scale: 6, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmStandIn:
    """A stand-in on the path, and settings of the user's."""
    stand_in = SlurmStandIn(tmp_path / "slurm")
    for name, value in stand_in.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    configure(tmp_path, SETTINGS)
    return stand_in


def configure(folder: Path, text: str) -> None:
    (folder / "config" / "gravel").mkdir(parents=True, exist_ok=True)
    (folder / "config" / "gravel" / "slurm.yaml").write_text(text)


class Shown(QuietDisplay):
    """What a run notes."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def handle(self, event: Event) -> None:
        self.messages.append(str(event.data.get("message")))


def run(root: Path, *runs: Any, **options: Any) -> RunOutcome:
    return execute(plan_of(*runs), RunOptions(cache_root=root, cluster="slurm", **options))


def test_jobs_are_as_many_as_the_plan_can_use_and_one_that_dies_is_submitted_again(
    slurm: SlurmStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, root = tmp_path / "marks", tmp_path / "cache"
    modes: list[int] = []

    def kill() -> None:
        limit = time.monotonic() + 90
        while count(marks, 2) + count(marks, 3) < 2 and time.monotonic() < limit:
            time.sleep(0.05)
        [folder] = (root / "scratch").glob("*/slurm-*")
        modes.append(stat.S_IMODE(folder.stat().st_mode))
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.pem"))
        slurm.kill(1)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = run(
        root,
        stage_run("a", MAKE, value=1),
        stage_run("b", ADD, "a", value=2, sleep=2.0, marks=str(marks)),
        stage_run("c", ADD, "a", value=3, sleep=2.0, marks=str(marks)),
        stage_run("d", ADD, "b", "c", value=4, ranks=2),
    )
    killer.join()
    assert set(states(outcome).values()) == {"computed"}
    assert count(marks, 2) + count(marks, 3) == 3
    assert outcome.record["cluster"].startswith("slurm, 2 workers")
    assert len(slurm.scripts) == 3  # two that the plan can use at once, and one in place of the killed
    for line in ("-p long", "-t 01:30:00", "--cpus-per-task=2", "--mem=2G", "--account=graphs"):
        assert f"#SBATCH {line}\n" in slurm.scripts[0]
    assert "tls://" in slurm.scripts[0]
    assert "--memory-limit 0" in slurm.scripts[0]
    assert modes == [0o700, 0o600, 0o600]
    assert slurm.living == []
    assert not list((root / "scratch").glob("*"))


@pytest.mark.parametrize("in_thread", [True, False])
def test_any_thread_may_import_the_package_and_ctrl_c_stays_as_it_was(in_thread: bool) -> None:
    text = f"""
import signal, sys, threading
from gravel.pipeline.workers.slurm_cluster import _cluster_class
before, found = signal.getsignal(signal.SIGINT), []
assert "dask_jobqueue" not in sys.modules
if {in_thread}:
    thread = threading.Thread(target=lambda: found.append(_cluster_class()))
    thread.start()
    thread.join()
else:
    found.append(_cluster_class())
assert found[0].__name__ == "SLURMCluster"
assert signal.getsignal(signal.SIGINT) is before
assert signal.signal(signal.SIGINT, before) is before
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_jobs_that_do_not_begin_are_waited_for_and_then_given_up(slurm: SlurmStandIn, tmp_path: Path) -> None:
    (slurm.folder / "hold").touch()
    configure(tmp_path, f"{SETTINGS}start: 2 s\n")
    shown = Shown()
    with pytest.raises(GravelError, match=r"0 of 1 job that the run needs began within 2 s: 1 pending \(Res"):
        run(tmp_path / "cache", stage_run("a", MAKE, value=1), display=shown)
    assert "0 of 1 job of Slurm work: 1 pending (Resources)" in shown.messages
    assert (slurm.folder / "cancelled").read_text() == "1\n"


def test_a_job_that_is_refused_or_ends_at_once_is_said(slurm: SlurmStandIn, tmp_path: Path) -> None:
    (slurm.folder / "refuse").write_text("sbatch: error: invalid partition specified: long\n")
    with pytest.raises(RequestError, match="Slurm refuses the job: sbatch: error: invalid partition"):
        run(tmp_path / "cache", stage_run("a", MAKE, value=1))
    (slurm.folder / "refuse").unlink()
    configure(tmp_path, f'{SETTINGS}prologue: ["echo no module of that name >&2; exit 3"]\n')
    with pytest.raises(GravelError, match="ended before their workers began: no module of that name"):
        run(tmp_path / "cache", stage_run("a", MAKE, value=1))
    assert not list((tmp_path / "cache" / "scratch").glob("*"))


def test_ctrl_c_cancels_the_jobs(slurm: SlurmStandIn, tmp_path: Path) -> None:
    (slurm.folder / "hold").touch()
    (tmp_path / "jobs.yaml").write_text(WORKFLOW)
    words = [*PROGRAM, "run", "jobs.yaml", "--cache", "cache", "--cluster", "slurm"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    limit = time.monotonic() + 60
    while not slurm.scripts:
        assert time.monotonic() < limit
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert (slurm.folder / "cancelled").read_text() == "1\n"


def test_a_machine_without_slurm_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    configure(tmp_path, SETTINGS)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RequestError, match="calls sbatch, which is not found here") as refused:
        run(tmp_path / "cache", stage_run("a", MAKE, value=1))
    assert "login node" in (refused.value.problems[0].hint or "")
