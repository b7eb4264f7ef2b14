"""Records of other formats: older ones are named and left alone, newer ones refused."""

from __future__ import annotations

import re

import pytest

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.gc.collection import collect
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import RECORD_FORMAT, seal, unseal
from tests.pipeline.samples import equal, graph, provenance, publish, recipe


def test_what_a_newer_gravel_computed_is_refused_and_left_alone(tmp_path):
    cache = Cache(tmp_path)
    stored = publish(cache, graph())
    made = recipe("a")
    cache.remember(made, [stored.id], provenance())
    files = [*(tmp_path / "artifacts").glob("*.json"), *(tmp_path / "recipes").glob("*.json")]
    for file in files:
        body = unseal(file.read_bytes())
        file.write_bytes(seal({**body, "format": RECORD_FORMAT + 1}))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for look in (
        lambda: cache.look_up(made.digest),
        lambda: cache.check(stored.id),
        lambda: cache.open(stored.id),
        cache.verify,
        cache.list,
        lambda: collect(cache, delete=True),
    ):
        with pytest.raises(RequestError, match="which a newer gravel wrote") as caught:
            look()
        assert caught.value.exit_code == 2
    cache.sweep()
    assert before.keys() <= set(tmp_path.rglob("*"))


def make_older(cache):
    for file in [*(cache.root / "artifacts").glob("*.json"), *(cache.root / "recipes").glob("*.json")]:
        file.write_bytes(seal({**unseal(file.read_bytes()), "format": RECORD_FORMAT - 1}))


def test_results_of_an_older_format_are_named_once_left_alone_and_removed_by_gc(tmp_path):
    told = []
    stored = publish(Cache(tmp_path), graph())
    make_older(cache := Cache(tmp_path, told.append))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert cache.look_up(recipe().digest) is None
    assert "no record" in cache.check(stored.id)
    with pytest.raises(DamagedArtifact):
        cache.open(stored.id)
    assert cache.list() == []
    assert cache.verify().damaged == {}
    assert len(collect(cache).files) == 2
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    (sentence,) = told
    assert re.search(r"holds results of an older format \([\d.]+ KiB\), .* `gravel cache gc --yes`", sentence)
    collect(cache, delete=True)
    assert not [
        *(tmp_path / "artifacts").iterdir(),
        *(tmp_path / "recipes").iterdir(),
        *(tmp_path / "data").iterdir(),
    ]


def test_a_result_takes_the_place_of_one_of_an_older_format(tmp_path):
    old = publish(Cache(tmp_path), graph())
    make_older(cache := Cache(tmp_path, lambda message: None))
    new = publish(cache, graph())
    assert (new.id, cache.look_up(recipe().digest).outputs) == (old.id, (old.id,))
    cache.remove_leavings(orphans=True)
    assert not old.path.exists()
    assert equal(cache.open(new.id), graph())
