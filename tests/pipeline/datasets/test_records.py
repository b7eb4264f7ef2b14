"""Passwords and signatures in URLs: in no file of the cache and in nothing that is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from gravel.stages.urls import hidden_in_text, shown
from tests.web_server import WebServer

USER, WORD, SIGNATURE = "xq7user", "xq7/xq7a@xq7b", "xq7sig"
PIECES = ("xq7", "eHE3")  # the last: in base64

MATRIX = """\
workflow: secrets
parameters: {url: x}
matrix: {place: ["${url}"]}
stages:
  edges: {stage: ingest, file: "${place}", format: edge_list}
  graph: {stage: symmetrize, input: edges}
"""
DATASETS = """\
workflow: secret data
parameters: {url: x}
datasets: ["${url}"]
stages:
  edges: {stage: ingest, with: "${dataset}", format: edge_list}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "work"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def server() -> Iterator[WebServer]:
    files = {"/graphs/a b.txt": b"1 2\n2 3\n", "/bad.txt": b"one two three four five six\n"}
    with WebServer(files, Last_Modified="Wed, 21 Oct 2015 07:28:00 GMT") as running:
        running.password, running.query = f"{USER}:{WORD}", f"sig={SIGNATURE}&v=1"
        yield running


class Told:
    """Everything that commands print."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def gravel(self, *words: str, code: int | None = 0) -> str:
        result = CliRunner().invoke(main, [*words])
        assert code is None or result.exit_code == code, (words, result.output)
        self.texts.append(f"$ {words[:2]}\n{result.output}")
        return result.output

    def check(self, least: int = 0) -> None:
        for text in self.texts:
            for piece in PIECES:
                assert piece not in text, text
        files = [path for path in Path.cwd().rglob("*") if path.is_file() and path.suffix != ".yaml"]
        assert len(files) >= least
        for path in files:
            for piece in PIECES:
                assert piece.encode() not in path.read_bytes(), path
                assert piece not in str(path)


def urls_of(server: WebServer, form: str, path: str) -> str:
    """Write a URL with the secrets in it, or with the names of environment variables."""
    if form == "variables":
        return f"http://${{env:THE_USER}}:${{env:THE_WORD}}@{server.host}{path}?sig=${{env:THE_SIG}}&v=1"
    word = WORD.replace("/", "%2F").replace("@", "%40")
    return f"http://{USER}:{word}@{server.host}{path}?sig={SIGNATURE}&v=1"


@pytest.mark.parametrize("form", ["literal", "variables"])
@pytest.mark.parametrize("workflow", [MATRIX, DATASETS])
def test_no_file_and_no_output_has_them(server, form, workflow, monkeypatch) -> None:
    for name, text in {"THE_USER": USER, "THE_WORD": WORD, "THE_SIG": SIGNATURE}.items():
        monkeypatch.setenv(name, text)
    url = urls_of(server, form, "/graphs/a b.txt")
    Path("w.yaml").write_text(workflow)
    told, shared = Told(), ("--set", f"url={json.dumps(url)}", "--cache", "cache")
    machine = ("--cluster", "inline", "--backend", "cpu")
    told.gravel("plan", "w.yaml", *shared)
    told.gravel("run", "w.yaml", *shared, *machine)
    told.gravel("run", "w.yaml", *shared, *machine, "--json")
    for words in (["plan", "--json"], ["plan"], ["dag"]):
        told.gravel(words[0], "w.yaml", *words[1:], *shared)
    run = sorted(path.name for path in Path("cache/runs").iterdir())[-1]
    told.gravel("runs", "--cache", "cache")
    told.gravel("show", run, "--cache", "cache", code=None)
    told.gravel("cache", "ls", "--cache", "cache", code=None)
    record = json.loads(Path(f"cache/runs/{run}/run.json").read_text())
    key, outputs = record["stages"][0]["key"], record["stages"][0]["outputs"]
    assert server.host in json.dumps(record)
    told.gravel("show", outputs[0], "--cache", "cache", code=None)
    told.gravel("logs", run, key, "--cache", "cache", code=None)
    told.gravel("export", key, "--run", run, "--to", "edges.csv", "--cache", "cache", code=None)
    told.gravel("diff", run, run, "--cache", "cache", code=None)
    told.gravel("cache", "push", "--to", "other", "--cache", "cache", code=None)
    told.gravel("cache", "pull", "--from", "cache", "--cache", "second", code=None)
    if workflow is DATASETS:
        for verb in (["ls"], ["ls", "--json"], ["fetch", "--all"]):
            told.gravel("datasets", *verb, "--from", "w.yaml", *shared, code=None)
    told.check(least=6)


FAILING = ("/none.txt", "/bad.txt", "/graphs/a%00b.txt", "/a\tb.txt")


@pytest.mark.parametrize("path", FAILING)
@pytest.mark.parametrize("workflow", [MATRIX, DATASETS])
def test_no_error_has_them(server: WebServer, path: str, workflow: str) -> None:
    url = urls_of(server, "literal", path)
    Path("w.yaml").write_text(workflow.replace("url: x", f"url: {json.dumps(url)}"))
    told = Told()
    for verb in (["plan"], ["run", "--cluster", "inline", "--backend", "cpu"]):
        told.gravel(verb[0], "w.yaml", *verb[1:], "--cache", "cache", code=None)
    server.status = 503
    told.gravel("plan", "w.yaml", "--cache", "cache", code=None)
    told.check()


@pytest.mark.parametrize(
    "url",
    [
        "http://xq7user:xq7word@host:portname/g.txt",
        "http://xq7user:xq7/xq7a@xq7b@host/g.txt",
        "http://xq7user:xq7word@/g.txt?sig=xq7sig",
        "http://xq7user:xq7word@127.0.0.1:9/g.txt?sig=xq7sig",
        "nosuch://xq7user:xq7word@host/g.txt?sig=xq7sig",
        "ftp://xq7user:xq7word@127.0.0.1:9/g.txt",
        "simplecache::http://xq7user:xq7word@127.0.0.1:9/g.txt?sig=xq7sig",
        "s3://xq7user:xq7word@bucket/g.txt",
    ],
)
def test_no_refusal_has_them(url: str) -> None:
    told = Told()
    for workflow in (MATRIX, DATASETS, MATRIX.replace("stage: ingest", "stage: ingset")):
        Path("w.yaml").write_text(workflow.replace("url: x", f"url: {json.dumps(url)}"))
        told.gravel("plan", "w.yaml", "--cache", "cache", code=None)
        told.gravel("run", "w.yaml", "--cluster", "inline", "--backend", "cpu", "--cache", "cache", code=None)
        told.gravel("run", "w.yaml", "--set", f"ulr={url}", "--cache", "cache", code=None)
    for text in told.texts:
        assert "Traceback" not in text
        assert "defect" not in text, text
    told.check()


def test_a_line_of_the_workflow_is_quoted_without_them() -> None:
    Path("w.yaml").write_text(
        "workflow: w\nstages:\n  a: {stage: ingest, fiel: 'https://xq7user:xq7word@host/a?k=xq7sig'}\n"
    )
    told = Told()
    output = told.gravel("plan", "w.yaml", "--cache", "cache", code=2)
    assert "https://host/a?k=..." in output
    for piece in PIECES:
        assert piece not in output


def test_a_schedule_names_variables_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("w.yaml").write_text(MATRIX)
    told = Told()
    words = ("schedule", "add", "w.yaml", "--cron", "@daily", "--cache", "cache")
    url = "http://xq7user:xq7word@host/g.txt?sig=xq7sig"
    for more in (
        ["--set", f"url={url}"],
        ["--set", "url=x", "--on-failure", f"{url}"],
        ["--set", "url=x", "--on-change", f"curl {url}"],
        ["--set", "url=x", "--", "--where", f"place={url}"],
    ):
        output = told.gravel(*words, *more, code=2)
        assert "write $" in output
    named = "http://${env:USER_NAME}:${env:PW}@host/g.txt?sig=${env:SIG}"
    hooks = ("--on-failure", named, "--on-change", "curl http://h/?k=$TOKEN")
    told.gravel(*words, "--set", f"url={named}", *hooks)
    assert "${env:PW}" in told.gravel("schedule", "list", "secrets", "--cache", "cache")
    told.check()


@pytest.mark.parametrize("place", ["seed: '${env:SEED}'", "file: '${env:FILE}'", "file: 'a-${env:FILE}.txt'"])
def test_variables_stand_in_urls_only(place: str) -> None:
    Path("w.yaml").write_text(f"workflow: w\nstages:\n  a: {{stage: ingest, {place}}}\n")
    output = Told().gravel("plan", "w.yaml", "--cache", "cache", code=2)
    assert "may stand in URLs only" in output
    assert "w.yaml:3:" in output


def test_what_is_shown_of_urls() -> None:
    assert shown("https://me:pass@host:81/a b?k=v&w#part") == "https://host:81/a b?k=...&..."
    assert shown("https://${env:U}:${env:P}@host/?k=${env:K}") == "https://${env:U}:${env:P}@host/?k=${env:K}"
    assert shown("s3://bucket/key") == "s3://bucket/key"
    assert shown("folder/a?b=c") == "folder/a?b=c"
    assert shown("http://me:pass@[::1]:81/g.txt?k=v") == "http://[::1]:81/g.txt?k=..."
    assert shown("zip://a.txt::https://me:pass@host/x.zip?k=v") == "zip://a.txt::https://host/x.zip?k=..."
    told = "see https://me:pass@host/x?k=v, or http://host/a b?k=v"
    assert "pass" not in hidden_in_text(told)
    assert "=v" not in hidden_in_text(told)
