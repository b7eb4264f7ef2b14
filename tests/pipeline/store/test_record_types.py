"""Records whose seal fits and whose values have other types are damage like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.store import records
from gravel.pipeline.store.records import seal
from tests.drills.gravel import Gravel

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
