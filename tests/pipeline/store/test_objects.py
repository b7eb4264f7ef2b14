"""Data files and caches in object stores, from the command line to the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.datasets.downloads import Downloads
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.store.objects import Bucket, FaultySource
from gravel.stages.errors import StageError
from tests.pipeline.cli_case import gravel
from tests.pipeline.samples import equal, graph, publish, recipe
from tests.pipeline.store.s3_server import assert_whole
from tests.stages.remote.cloud_server import CloudServer, cloud_server

WORKFLOW = """\
workflow: parts
parameters: {files: "s3://bucket/parts/*.txt"}
stages:
  edges: {stage: ingest, files: "${files}"}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(WORKFLOW)


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudServer]:
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(tmp_path / "tiers"))
    with cloud_server() as (running, environment):
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
        yield running


def run(*arguments: str) -> dict[str, Any]:
    """Run, and return what the record says of `edges`, with all that was printed."""
    done = gravel("run", "w.yaml", "--cluster", "inline", "--backend", "cpu", "--cache", "cache", *arguments)
    assert done.exit_code == 0, done.output
    latest = max(Path("cache/runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    stage: dict[str, Any] = json.loads((latest / "run.json").read_text())["stages"][0]
    return {**stage, "output": done.output}


def test_a_pattern_of_files_in_a_store_is_one_graph(line):
    parts = {f"part-{at}.txt": f"{at} {at + 1}\n{at} 100\n" for at in range(4)}
    Path("local").mkdir()
    bucket = Bucket("s3://bucket/parts")
    for name, text in parts.items():
        bucket.put(name, text.encode())
        Path("local", name).write_text(text)
    bucket.put("_SUCCESS", b"")
    bucket.put("deep/part-9.txt", b"7 8\n")
    first = run()
    assert first["state"] == "computed"
    assert Cache(Path("cache")).describe(first["outputs"][0]).extent.arcs == 8
    assert run("--set", "files=local/*.txt")["outputs"] == first["outputs"]

    again = run()
    assert again["state"] == "cached"
    assert again["output"].count(": unchanged by ETag") == len(parts)
    assert ": fetched, " not in again["output"]

    bucket.put("part-2.txt", b"2 3\n2 99\n")
    changed = run()
    assert changed["state"] == "computed"
    assert changed["outputs"] != first["outputs"]
    assert changed["output"].count("part-2.txt: fetched, 9 bytes, sha256 ") == 1
    assert changed["output"].count(": unchanged by ETag") == len(parts) - 1
    assert run("--set", "files=s3://bucket/parts/")["state"] == "computed"  # with those of folders below

    line.cut()
    offline = run("--set", f"files={json.dumps([f's3://bucket/parts/{name}' for name in parts])}")
    assert offline["outputs"] == changed["outputs"]
    assert "cannot be reached" in offline["output"]
    done = gravel("run", "w.yaml", "--cache", "cache")
    assert done.exit_code == 2
    assert "this URL cannot be read: its store at http://127.0.0.1" in done.output


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_download_of_an_object_goes_on_where_it_was_cut(tmp_path, cloud, scheme, monkeypatch):
    monkeypatch.setattr("gravel.stages.remote.object_store.RETRIES", 0)
    text = b"".join(b"%d %d\n" % (at, at + 1) for at in range(400_000))
    cloud.objects["a.txt"], cloud.cut = text, 3 << 20
    told: list[str] = []
    found = Downloads(tmp_path / "cache").fetch(f"{scheme}://bucket/a.txt", log=told.append, pause=0.0)
    assert found.path.read_bytes() == text
    assert "bytes are here, and the rest is asked for again" in told[1]
    assert f"fetched, {len(text):,} bytes, sha256 {found.sha256}" in told[-1]
    assert "from its beginning" not in " ".join(told)
    with pytest.raises(StageError, match="there is nothing at this URL"):
        Downloads(tmp_path / "cache").fetch(f"{scheme}://bucket/none.txt", pause=0.0)


@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_a_bucket_does_what_a_cache_asks_of_it(cloud, scheme):
    bucket = Bucket(f"{scheme}://bucket/some/prefix")
    bucket.put("recipes/a b.json", b"1")
    bucket.put("recipes/a b.json", b"22")
    assert not bucket.create("recipes/a b.json", b"3")
    assert bucket.create("recipes/c.json", b"3")
    assert [bucket.get("recipes/a b.json"), bucket.get("none")] == [b"22", None]
    assert bucket.names("") == ["recipes"]
    assert bucket.names("recipes") == ["a b.json", "c.json"]
    assert bucket.below("recipes") == {"a b.json": 2, "c.json": 1}
    bucket.remove(["recipes/a b.json", "recipes/c.json"])
    assert cloud.objects == {}
    cloud.objects["some/prefix/data"] = b"22"
    with pytest.raises(FaultySource, match="has 2 bytes, and at most 1 are read"):
        bucket.read("data", 1)


@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_a_cache_in_a_store_is_shared(cloud, scheme, tmp_path, monkeypatch):
    url = f"{scheme}://bucket/caches/one"
    one = Cache(find_cache(url))
    record = publish(one, graph(), "one")
    one.finish_pushes()
    assert one.remote is not None
    assert one.pushes.pending() == []
    assert_whole(url)
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(tmp_path / "other"))
    two = Cache(find_cache(url))
    found = two.look_up(recipe("one").digest)
    assert found is not None
    assert found.outputs == (record.id,)
    monkeypatch.setattr("gravel.stages.remote.object_store.RETRIES", 0)
    cloud.cut = 100  # within the object that is asked for next, and not when it is asked for again
    assert equal(two.open(record.id), graph())
    assert cloud.cut is None

    name = next(name for name in cloud.objects if "/data/" in name)
    cloud.objects[name] = b"x"
    pulled = gravel("cache", "pull", url, "--cache", "plain")
    assert pulled.exit_code == 1
    assert record.id[:12] in pulled.output


def test_two_accounts_of_azure_are_two_caches(cloud, monkeypatch):
    tier = find_cache("az://container/cache")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "another")
    assert find_cache("az://container/cache") != tier


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/cache", "ftp:// is not served, s3://, gs:// and az:// are"),
        ("s3://me:xq7word@bucket/cache", "s3://bucket/cache names no bucket and prefix"),
        ("gs:///cache", "names no bucket and prefix"),
    ],
)
def test_urls_that_are_no_cache_are_refused(url, words):
    done = gravel("run", "w.yaml", "--cache", url)
    assert done.exit_code == 2
    assert words in done.output
    assert "xq7" not in done.output
