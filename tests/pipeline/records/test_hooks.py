"""Hooks: commands and webhooks that get a run's JSON, of `gravel run` and of schedules."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records import hooks
from gravel.pipeline.records.hooks import EVENTS, call, check_hook, shown_hook
from tests.pipeline.tiny_stages import ADD, MAKE

WORKFLOW = """\
workflow: sums
parameters: {value: 1}
stages:
  edges: {stage: make, value: "${value}"}
  sum:   {stage: add, inputs: [edges]}
"""


def test_a_command_gets_the_json(tmp_path: Path):
    assert call("cat > got.json", {"event": "change"}, tmp_path) is None
    assert json.loads((tmp_path / "got.json").read_text()) == {"event": "change"}
    assert call("true", {"large": "x" * 10**6}, tmp_path) is None, "it need not read it"
    assert call("echo so sorry >&2; exit 3", {}, tmp_path / "gone") == "it ended with 3: so sorry"


@pytest.mark.parametrize("command", ["sleep 60 & sleep 60", "setsid sleep 5 & sleep 60"])
def test_a_command_that_hangs_is_stopped(tmp_path: Path, command: str):
    began = time.monotonic()
    assert call(command, {}, tmp_path, limit=0.3) == "it took longer than 0 s and was stopped"
    assert time.monotonic() - began < 4


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


def test_hooks_that_can_be_and_how_they_are_shown(tmp_path: Path):
    for hook in ("true", "curl https://x.y", "https://x.y:80/z", "./a b"):
        assert check_hook(hook, "--on-failure") == hook
    for hook in (" ", "ftp://x.y", "http://", "https://x:port/"):
        with pytest.raises(RequestError, match="--on-failure"):
            check_hook(hook, "--on-failure")
    assert shown_hook("https://me:pass@x.y:81/secret?token=1") == "https://x.y:81/..."
    assert shown_hook("notify --me") == "notify --me"
    assert (call("http://127.0.0.1:1/", {}, tmp_path, pauses=(0.0,)) or "").startswith("it cannot be reached")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("gravel.pipeline.workflow.loader.known_stages", lambda: {"make": MAKE, "add": ADD})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    return tmp_path


def run(*words: str) -> Result:
    place = ("--cache", "cache", "--cluster", "inline", "-q")
    return CliRunner().invoke(main, ["run", "w.yaml", *place, *words])


ALL = [word for event in EVENTS for word in (f"--on-{event}", f"cat > {event}")]


def heard(folder: Path) -> dict[str, Any]:
    """What each hook got since the last call, but for the run's record, of which the state."""
    found = {}
    for event in EVENTS:
        if (folder / event).exists():
            told = json.loads((folder / event).read_text())
            assert told.pop("event") == event
            record = told.pop("run")
            found[event] = (record and record["state"], told)
            (folder / event).unlink()
    return found


def test_hooks_of_a_run(folder: Path):
    nothing = {"problem": None, "schedule": None, "claim": None}
    for words, events in (
        ([], ["change", "success"]),
        ([], ["success"]),
        (["--set", "value=2"], ["change", "success"]),
        (["--force", "sum"], ["change", "success"]),
        (["--force", "sum"], ["success"]),
    ):
        assert run(*words, *ALL).exit_code == 0
        assert heard(folder) == dict.fromkeys(events, ("done", nothing)), words
    assert run("--set", "value=no", *ALL).exit_code == 2
    told = heard(folder)
    assert list(told) == ["failure"]
    state, more = told["failure"]
    assert (state, "value" in more["problem"]) == (None, True)


@pytest.mark.parametrize("hook", ["exit 7", "sleep 60", "http://127.0.0.1:1/"])
def test_a_hook_changes_nothing_of_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch, hook: str):
    monkeypatch.setattr(hooks.call, "__kwdefaults__", {"limit": 0.2, "pauses": ()})
    done = run("--on-success", hook)
    assert done.exit_code == 0
    assert "success hook" in done.stderr
    assert run("--on-failure", hook, "--only", "nothing").exit_code == 2
    assert run("--on-success", "ftp://x").exit_code == 2
