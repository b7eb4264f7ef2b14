"""What identifies an input: its content alone, however a server or a file system tells of it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from tests.web_server import WebServer

DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
SECONDS = 1445412480
CONTENT = '"5d41402abc4b2a76b9719d911017c592"'

WORKFLOW = """\
workflow: inputs
parameters: {url: x}
stages:
  edges: {stage: ingest, file: "${url}", format: edge_list}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.yaml").write_text(WORKFLOW)
    return tmp_path


def gravel(*words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--cache", "cache"])


def started(url: str, *words: str) -> Result:
    return gravel("run", "one.yaml", "--set", f"url={url}", "--cluster", "inline", "--backend", "cpu", *words)


def run(url: str, *words: str) -> dict[str, Any]:
    """Run over a URL or file; returns the record of the stage."""
    result = started(url, *words)
    assert result.exit_code == 0, result.output
    records = sorted(Path("cache/runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    (stage,) = json.loads(records[-1].read_text())["stages"]
    return stage


def test_two_files_of_one_size_and_second_are_two_graphs() -> None:
    with WebServer({"/a.txt": b"1 2\n2 3\n", "/b.txt": b"1 2\n1 3\n"}, Last_Modified=DATE) as server:
        first, second = run(f"{server.address}/a.txt"), run(f"{server.address}/b.txt")
    assert second["state"] == "computed"
    assert first["outputs"][0] != second["outputs"][0]


@pytest.mark.parametrize("etag", [None, 'W/"5d41402abc4b2a76b9719d911017c592"'])
def test_content_that_changes_under_its_size_and_date_is_seen(etag: str | None) -> None:
    tags = {} if etag is None else {"ETag": etag}
    with WebServer({"/a.txt": b"1 2\n2 3\n"}, Last_Modified=DATE, **tags) as server:
        first = run(f"{server.address}/a.txt")
        assert run(f"{server.address}/a.txt")["state"] == "cached"
        server.files["/a.txt"] = b"1 2\n1 3\n"
        second = run(f"{server.address}/a.txt")
    assert second["state"] == "computed"
    assert first["outputs"][0] != second["outputs"][0]


def test_a_strong_etag_saves_the_download_and_nothing_else() -> None:
    files = {"/a.txt": b"1 2\n2 3\n", "/b.txt": b"1 2\n2 3\n"}
    with WebServer(files, ETag=CONTENT, Last_Modified=DATE) as server:
        first = run(f"{server.address}/a.txt")
        assert server.gets == 1
        assert run(f"{server.address}/a.txt")["state"] == "cached"
        assert server.gets == 1
        # Another place has to be fetched: an ETag is one of its own URL. What it holds is the same recipe.
        second = run(f"{server.address}/b.txt")
        assert (second["state"], second["recipe"]) == ("cached", first["recipe"])
        assert server.gets == 2
        # The same content under another date is looked at again.
        server.headers["Last-Modified"] = "Thu, 22 Oct 2015 07:28:00 GMT"
        assert run(f"{server.address}/a.txt")["recipe"] == first["recipe"]
        assert server.gets == 3
    Path("a.txt").write_bytes(b"1 2\n2 3\n")
    assert run("a.txt")["recipe"] == first["recipe"]


def test_plan_says_that_the_server_is_asked() -> None:
    with WebServer({"/a.txt": b"1 2\n2 3\n"}, Last_Modified=DATE) as server:
        for _ in range(2):
            told = gravel("plan", "one.yaml", "--set", f"url={server.address}/a.txt")
            assert told.exit_code == 0
            assert "asks the server" in told.output
            run(f"{server.address}/a.txt")
        server.headers["ETag"] = CONTENT
        run(f"{server.address}/a.txt")
        told = gravel("plan", "one.yaml", "--set", f"url={server.address}/a.txt")
        assert "1 cached" in told.output
        assert "asks the server" not in told.output


def test_a_stated_sha256_ends_the_question() -> None:
    text = WORKFLOW.replace("format:", f"sha256: {hashlib.sha256(b'1 2').hexdigest()}, format:")
    Path("one.yaml").write_text(text)
    with WebServer({"/a.txt": b"1 2"}, Last_Modified=DATE) as server:
        assert run(f"{server.address}/a.txt")["state"] == "computed"
        asked = len(server.requests)
        assert run(f"{server.address}/a.txt")["state"] == "cached"
        told = gravel("plan", "one.yaml", "--set", f"url={server.address}/a.txt").output
        assert "asks the server" not in told
        assert len(server.requests) == asked


def test_urls_that_differ_in_what_is_not_shown_are_two() -> None:
    files = {"/a.txt?id=1": b"1 2\n2 3\n", "/a.txt?id=2": b"1 2\n1 3\n"}
    with WebServer(files, ETag=CONTENT, Last_Modified=DATE) as server:
        first, second = run(f"{server.address}/a.txt?id=1"), run(f"{server.address}/a.txt?id=2")
    assert first["outputs"][0] != second["outputs"][0]


def rewrite(path: Path, text: bytes) -> None:
    """Write into a file as `rsync --inplace -t` does: its inode, size and time of writing stay."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert all(getattr(after, name) == getattr(before, name) for name in ("st_ino", "st_size", "st_mtime_ns"))


def test_a_file_rewritten_in_place_under_its_time_is_noticed() -> None:
    path = Path("a.txt")
    path.write_bytes(b"1 2\n2 3\n")
    os.utime(path, (SECONDS, SECONDS))
    time.sleep(0.15)
    first = run("a.txt")
    assert [run("a.txt")["state"] for _ in range(2)] == ["cached", "cached"]
    rewrite(path, b"1 2\n1 3\n")
    second = run("a.txt")
    assert second["state"] == "computed"
    assert first["outputs"][0] != second["outputs"][0]


def test_where_the_file_system_is_not_trusted_a_file_is_digested_again(monkeypatch) -> None:
    monkeypatch.setattr("gravel.pipeline.core.files.TRUSTED", frozenset())
    path = Path("a.txt")
    path.write_bytes(b"1 2\n2 3\n")
    os.utime(path, (SECONDS, SECONDS))
    time.sleep(0.15)
    run("a.txt")
    assert not list(Path("cache").glob("digests/*"))
    monkeypatch.setenv("GRAVEL_TRUSTED_FILE_SYSTEMS", "ext4, xfs,overlay,tmpfs,btrfs,zfs")
    assert run("a.txt")["state"] == "cached"
    assert len(list(Path("cache").glob("digests/*"))) == 1


def test_a_short_file_is_refused_and_taken_on_request() -> None:
    header = "# Directed graph: a\n# Nodes: 4 Edges: 5\n"
    Path("a.txt").write_text(f"{header}1 2\n2 3\n3 4")
    result = started("a.txt")
    assert result.exit_code == 1
    told = "a.txt:5: a comment says 5 edges; 2 were found, and the file ends in the middle of a line"
    assert told in result.output
    assert "allow_short: true" in result.output
    Path("one.yaml").write_text(WORKFLOW.replace("format:", "allow_short: true, format:"))
    for state in ("computed", "cached"):
        stage = run("a.txt")
        assert stage["state"] == state
        assert any("5 edges; 2 were found" in remark for remark in stage["remarks"])
    result = started("a.txt")
    assert "5 edges; 2 were found" in result.output
    page = max(Path("cache/runs").glob("*/report.html"), key=lambda path: path.stat().st_mtime_ns)
    assert "5 edges; 2 were found" in page.read_text()


@pytest.mark.parametrize("name", ["my graph.txt", "größe.txt", "100%.txt", "a'b(c).txt"])
def test_names_are_quoted_for_the_server(name: str) -> None:
    with WebServer({f"/{name}": b"1 2\n2 3\n"}, Last_Modified=DATE) as server:
        run(json.dumps(f"{server.address}/{name}"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://", "names no host"),
        ("http:///graph.txt", "names no host"),
        ("http://host:port/graph.txt", "port of the URL http://host:port/graph.txt is 'port'"),
        ("http://host:99999/graph.txt", "from 1 to 65535"),
        ("http://ho st/graph.txt", "cannot be the name of one"),
        ("http://a..b/graph.txt", "cannot be the name of one"),
        ("http://host/a\tb.txt", "has the control character '\\t'"),
        ("http://host/a\nb.txt", "has the control character '\\n'"),
        ("http://host/${env:NO_SUCH_VARIABLE}.txt", "environment variable NO_SUCH_VARIABLE"),
        ("http://host/${env:a b}.txt", "names no environment variable"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_urls_that_cannot_be_asked_for_are_refused_in_a_sentence(url: str, words: str, verb: str) -> None:
    Path("one.yaml").write_text(WORKFLOW.replace("url: x", "url: " + json.dumps(url)))
    result = gravel(verb, "one.yaml")
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert "defect" not in result.output
    assert "Traceback" not in result.output
