from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli.cache import command as cache_command
from gravel.pipeline.cli.options import age, size
from gravel.pipeline.cli.show import command as show_command
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.gc.collection import collect
from gravel.pipeline.store.cache import Cache
from tests.pipeline.run_records import whole
from tests.pipeline.samples import each_kind, graph, publish, recipe, shards


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path)


def call(command: Any, *arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def told(cache: Cache, *words: str) -> str:
    command = show_command if words[0] == "show" else cache_command
    return call(command, *words[words[0] == "show" :], "--cache", str(cache.root)).output


def run_record(cache: Cache, stages: list[dict[str, object]]) -> Path:
    folder = cache.root / "runs" / "20260101-000000-small-0000"
    folder.mkdir(parents=True)
    body = {"run": folder.name, "state": "done", "workflow": {}, "stages": stages}
    (folder / "run.json").write_text(json.dumps(whole(body | {"recipes": [], "artifacts": []})))
    return folder


def test_ls(cache):
    records = [publish(cache, graph(vertices, seed=1), str(vertices)) for vertices in (4000, 10, 300)]
    text = told(cache, "ls")
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [record.id[:12] for record in records]
    assert "graph of small.yaml" in lines[1]
    assert lines[-1].startswith("3 artifacts")
    found = json.loads(told(cache, "ls", "--sort", "size", "--reverse", "--json"))
    assert [entry["id"] for entry in found] == [records[index].id for index in (0, 2, 1)]
    assert found[0]["recipe"] == recipe("4000").digest
    assert told(cache, "ls", "--kind", "traversal").startswith("id")


def test_verify_exits_1_for_damage(cache):
    record = publish(cache, graph())
    result = call(cache_command, "verify", "--cache", str(cache.root))
    assert result.return_value == 0
    assert "none damaged" in result.output
    shards(record)[0].write_bytes(b"")
    result = call(cache_command, "verify", "--cache", str(cache.root), "--json")
    assert result.return_value == 1
    assert json.loads(result.stdout)["damaged"].keys() == {record.id}
    assert call(cache_command, "verify", "--cache", str(cache.root)).return_value == 0


def test_gc_is_a_dry_run(cache):
    record = publish(cache, graph())
    text = told(cache, "gc")
    assert record.id[:12] in text
    assert "would remove 1 artifacts" in text
    assert cache.check(record.id) is None
    text = told(cache, "gc", "--yes")
    assert any(line.startswith("removed 1 artifacts") for line in text.splitlines())
    assert cache.list() == []
    body = json.loads(told(cache, "gc", "--json"))
    assert body["removed"] == {}


def test_sizes_and_ages():
    assert [size(text) for text in ("1000", "20GB", "1.5 KiB", "2m")] == [1000, 20 * 10**9, 1536, 2 * 10**6]
    assert [age(text) for text in ("90s", "12h", "2w", "1.5d")] == [90, 43200, 1209600, 129600]
    for parse, wrong in ((size, "big"), (size, "-3"), (age, "10"), (age, "1y")):
        with pytest.raises(click.BadParameter, match="write it like"):
            parse(wrong)
    result = CliRunner().invoke(cache_command, ["gc", "--max-size", "big"])
    assert result.exit_code == 2
    assert "write it like" in result.output


@pytest.mark.parametrize("position", range(len(each_kind())))
def test_show_tells_of_every_kind(cache, position):
    artifact = each_kind()[position]
    record = publish(cache, artifact)
    text = told(cache, "show", record.id[:8])
    assert text.startswith(f"{type(artifact).__name__} {record.id}\n")
    for name in record.arrays:
        assert name in text
    (body,) = json.loads(told(cache, "show", record.id, "--json"))
    assert body["attributes"] == record.attributes
    assert body["arrays"].keys() == record.arrays.keys()


def test_show_tells_the_whole_chain(cache):
    edges = publish(cache, graph(seed=1), "edges")
    middle = publish(cache, graph(seed=2), "middle", inputs=(edges.id,))
    last = publish(cache, graph(seed=3), "last", inputs=(middle.id, edges.id))
    text = told(cache, "show", last.id[:10])
    for expected in ("symmetrize version 1", "small.yaml", "on here", "python 3.11", "a CPU", "user: me"):
        assert expected in text
    assert text.count(edges.id[:12]) == 2
    assert "(as above)" in text
    (body,) = json.loads(told(cache, "show", last.id, "--json"))
    assert body["inputs"][0]["inputs"][0]["id"] == edges.id
    assert body["provenance"]["host"] == "here"
    assert body["recipe"]["version"] == 1
    # A recipe's digest is a name too, and what is gone is said.
    collect(cache, delete=True)
    publish(cache, graph(seed=3), "last", inputs=(middle.id, edges.id))
    digest = recipe("last", (middle.id, edges.id)).digest
    assert "not in the cache any more" in told(cache, "show", digest[:9])


def test_show_finds_stage_runs(cache):
    records = [publish(cache, graph(seed=seed), str(seed)) for seed in range(3)]
    stages = [
        {"key": key, "entry": key.split("[")[0], "stage": "reorder", "state": state, "outputs": outputs}
        for key, state, outputs in [
            ("ordered[order=rcm]", "computed", [records[0].id]),
            ("ordered[order=degree]", "cached", [records[1].id]),
            ("edges", "cached", [records[2].id, records[0].id]),
            ("failed", "failed", []),
        ]
    ]
    run = run_record(cache, stages).name

    def show(*names: str) -> str:
        return told(cache, "show", *names)

    assert records[0].id in show("ordered[order=rcm]")
    assert records[1].id in show("ordered[order=d")
    assert records[1].id in show(run, "ordered[order=degree]")
    both = show("edges")
    assert records[2].id in both
    assert records[0].id in both
    for names, message in [
        (("ordered",), "fits 2 stage runs"),
        (("failed",), "has no result: it is failed"),
        (("nothing",), "is called nothing"),
        ((run,), "is a run"),
        (("ffffffff",), "is called ffffffff"),
        ((run, "none"), "has no stage run 'none'"),
    ]:
        with pytest.raises(RequestError, match=message):
            show(*names)


def test_an_empty_cache(tmp_path):
    root = str(tmp_path / "none")
    assert "0 artifacts" in call(cache_command, "ls", "--cache", root).output
    assert call(cache_command, "verify", "--cache", root).return_value == 0
    with pytest.raises(RequestError, match="is called abc"):
        call(show_command, "abc", "--cache", root)


def test_gc_collects_compiled_kernels_that_are_long_unused(cache, tmp_path, monkeypatch):
    folder = tmp_path.with_name("compiled-kernels")  # a cache may hold nothing that others write
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("GRAVEL_COMPILED", str(folder))
    for name, days in (("new", 2), ("old", 31)):
        (folder / name).write_bytes(b"0" * 1024)
        then = time.time() - 86400 * days
        os.utime(folder / name, (then, then))
    place = ["--cache", str(cache.root)]
    dry = call(cache_command, "gc", *place).output
    assert "would remove 1 compiled kernels (1 KiB) long unused" in dry
    assert "nothing was removed" in dry
    assert len(list(folder.iterdir())) == 2
    found = json.loads(call(cache_command, "gc", "--older-than", "1d", "--json", *place).output)["compiled"]
    assert found == {"entries": 2, "bytes": 2048, "kept": 0, "kept_bytes": 0}
    assert "removed 1 compiled kernels" in call(cache_command, "gc", "--yes", *place).output
    assert [path.name for path in folder.iterdir()] == ["new"]
    folder.chmod(0o777)
    assert "compiled" not in call(cache_command, "gc", "--older-than", "1d", *place).output
