"""`gravel schedule` and its passes: what people type, what they are told, what gets started."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.cli.schedule import _units
from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.schedule import ticker
from gravel.pipeline.schedule.job_store import Claim, JobStore
from gravel.pipeline.schedule.policy import State
from gravel.pipeline.schedule.ticker import Ticker
from gravel.pipeline.schedule.times import from_iso
from tests.pipeline.cli_case import HEAVY, loaded
from tests.pipeline.schedule.case import job_of
from tests.pipeline.tiny_stages import ADD, MAKE

WORKFLOW = """\
workflow: sums of numbers
parameters: {value: 1}
stages:
  edges: {stage: make, value: "${value}"}
  sum:   {stage: add, inputs: [edges]}
"""
NOON = from_iso("2026-11-20T12:00:00Z")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("gravel.pipeline.workflow.loader.known_stages", lambda: {"make": MAKE, "add": ADD})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "sums.yaml"
    path.write_text(WORKFLOW)
    return path


def gravel(*words: str) -> Result:
    return CliRunner().invoke(main, ["schedule", *words, "--cache", "cache"])


def add(*words: str, cron: str = "0 3 * * *") -> Result:
    place = ("--cron", cron, "--cache", "cache")
    return CliRunner().invoke(main, ["schedule", "add", "sums.yaml", *place, *words])


def test_add_list_remove(file: Path):
    added = add("--set", "value=2", "--time-limit", "2h", "--on-failure", "https://x.y/token", "--", "-q")
    assert added.exit_code == 0, added.output
    assert added.stdout.startswith(f"sums-of-numbers: {file}, next at ")
    assert added.stdout.count("03:00 CE") == 3
    job = JobStore(file.parent / "cache").job("sums-of-numbers")
    assert (job.zone, job.time_limit, job.hooks) == ("Europe/Berlin", 7200.0, ("failure",))
    words = ["run", str(file), "--set", "value=2", "-q", "--cache", "/c"]
    assert job.words("/c") == words
    (line,) = gravel("list").stdout.splitlines()[1:]
    assert line.startswith("sums-of-numbers  0 3 * * *  ")
    told = gravel("list", "sums-of-numbers").stdout
    assert "on failure  https://x.y/...\n" in told
    assert "token" not in told
    (found,) = json.loads(gravel("list", "--json").stdout)
    assert found["name"] == "sums-of-numbers"
    assert found["last"] is None
    assert found["overdue"] is False
    assert "token" not in json.dumps(found)
    assert gravel("remove", "sums-of-numbers").stdout == "sums-of-numbers is removed\n"
    assert "no schedule is on record" in gravel("list").stdout
    assert json.loads(gravel("list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--set", "valu=2"], "--set valu: there is no parameter 'valu'", "did you mean 'value'?"),
        (["--set", "value"], "--set 'value' has no NAME=VALUE form", "--set scale=20"),
        (["--zone", "Berlin"], "there is no time zone 'Berlin'", "did you mean Europe/Berlin?"),
        (["--name", "a b"], "'a b' cannot be the name of a schedule", "letters, digits"),
        (["--jitter", "1 hour"], "'1 hour' is no duration", ""),
        (["--time-limit", "0s"], "--time-limit is no time at all", "leave it out"),
        (["--on-change", "ftp://x"], "--on-change 'ftp://x' is no address", "http"),
        (["--catch-up", "none"], "--catch-up cannot be chosen any more: due times", "leave --catch-up out"),
        (["--overlap=queue"], "a run at work is not doubled", "leave --overlap out"),
        (["--", "--on-change=true"], "--on-change stands behind `--`", "put it before"),
        (["--", "--clustr", "inline"], "no such option '--clustr'", ""),
        (["--", "--only", "smu"], "there is no entry 'smu'", "did you mean 'sum'?"),
        (["--", "--cache", "x"], "--cache stands behind `--`", "put it before"),
        (["--", "--set", "value=3"], "--set stands behind `--`", "put it before"),
        (["--name", "taken"], "there is a schedule 'taken' already; it runs", "--name"),
    ],
)
def test_requests_that_are_wrong(file: Path, words: list[str], message: str, hint: str):
    assert add("--name", "taken").exit_code == 0
    result = add(*words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert hint in result.stderr
    assert "Traceback" not in result.output
    assert JobStore(file.parent / "cache").names() == ["taken"]


def test_wrong_times_and_files(file: Path):
    result = add(cron="0 3 * *")
    assert (result.exit_code, "five are expected" in result.stderr) == (2, True)
    file.write_text(WORKFLOW.replace("stage: add", "stage: ad"))
    result = add()
    assert (result.exit_code, "sums.yaml:5:" in result.stderr) == (2, True)
    file.rename(file.with_name("sum.yaml"))
    result = add()
    assert result.exit_code == 2
    assert "there is no workflow file sums.yaml" in result.stderr
    assert "did you mean sum.yaml?" in result.stderr
    assert "hooks are set when a job is added" in gravel("hooks", "sums").stderr
    for verb in ("list", "remove"):
        result = gravel(verb, "nothing")
        assert (result.exit_code, "there is no schedule 'nothing'" in result.stderr) == (2, True)


def test_the_list_tells_what_became_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store, job = JobStore(tmp_path / "cache"), job_of(created=float(NOON))
    store.add(job)
    failed = Claim("j", NOON, 2, NOON, 1, "h", "failed", NOON + 9, 8.5, "r", 1, again=True)
    failed.problem = "sum: it broke"
    failed.hooks = [{"event": "failure", "hook": "true", "problem": "no answer"}]
    store.claim(failed)
    store.write_state(job, State(NOON, NOON, last=failed.name, skipped=4))
    told = gravel("list", "j").stdout
    assert "overdue     nothing looks after it" in told
    assert "Fri 2026-11-20 12:00 UTC (attempt 2)  r  failed in 8.50 s, runs again: sum: it broke" in told
    assert "failure hook true: no answer" in told
    assert "skipped     4 due times" in told
    assert "failed in 8.50 s, runs again: sum: it broke; waiting to run; overdue" in gravel("list").stdout
    (tmp_path / "cache" / "schedules" / "j" / "job.json").write_text("{")
    assert "cannot be read" in gravel("list").stderr


class Process:
    """Stands for the process of a run."""

    pid = 0

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Process]]:
    found: list[tuple[str, Process]] = []

    def start(root: Path, name: str) -> Any:
        found.append((name, Process()))
        return found[-1][1]

    monkeypatch.setattr(ticker, "start_run", start)
    return found


def test_what_is_due_is_started(tmp_path: Path, started: list[tuple[str, Process]]):
    now, said = float(NOON), list[str]()
    store = JobStore(tmp_path)
    serves = Ticker(tmp_path, clock=lambda: now, say=said.append)
    assert serves._pass() == float("inf")
    store.add(job_of(name="a", created=now))
    store.add(job_of(name="b", cron="30 * * * *", created=now))
    store.add(job_of(name="broken", created=now))
    (tmp_path / "schedules" / "broken" / "job.json").write_text("{")
    assert serves._pass() == NOON + 1800
    serves._pass()
    assert len([line for line in said if "broken" in line]) == 1, "a trouble is told once"
    now += 1800
    assert serves._pass() == NOON + 3600
    assert [name for name, _ in started] == ["b"]
    serves._pass()
    assert len(started) == 1, "its process was started"
    another = Ticker(tmp_path, clock=lambda: now, say=said.append)
    another._pass()
    assert [name for name, _ in started] == ["b", "b"], "the processes agree which of them is the one"
    started[0][1].returncode = 1
    serves._pass()
    serves._pass()
    assert len(started) == 2, "one that failed and changed nothing is not started again at once"
    store.write_state(store.job("b"), State(NOON + 1800))
    now += 1800
    serves._pass()
    assert [name for name, _ in started] == ["b", "b", "a"]


def test_the_clock_jumps(tmp_path: Path, started: list[tuple[str, Process]]):
    now, said = float(NOON), list[str]()
    store, job = JobStore(tmp_path), job_of(created=now)
    store.add(job)
    serves = Ticker(tmp_path, clock=lambda: now, say=said.append)
    now += 10 * 86400
    assert serves._pass() == now + 3600
    assert store.state(job).waiting == int(now)
    assert "missed" in said[-1]
    store.write_state(job, State(int(now)))
    now = NOON + 1800.0
    assert serves._pass() == NOON + 3600
    assert store.state(job) == State(int(now))
    assert "went back" in said[-1]


@pytest.mark.parametrize("code", [0, 1])
def test_a_tick_stays_until_its_runs_are_over(tmp_path: Path, started: list[tuple[str, Process]], code: int):
    store, job = JobStore(tmp_path), job_of(created=NOON - 3600.0)
    store.add(job)
    assert Ticker(tmp_path, clock=lambda: NOON - 1.0, say=print).tick() == 0
    assert started == []

    def end() -> None:
        store.write_state(job, State(NOON))
        started[0][1].returncode = code

    timer = threading.Timer(0.3, end)
    timer.start()
    assert Ticker(tmp_path, clock=lambda: NOON + 1.0, say=print).tick() == code
    timer.join()
    assert len(started) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_told_to_stop_interrupts_its_runs(tmp_path, monkeypatch, number):
    code = "import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: raise SystemExit(130)"
    runs: list[subprocess.Popen[bytes]] = []

    def start(root: Path, name: str) -> subprocess.Popen[bytes]:
        runs.append(subprocess.Popen([sys.executable, "-c", code], start_new_session=True))
        return runs[-1]

    monkeypatch.setattr(ticker, "start_run", start)
    JobStore(tmp_path).add(job_of(created=NOON - 3600.0))
    before = signal.getsignal(number)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), number))
    timer.start()
    assert Ticker(tmp_path, clock=lambda: NOON + 1.0, say=print).serve() == 130
    timer.join()
    assert [run.returncode for run in runs] == [130]
    assert signal.getsignal(number) is before


def test_unit_files(file: Path):
    told = gravel("unit").stdout
    assert f"schedule run --cache {file.parent / 'cache'}\n" in told
    assert "systemctl --user enable --now gravel-schedule.service" in told
    timer = gravel("unit", "--timer", "--system").stdout
    assert "schedule tick --cache" in timer
    assert "OnCalendar=minutely" in timer
    assert "sudo systemctl enable --now gravel-schedule.timer" in timer.replace(
        "daemon-reload && sudo systemctl ", ""
    )
    words = gravel("unit", "--cron").stdout.split()
    assert words[:5] == ["*"] * 5
    assert words[6:] == ["schedule", "tick", "--cache", str(file.parent / "cache")]


def test_unit_files_quote_what_needs_it():
    text = _units(["g", '/a b/100%/$x"y\\'], "/100%", False, "default.target")["gravel-schedule.service"]
    assert r'ExecStart=g "/a b/100%%/$$x\"y\\"' + "\n" in text
    assert "schedules of /100%%\n" in text


def test_help_of_every_subcommand_imports_next_to_nothing():
    group = main.get_command(click.Context(main), "schedule")
    assert isinstance(group, click.Group)
    assert set(group.commands) == {"add", "list", "remove", "run", "tick", "unit"}
    for name in group.commands:
        assert CliRunner().invoke(main, ["schedule", name, "--help"]).exit_code == 0
    heavy = {"pydantic", "ruamel.yaml", "cronsim", "zoneinfo", "filelock", "gravel.pipeline.schedule"}
    told, found = loaded("schedule", "add", "--help", of=heavy | HEAVY)
    assert "--on-success" in told
    assert not found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_unit_files(tmp_path: Path):
    for timed in (False, True):
        units = _units([sys.executable, "/c d"], "/c%d", timed, "default.target")
        for name, text in units.items():
            (tmp_path / name).write_text(text)
        ended = subprocess.run(
            ["systemd-analyze", "verify", "--user", "--man=no", *(str(tmp_path / name) for name in units)],
            env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "gravel-schedule" not in ended.stderr, ended.stderr


def test_a_cache_that_is_read_only_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = JobStore(tmp_path / "cache")

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise PermissionError(13, "Permission denied", "cache")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(GravelError, match="cannot write to the cache"):
        store.add(job_of())
