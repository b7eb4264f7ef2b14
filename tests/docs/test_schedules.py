"""The hooks of docs/schedules.md, as they are written there, against a web server and a mail server."""

from __future__ import annotations

import json
import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.records.hooks import call
from tests.docs.blocks import ROOT

FAILED = {
    "event": "failure",
    "problem": "graph: no memory",
    "run": None,
    "schedule": "nightly",
    "claim": None,
}
CHANGED = {"event": "change", "problem": None, "run": {"run": "20260101-x"}, "schedule": None, "claim": None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the programs that the page writes."""
    page = (ROOT / "docs/schedules.md").read_text()
    for name, text in re.findall(r"cat > (\w+\.py) <<'END'\n(.*?)\nEND\n", page, re.DOTALL):
        (tmp_path / name).write_text(text + "\n")
    return tmp_path


@contextmanager
def served(server: Any) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield "{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_slack_gets_a_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[Any] = []

    class Slack(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Content-Type"], json.loads(body)))
            self.send_response(200 if "text" in got[-1][1] else 400)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            return

    with served(HTTPServer(("127.0.0.1", 0), Slack)) as address:
        monkeypatch.setenv("SLACK_WEBHOOK", f"http://{address}/services/T0/B0")
        assert [call("python3 slack.py", each, folder) for each in (FAILED, CHANGED)] == [None, None]
    assert got == [
        ("application/json", {"text": "gravel: failure: graph: no memory"}),
        ("application/json", {"text": "gravel: change: 20260101-x"}),
    ]
    assert "refused" in str(call("python3 slack.py", FAILED, folder))


def test_mail_is_sent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[str] = []

    class Mail(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline().decode().strip():
                got.append(line)
                if line.upper() == "DATA":
                    self.wfile.write(b"354 go on\r\n")
                    got.extend(iter(lambda: self.rfile.readline().decode().rstrip("\r\n"), "."))
                self.wfile.write(b"250 fine\r\n")

    with served(socketserver.TCPServer(("127.0.0.1", 0), Mail)) as address:
        monkeypatch.setenv("SMTP_SERVER", address)
        assert call("python3 mail.py me@example.org", FAILED, folder) is None
        assert call("python3 mail.py me@example.org", CHANGED, folder) is None
    subjects = [line for line in got if line.startswith("Subject: ")]
    assert subjects == ["Subject: gravel: failure: nightly", "Subject: gravel: change: a run"]
    assert {"To: me@example.org", "graph: no memory", "20260101-x"} <= set(got)
