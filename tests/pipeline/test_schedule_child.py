"""A run as a child: its time limit, its end when it or its supervisor is told to stop; and hooks."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.schedule import child_process as carrying
from gravel.pipeline.schedule.child_process import Ended, carry_out, program
from gravel.pipeline.schedule.hooks import call
from gravel.pipeline.schedule.job import check_hook, shown_hook
from gravel.pipeline.store.leases import holder

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import json, os, signal, socket, sys, time
pipe, root, mode = sys.argv[1:4]
def stop(number, frame):
    print("told to stop", flush=True)
    if mode != "deaf":
        sys.exit(130)
signal.signal(signal.SIGINT, stop)
folder = os.path.join(root, "runs", "mine")
os.makedirs(folder)
with open(os.path.join(folder, "run.json"), "w") as file:
    json.dump({"run": "mine", "pid": os.getpid(), "host": socket.gethostname(), "stages": []}, file)
print("started", flush=True)
if mode == "short":
    sys.exit(3)
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def carry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(carrying, "program", lambda entry: [sys.executable, "-S", "-c", CHILD])
    lease = os.open(tmp_path / "lease", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lease, fcntl.LOCK_EX)
    seen: list[str] = []

    def carry(mode: str, **options: Any) -> tuple[Ended, str, list[str]]:
        told = {"limit": None, "asked": lambda: 0, "grace": 30.0} | options
        log = tmp_path / "run.log"
        other = tmp_path / "runs" / "another"
        other.mkdir(parents=True)
        (other / "run.json").write_text(json.dumps({"pid": 0}))
        words = [str(tmp_path), mode]
        ended = carry_out(words, root=tmp_path, log=log, lease=lease, started=seen.append, **told)
        return ended, log.read_text(), seen

    carry.lease = lease  # type: ignore[attr-defined]
    yield carry
    os.close(lease)


def test_a_run_that_ends_by_itself(carry: Any):
    ended, log, _ = carry("short", limit=60.0)
    assert (ended.exit_code, ended.run, ended.stopped, ended.killed) == (3, "mine", None, False)
    assert log == "started\n"


def test_the_time_limit_interrupts(carry: Any):
    ended, log, seen = carry("long", limit=0.6)
    assert (ended.exit_code, ended.run, ended.stopped, ended.killed) == (130, "mine", "time limit", False)
    assert log == "started\ntold to stop\n"
    assert seen == ["mine"]
    assert 0.6 <= ended.seconds < 5


def test_who_does_not_listen_is_killed(carry: Any):
    ended, log, _ = carry("deaf", limit=0.6, grace=0.3)
    assert (ended.exit_code, ended.stopped, ended.killed) == (-9, "time limit", True)
    assert "told to stop" in log
    assert 0.9 <= ended.seconds < 5


def test_a_keeper_that_is_told_to_stop_passes_it_on(carry: Any):
    began = time.monotonic()
    ended, log, _ = carry("deaf", asked=lambda: 2 if time.monotonic() - began > 0.6 else 0, grace=0.5)
    assert (ended.stopped, ended.killed) == ("supervisor", True)
    assert 1 <= log.count("told to stop") <= 2


def test_a_run_holds_the_lease_without_its_keeper(carry: Any, tmp_path: Path):
    """As if the supervisor had died: its descriptor is closed, and the job still counts as running."""
    held: list[bool] = []

    def asked() -> int:
        if not held and (tmp_path / "runs" / "mine" / "run.json").exists():
            os.dup2(os.open(os.devnull, os.O_RDWR), carry.lease)
            held.append(holder(tmp_path / "lease") is not None)
        return len(held)

    carry("long", asked=asked)
    assert held == [True]
    assert holder(tmp_path / "lease") is None


def test_a_keeper_that_fails_leaves_no_run(carry: Any, tmp_path: Path):
    def fail() -> int:
        if (tmp_path / "run.log").read_bytes():
            raise OSError("no space")
        return 0

    with pytest.raises(OSError, match="no space"):
        carry("deaf", asked=fail, grace=0.2)
    record = json.loads((tmp_path / "runs" / "mine" / "run.json").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(record["pid"], 0)


def test_a_run_does_not_outlive_its_keeper():
    """The pipe to the supervisor ends, and `gravel` is interrupted as by Ctrl-C."""
    watched, link_remote = os.pipe()
    serve = ["schedule", "run", "--cache", "/nonexistent"]
    child = subprocess.Popen(
        [*program("gravel.pipeline.cli.bound_process"), str(watched), *serve],
        pass_fds=(watched,),
        stdout=subprocess.PIPE,
        cwd="/",
    )
    os.close(watched)
    assert child.stdout is not None
    assert b"serving 0 schedules" in child.stdout.readline()
    assert child.poll() is None
    os.close(link_remote)
    assert child.wait(20) == 130
    child.stdout.close()


def test_a_command_gets_the_json(tmp_path: Path):
    assert call("cat > got.json", {"event": "change"}, tmp_path) is None
    assert json.loads((tmp_path / "got.json").read_text()) == {"event": "change"}
    assert call("true", {"large": "x" * 10**6}, tmp_path) is None, "it need not read it"
    assert call("echo so sorry >&2; exit 3", {}, tmp_path / "gone") == "it ended with 3: so sorry"


def test_a_command_that_hangs_is_stopped(tmp_path: Path):
    began = time.monotonic()
    said = call("sleep 60 & sleep 60", {}, tmp_path, limit=0.3)
    assert said == "it took longer than 0 s and was stopped"
    assert time.monotonic() - began < 5


class Server(HTTPServer):
    answers: list[int]
    got: list[tuple[str, bytes]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.headers["Content-Type"], body))
        self.send_response(self.server.answers.pop(0))
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        return


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as made:
        made.got = []
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([204], None),
        ([503, 200], None),
        ([404], "it answered 404 Not Found"),
        ([500, 500, 500], "it answered 500 Internal Server Error"),
    ],
)
def test_a_webhook(server: Server, tmp_path: Path, answers: list[int], problem: str | None):
    server.answers = list(answers)
    url = f"http://127.0.0.1:{server.server_port}/hook?token=1"
    assert call(url, {"event": "failure"}, tmp_path, pauses=(0.0, 0.0)) == problem
    assert server.got == [("application/json", b'{"event": "failure"}')] * len(answers)


def test_a_webhook_that_nobody_answers(tmp_path: Path):
    said = call("http://127.0.0.1:1/", {}, tmp_path, pauses=(0.0,))
    assert said is not None
    assert said.startswith("it cannot be reached")


@pytest.mark.parametrize("hook", ["true", "curl https://x.y", "https://x.y:80/z", "./a b"])
def test_hooks_that_can_be(hook: str):
    assert check_hook(hook, "--on-failure") == hook


@pytest.mark.parametrize("hook", [" ", "ftp://x.y", "http://", "https://x:port/"])
def test_hooks_that_cannot_be(hook: str):
    with pytest.raises(RequestError, match="--on-failure"):
        check_hook(hook, "--on-failure")


def test_the_secret_of_a_webhook_is_not_shown():
    assert shown_hook("https://me:pass@x.y:81/secret?token=1") == "https://x.y:81/..."
    assert shown_hook("notify --me") == "notify --me"
    assert shown_hook(None) is None
