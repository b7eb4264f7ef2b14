"""gravel report --watch: pages on loopback that follow their runs, and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.report.server import redirect_file, report_server
from gravel.pipeline.store.cache import Cache
from tests.pipeline.report.sample import record, running, stage_run, write_record

FIRST, SECOND = "20261120-100000-sample-0001", "20261120-110000-sample-0002"


def get(address: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_page_is_made_anew_when_the_run_goes_on(tmp_path: Path):
    going = stage_run(
        "bfs", state="running", progress={"done": 1, "total": 4, "unit": "searches", "rate": None}, why=[]
    )
    write_record(tmp_path, record(FIRST, [going], state="running"))
    with running(report_server(Cache(tmp_path))) as address:
        _, page = get(f"{address}/{FIRST}/report.html")
        assert "25 % of 4 searches" in page
        _, version = get(f"{address}/{FIRST}/version")
        assert f'data-version="{version}"' in page
        assert get(f"{address}/{FIRST}/version")[1] == version
        write_record(tmp_path, record(FIRST, [stage_run("bfs")]))
        assert get(f"{address}/{FIRST}/version")[1] != version
        assert "25 % of 4 searches" not in get(f"{address}/{FIRST}/report.html")[1]
        # What is served is never left behind in the folder of a run that writes its own page.
        assert sorted(path.name for path in (tmp_path / "runs" / FIRST).iterdir()) == ["run.json"]


def test_runs_lead_to_each_other_and_to_logs(tmp_path: Path):
    folder = write_record(tmp_path, record(FIRST, [stage_run("bfs", log="logs/bfs[a=1].log")]))
    (folder / "logs").mkdir()
    (folder / "logs" / "bfs[a=1].log").write_text("it ran")
    other = record(SECOND, [stage_run("bfs")])
    other["workflow"]["parameters"] = {"source": {"grid": {"side": 4}}, "files": {}}
    write_record(tmp_path, other)
    with running(report_server(Cache(tmp_path))) as address:
        _, page = get(f"{address}/{FIRST}/report.html")
        assert f'href="../{SECOND}/report.html"' in page
        assert "source: {grid: {side: 4}}" in page
        assert 'href="logs/bfs%5Ba%3D1%5D.log"' in page
        assert get(f"{address}/{FIRST}/logs/bfs%5Ba%3D1%5D.log") == (200, "it ran")
        _, listed = get(f"{address}/")
        assert FIRST in listed
        assert SECOND in listed


def test_nothing_else_is_served(tmp_path: Path):
    write_record(tmp_path, record(FIRST, [stage_run("bfs")]))
    (tmp_path / "secret").write_text("secret")
    with running(report_server(Cache(tmp_path))) as address:
        for path in (
            "none/report.html",
            f"{FIRST}/other",
            "..%2Fsecret",
            f"{FIRST}/logs/..%2F..%2F..%2Fsecret",
        ):
            assert get(f"{address}/{path}")[0] == 404
        assert get(f"{address}/{FIRST}/report.html", Host="evil.example:80")[0] == 403
        with pytest.raises(RequestError, match="cannot be served"):
            report_server(Cache(tmp_path), urlsplit(address).port or 0)


def test_nobody_is_answered_without_the_token(tmp_path: Path):
    write_record(tmp_path, record(FIRST, [stage_run("bfs")]))
    with running(report_server(Cache(tmp_path))) as address:
        place, _, token = address.rpartition("/")
        wrong = [f"{each}/{FIRST}" for each in (token[:-1], "wrong", f"{token}x", "%C3%A9")]
        for path in ("", FIRST, *wrong):
            status, told = get(f"{place}/{path}/report.html")
            assert status == 403, path
            assert "the address that gravel report --watch has printed" in told
            assert get(f"{place}/{path}")[0] == 403
        assert get(f"{place}/{token}")[0] == 404
        with urllib.request.urlopen(f"{address}/{FIRST}/report.html", timeout=10) as answer:
            assert answer.headers["Referrer-Policy"] == "no-referrer"
        with urllib.request.urlopen(f"{address}/", timeout=10) as answer:
            assert f'href="{FIRST}/report.html"' in answer.read().decode()
    with running(report_server(Cache(tmp_path))) as another:
        assert another.rpartition("/")[2] != token


def test_a_browser_is_led_there_by_a_file_that_others_cannot_read():
    with redirect_file("http://127.0.0.1:1/token/run/report.html") as page:
        assert page.parent.stat().st_mode & 0o077 == 0
        assert "url=http://127.0.0.1:1/token/run/report.html" in page.read_text()
    assert not page.exists()


def test_a_cache_that_was_cleaned_still_has_its_pages(tmp_path: Path):
    gone = stage_run("summary", stage="report", outputs=["0" * 64])
    write_record(tmp_path, record(FIRST, [gone]))
    with running(report_server(Cache(tmp_path))) as address:
        status, page = get(f"{address}/{FIRST}/report.html")
    assert status == 200
    assert "summary" in page


def test_ctrl_c_ends_it(tmp_path: Path):
    write_record(tmp_path, record(FIRST, [stage_run("bfs")]))
    code = "from gravel.pipeline.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "report", "--watch", "--cache", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().split()[0]
            assert get(address)[0] == 200
            served.send_signal(signal.SIGINT)
            _, told = served.communicate(timeout=60)
        finally:
            served.kill()
    assert served.returncode == 0
    assert told == "ended\n"


def ask(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(request)
        found = b""
        while more := line.recv(1 << 16):
            found += more
        return found


@pytest.mark.parametrize(
    "target",
    [
        *("http://[::1/", "http://[/", "http://[::1]x/", "//[::1/"),
        *("\x00", "*", "http://\xff/", "/%", "/" + "a" * 60_000),
    ],
)
def test_an_odd_request_is_refused_without_a_word_here(tmp_path: Path, capfd: Any, target: str):
    with running(report_server(Cache(tmp_path))) as address:
        port = urlsplit(address).port
        assert port is not None
        for verb in ("GET", "HEAD"):
            head = f"{verb} {target} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"
            answer = ask(port, head.encode("latin-1"))
            assert answer.split()[1] in (b"400", b"403", b"414"), answer
        # Whoever goes away in the middle is not told of either.
        line = socket.create_connection(("127.0.0.1", port), timeout=10)
        line.sendall(b"GET / HTT")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.close()
        assert get(f"{address}/")[0] == 200
    said = capfd.readouterr()
    assert said.out + said.err == ""


ODD = [(way, name) for way in ("a pipe", "20 GiB") for name in ("run.json", "report.json", "logs/bfs.log")]
ODD += [("a link", name) for name in ("run.json", "report.json", "logs/bfs.log", "logs", "")]


@pytest.mark.parametrize(("way", "name"), ODD)
def test_links_pipes_and_huge_files_of_a_run_are_not_served(tmp_path: Path, name: str, way: str):
    folder = write_record(tmp_path, record(FIRST, [stage_run("bfs", log="logs/bfs.log")]))
    (folder / "logs").mkdir()
    for each in ("report.json", "logs/bfs.log"):
        (folder / each).write_text("private")
    path = folder / name
    if way == "a link":
        copy = tmp_path / "elsewhere"
        path.rename(copy)
        path.symlink_to(copy)
    elif way == "a pipe":
        path.unlink()
        os.mkfifo(path)
    else:
        os.truncate(path, 20 << 30)
    with running(report_server(Cache(tmp_path))) as address:
        page = {"": "report.json", "logs": "logs/bfs.log"}.get(name, name)
        status, text = get(f"{address}/{FIRST}/{page}")
        assert (status, "private" in text) == (404, False)
        assert get(f"{address}/")[0] == 200
        for odd in ("a" * 400, "%00", "..", "%2e%2e", FIRST + "/logs/" + "b" * 400, "%ff"):
            assert get(f"{address}/{odd}")[0] == 404
