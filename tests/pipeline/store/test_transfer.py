"""A cache in an object store whose line is cut, or whose objects are damaged or gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.objects import Bucket
from tests.pipeline.samples import equal, graph, provenance, recipe
from tests.pipeline.store.remote_case import URL, many_arrays, places, put, put_graph, run
from tests.pipeline.store.s3_server import assert_whole, stored_record
from tests.pipeline.tiny_stages import ADD, MAKE, count, plan_of, stage_run

__all__ = ["places"]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((0.02, 0.5, 0.97), id="three"),
        pytest.param(tuple(part / 50 for part in range(50)), id="fifty", marks=pytest.mark.slow),
    ],
)
def test_a_line_cut_within_a_publish_damages_nothing_and_is_taken_up(places, line, parts):
    one = places("one")
    put(one, "first", many_arrays(50))
    before = line.passed
    record = put(one, "second", many_arrays(12_000))
    whole = line.passed - before
    assert whole > sum(Bucket(URL).below(f"data/{record.path.name}").values())

    for part in parts:
        name = f"cut at {part}"
        vertices = 12_000 + int(1000 * part)
        line.cut(after=int(part * whole))
        cut = put(one, name, many_arrays(vertices))
        line.mend()
        assert_whole(URL)
        assert Bucket(URL).get(f"recipes/{recipe(name).digest}.json") is None
        assert one.cache.pushes.pending() == [recipe(name).digest]
        assert "not in s3://bucket/caches/one yet, but kept here: 1 result" in one.told[-1]
        assert one.cache.check(cut.id) is None

        # Another process, as after a crash: the next run's end pushes what is missing, and only that.
        before = line.passed
        Cache(one.root, one.told.append).finish_pushes()
        assert one.cache.pushes.pending() == []
        if part > 0.95:
            assert line.passed - before < whole / 2
        assert_whole(URL)
    two = places("two")
    assert two.cache.look_up(recipe(name).digest) is not None
    assert equal(two.cache.open(cut.id), many_arrays(vertices))


def test_a_process_killed_while_the_line_is_cut(places, line, tmp_path):
    one = places("one")
    script = (
        "import sys; from gravel.pipeline.store.cache import Cache\n"
        "from tests.pipeline.samples import graph, publish\n"
        "import gravel.stages.remote.object_store as store; store.RETRIES = 50\n"
        "cache = Cache(sys.argv[1]); publish(cache, graph(12_000), 'killed'); print('made', flush=True)\n"
        "cache.finish_pushes()"
    )
    line.cut(after=50_000)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(one.root)], cwd=Path(__file__).parents[3], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"made\n"
        process.kill()
    line.mend()
    assert_whole(URL)
    assert one.cache.pushes.pending() == [recipe("killed").digest]
    one.cache.finish_pushes()
    assert_whole(URL)
    assert places("two").cache.look_up(recipe("killed").digest) is not None


def test_a_line_cut_while_data_come_leaves_nothing_half(places, line, monkeypatch):
    record = put_graph(places("one"), vertices=12_000)
    two = places("two")
    assert two.cache.look_up(recipe("one").digest) is not None
    stored = sum(Bucket(URL).below(f"data/{record.path.name}").values())
    for part in (0.05, 0.5, 0.95):
        line.cut(after=int(part * stored))
        with pytest.raises(
            DamagedArtifact, match=r"it is not here, and s3://bucket/caches/one at .* cannot be"
        ):
            two.cache.open(record.id)
        assert list((two.root / "data").iterdir()) == []
        line.mend()
    assert equal(two.cache.open(record.id), graph(12_000))
    assert two.cache.verify().damaged == {}


def test_damage_in_the_store_is_found_set_aside_and_made_good(places):
    one = places("one")
    record = put_graph(one)
    target = Bucket(URL)
    (stored,) = stored_record(URL, record.id).objects["column_indices"]
    target.put(f"data/{record.path.name}/{stored.blake3}", b"x" * stored.size)

    two = places("two")
    assert two.cache.look_up(recipe("one").digest) is not None
    with pytest.raises(DamagedArtifact, match="is damaged: it is no zstd frame"):
        two.cache.open(record.id)
    two.cache.quarantine(record.id, "as the driver does")
    assert two.cache.check(record.id) == "it has no record in the cache"
    assert len(target.names("quarantine")) == 1
    assert list((two.root / "data").iterdir()) == []

    with two.cache.writer() as writer:
        made = writer.publish(graph(4000))
    two.cache.remember(recipe("one"), (made.id,), provenance())
    two.cache.finish_pushes()
    three = places("three")
    assert three.cache.look_up(recipe("one").digest) is not None
    assert equal(three.cache.open(record.id), graph(4000))


def test_a_recipe_whose_artifact_is_gone_from_the_store_is_computed_again(places):
    one = places("one")
    record = put_graph(one)
    Bucket(URL).remove([f"artifacts/{record.id}.json"])
    two = places("two")
    assert two.cache.look_up(recipe("one").digest) is None
    assert two.told == []


def test_local_damage_is_mended_from_the_store(places):
    one = places("one")
    record = put_graph(one)
    one.cache.quarantine(record.id, "a test says so")
    assert one.cache.look_up(recipe("one").digest).outputs == (record.id,)
    assert equal(one.cache.open(record.id), graph(4000))


def test_a_line_that_dies_before_the_data_came_costs_a_computation_only(places, tmp_path, line):
    marks = tmp_path / "marks"
    run(marks, places("one").root)
    two = places("two")
    run(marks, two.root)
    line.cut()
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("b", ADD, "a", value=99, marks=str(marks)),
    )
    outcome = execute(plan, RunOptions(cache_root=two.root, cluster="inline", backend="cpu"))
    assert outcome.record["state"] == "done"
    assert count(marks, 1) == 2
