"""`gravel cache push` and `pull`, between folders and with a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli.cache import command
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.gc.collection import collect
from gravel.pipeline.records.past_runs import list_runs
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.objects import Bucket, Folder, RemoteError
from gravel.pipeline.store.records import ArtifactRecord
from tests.pipeline.samples import equal, graph, publish, recipe, shards
from tests.pipeline.store.s3_server import objects_of, stored_record
from tests.pipeline.tiny_stages import ADD, MAKE, count, plan_of, stage_run

URL = "s3://bucket/shared"


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The other cache: another folder, or a prefix of a bucket."""
    if request.param == "folder":
        return str(tmp_path / "disk" / "cache")
    request.getfixturevalue("line")
    return URL


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(command, [*arguments, "--json"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


def opened(place: str) -> Any:
    return Bucket(place) if place == URL else Folder(Path(place))


def chain(cache: Cache) -> list[ArtifactRecord]:
    """Publish three results, the third made from the first."""
    first = publish(cache, graph(300), "first")
    return [first, publish(cache, graph(20), "other"), publish(cache, graph(400), "third", (first.id,))]


def test_only_what_is_missing_moves(tmp_path, place):
    gpu, laptop = Cache(tmp_path / "gpu"), Cache(tmp_path / "laptop")
    records = chain(gpu)
    moved = call("push", place, "--cache", str(gpu.root))
    assert (moved["artifacts"], moved["recipes"], moved["present"]) == (3, 3, 0)
    if place == URL:
        assert moved["bytes"] == sum(Bucket(URL).below("data").values())
    else:
        assert moved["bytes"] == sum(record.bytes_on_disk for record in records)
    again = call("push", place, "--cache", str(gpu.root))
    assert (again["artifacts"], again["recipes"], again["bytes"], again["present"]) == (0, 0, 0, 3)

    publish(laptop, graph(20), "of its own")  # equal to one that is there
    moved = call("pull", place, "--cache", str(laptop.root))
    assert (moved["artifacts"], moved["recipes"], moved["present"]) == (2, 3, 1)
    for name, vertices in (("first", 300), ("other", 20), ("third", 400)):
        found = laptop.look_up(recipe(name, (records[0].id,) if name == "third" else ()).digest)
        assert found is not None
        assert equal(laptop.open(found.outputs[0]), graph(vertices))
    assert laptop.verify().damaged == {}
    assert call("pull", place, "--cache", str(laptop.root))["recipes"] == 0


def test_a_result_comes_with_what_it_was_made_from(tmp_path, place):
    gpu = Cache(tmp_path / "gpu")
    records = chain(gpu)
    third = recipe("third", (records[0].id,)).digest
    assert call("push", place, "--recipe", third[:10], "--cache", str(gpu.root))["artifacts"] == 2
    assert call("push", place, "--workflow", "small.yaml", "--cache", str(gpu.root))["artifacts"] == 1
    alone = call("pull", place, "--recipe", third, "--alone", "--cache", str(tmp_path / "alone"))
    assert alone["artifacts"] == 1
    assert call("pull", place, "--recipe", third, "--cache", str(tmp_path / "all"))["artifacts"] == 2
    for arguments, message in (
        (("--recipe", "zz"), "no recipe 'zz'"),
        (("--run", "last week's"), "no run"),
        (("--workflow", "large"), "holds no result of a workflow 'large'"),
    ):
        with pytest.raises(RequestError, match=message):
            call("pull", place, *arguments, "--cache", str(tmp_path / "all"))


def test_a_run_is_reused_whole_on_another_machine(tmp_path, place):
    marks = tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("b", ADD, "a", value=10, marks=str(marks)),
    )
    gpu, laptop = tmp_path / "gpu", tmp_path / "laptop"
    outcome = execute(plan, RunOptions(cache_root=gpu, cluster="inline", backend="cpu"))
    run = outcome.record["run"]
    publish(Cache(gpu), graph(50), "of something else")
    moved = call("push", place, "--run", run, "--cache", str(gpu))
    assert (moved["artifacts"], moved["runs"]) == (3, 1)
    moved = call("pull", place, "--run", run[:-3], "--cache", str(laptop))
    assert (moved["artifacts"], moved["runs"]) == (3, 1)
    again = execute(plan, RunOptions(cache_root=laptop, cluster="inline", backend="cpu"))
    assert {stage["state"] for stage in again.record["stages"]} == {"cached"}
    assert count(marks, 1) == count(marks, 10) == 1
    assert (laptop / "runs" / run / "report.html").exists()
    assert [found["run"] for found in list_runs(laptop)] == [again.record["run"], run]
    assert collect(Cache(laptop)).removed == {}


def test_damage_is_told_and_not_copied(tmp_path, place):
    gpu, laptop = Cache(tmp_path / "gpu", lambda message: None), Cache(tmp_path / "laptop")
    records = chain(gpu)
    shard = shards(records[1])[0]
    shard.write_bytes(b"x" * shard.stat().st_size)
    moved = call("push", place, "--cache", str(gpu.root))
    assert moved["damaged"].keys() == {records[1].id}
    assert moved["artifacts"] == 2
    assert f"{recipe('other').digest}.json" not in opened(place).names("recipes")
    assert not opened(place).get(f"recipes/{recipe('other').digest}.json")

    if place == URL:
        Bucket(place).put(objects_of(stored_record(URL, records[0].id))[-1], b"")
    else:
        folder = json.loads(opened(place).get(f"artifacts/{records[0].id}.json"))["data"]
        name = max(records[0].files, key=lambda file: file.size).path
        (Path(place) / "data" / folder / name).write_bytes(b"")
    moved = call("pull", place, "--cache", str(laptop.root))
    assert moved["damaged"].keys() == {records[0].id}
    assert laptop.look_up(recipe("first").digest) is None
    assert laptop.look_up(recipe("third", (records[0].id,)).digest) is not None
    assert laptop.verify().damaged == {}
    assert len(list((laptop.root / "data").iterdir())) == 1


def test_a_cut_pull_leaves_whole_artifacts_and_goes_on(tmp_path, line):
    gpu, laptop = Cache(tmp_path / "gpu"), Cache(tmp_path / "laptop", pytest.fail)
    for number in range(12):
        publish(gpu, graph(100 + number), f"result {number}")
    call("push", URL, "--cache", str(gpu.root))
    before = line.passed
    call("pull", URL, "--cache", str(tmp_path / "whole"))
    asked = line.passed - before
    held = []
    for part in (0.15, 0.6):
        line.cut(after=int(part * asked))
        with pytest.raises(RemoteError, match="cannot be reached"):
            call("pull", URL, "--cache", str(laptop.root))
        line.mend()
        assert laptop.verify().damaged == {}
        held.append(len(laptop.list()))
        assert len(laptop.files.names("data")) == held[-1]
    assert 0 < held[-1] < 12
    moved = call("pull", URL, "--cache", str(laptop.root))
    assert moved["present"] == held[-1]
    assert moved["artifacts"] == 12 - held[-1]


def test_the_store_behind_a_cache_is_the_default(tmp_path, line):
    with pytest.raises(RequestError, match="no other cache is named"):
        call("push", "--cache", str(tmp_path / "plain"))
    with pytest.raises(RequestError, match="is this very cache"):
        call("pull", str(tmp_path / "plain"), "--cache", str(tmp_path / "plain"))
    with pytest.raises(RequestError, match="there is no cache"):
        call("pull", str(tmp_path / "missing"), "--cache", str(tmp_path / "plain"))
    gpu = Cache(tmp_path / "gpu")
    chain(gpu)
    call("push", URL, "--cache", str(gpu.root))
    assert call("pull", "--cache", URL)["artifacts"] == 3
    assert call("push", "--cache", URL)["present"] == 3
    # What lies only in the store is fetched before it is passed on.
    moved = call("push", str(tmp_path / "disk"), "--cache", URL)
    assert moved["artifacts"] == 3
