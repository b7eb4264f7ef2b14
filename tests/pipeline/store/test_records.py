"""Records of other formats, and sealed ones whose values have other types: named, refused, or damage."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.gc.collection import collect
from gravel.pipeline.store import records
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import RECORD_FORMAT, seal, unseal
from tests.drills.gravel import Gravel
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


SMALL = ("--set", "scale=5", "--set", "sources=1")

CHANGES: list[tuple[str, str, Any]] = [
    ("recipes", "provenance", -1),
    ("recipes", "provenance", [None]),
    ("recipes", "provenance", {"stage": []}),
    ("recipes", "parts", []),
    ("recipes", "outputs", [None]),
    ("recipes", "outputs", ["../../x"]),
    ("recipes", "created", [[]]),
    ("artifacts", "bytes", ""),
    ("artifacts", "kind", 2**70),
    ("artifacts", "absent", None),
    ("artifacts", "data", "../../x"),
    ("artifacts", "files", [["../x", 1, "0" * 64]]),
    ("artifacts", "arrays", {"a": 3}),
    ("artifacts", "extent", 5),
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Gravel:
    gravel = Gravel(tmp_path_factory.mktemp("home") / "cache", arguments=SMALL, inside=True)
    gravel.run()
    return gravel


@pytest.mark.parametrize(("folder", "key", "value"), CHANGES)
def test_a_sealed_record_with_values_of_other_types_is_made_again(
    filled: Gravel, folder: str, key: str, value: Any, tmp_path: Path
) -> None:
    for path in sorted((filled.cache / folder).glob("*.json"))[:2]:
        body = json.loads(path.read_text())
        del body["seal"]
        path.write_bytes(seal({**body, key: value}))
    filled.verify(expect=1)
    filled.run()
    assert filled.verify()["damaged"] == {}
    filled.export("bfs", tmp_path / "out.csv")


def test_a_record_that_says_what_another_one_says_is_damage_when_it_is_opened(
    filled: Gravel, tmp_path: Path
) -> None:
    """Nothing has verified the cache before: the id of what is opened follows from its record alone."""
    filled.export("bfs", tmp_path / "before.csv")
    kinds: dict[str, dict[str, Any]] = {}
    for path in sorted((filled.cache / "artifacts").glob("*.json")):
        body = json.loads(path.read_text())
        kinds.setdefault(body["kind"], {})[body["id"]] = body
    (graph, kept), (ordering, _) = next(iter(kinds["Graph"].items())), next(iter(kinds["Ordering"].items()))
    other = json.loads((filled.cache / "artifacts" / f"{ordering}.json").read_text())
    del other["seal"]
    (filled.cache / "artifacts" / f"{graph}.json").write_bytes(seal({**other, "id": graph}))
    assert kept["data"] != other["data"]
    filled.export("graph", tmp_path / "graph.csv")
    filled.run()
    filled.export("bfs", tmp_path / "after.csv")
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()
    assert filled.verify()["damaged"] == {}


@pytest.mark.parametrize(
    ("file", "is_one"),
    [
        (["zarr.json", 5, "0" * 64], True),
        (["a/c/0", 5, None], True),
        (["a/c/0", -1, None], False),
        (["a/c/0", "5", "0" * 64], False),
        (["a/c/0", 5, "0" * 63], False),
        ([5, 5, None], False),
        (["a/c/0", 5], False),
    ],
)
def test_a_file_has_a_name_a_size_and_a_digest_or_none(file: list[Any], is_one: bool) -> None:
    assert records._is_file(file) == is_one
