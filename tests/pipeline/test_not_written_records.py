"""What is on record of results that are not written: read, checked, collected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.gc.collect import Policy, collect
from gravel.pipeline.store import disk
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.not_written import NotWritten, Terms
from gravel.pipeline.store.record_types import is_recipe
from gravel.pipeline.store.records import RecipeRecord, seal
from gravel.stages.sizes import Extent
from gravel.stages.stage import all_stages
from tests.pipeline.not_written_runs import chain, of, run, states


def test_gc_keeps_the_recipe_while_a_run_reaches_it(tmp_path: Path) -> None:
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root)
    digest = of(first, "a")["recipe"]
    collected = collect(Cache(root), Policy(), delete=True)
    assert not collected.recipes
    assert Cache(root).look_up(digest) is not None
    collected = collect(Cache(root), Policy(max_size=0), delete=True)
    assert digest not in collected.recipes, "its result takes no room"
    for folder in (root / "runs").iterdir():
        (folder / "run.json").unlink()
    collected = collect(Cache(root), Policy(), delete=True)
    assert digest in collected.recipes
    assert not list((root / "recipes").iterdir())


def test_a_gravel_that_does_not_know_the_part_computes_again(tmp_path: Path) -> None:
    """An older gravel sees outputs that are missing: its records have no such part, and are read as ever."""
    root, marks = tmp_path / "cache", tmp_path / "marks"
    first = run(chain(marks), root)
    path = root / "recipes" / f"{of(first, 'a')['recipe']}.json"
    body = json.loads(path.read_text())
    del body["seal"], body["not_written"]
    path.write_bytes(seal(body))
    record = Cache(root).look_up(of(first, "a")["recipe"])
    assert record is not None
    assert record.not_written is None
    later = run(chain(marks), root, remake="never")
    assert states(later) == {"a": "computed", "b": "cached"}
    assert later.outputs("a") == first.outputs("a")


GOOD = NotWritten({"ab" * 32: Extent("Graph", bytes=8)}, 0.5, 1.0)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        {"extents": {}, "seconds": 1.0, "read_seconds": 1.0},
        {"extents": {"cd" * 32: {"kind": "Graph", "bytes": 8}}, "seconds": 1.0, "read_seconds": 1.0},
        {"extents": {"ab" * 32: {"kind": "Graph", "bytes": -8}}, "seconds": 1.0, "read_seconds": 1.0},
        {"extents": {"ab" * 32: {"kind": "Graph", "bytes": 8}}, "seconds": "1", "read_seconds": 1.0},
        {"extents": {"ab" * 32: {"kind": "Graph", "bytes": 8}}, "seconds": 1.0},
    ],
)
def test_a_part_with_values_of_other_types_is_damage(bad: Any) -> None:
    record = RecipeRecord("12" * 32, ("ab" * 32,), {}, {}, 1.0, GOOD)
    assert is_recipe(record.to_json())
    assert RecipeRecord.from_json(record.to_json()) == record
    assert not is_recipe({**record.to_json(), "not_written": bad})


def test_other_outputs_are_written_if_they_are_small() -> None:
    sizes = (Extent("EdgeList", bytes=1 << 30), Extent("VertexIds", bytes=0))
    found = Terms(1e9, 0.0).decide(("e", "v"), sizes, 0.1)
    assert found is not None
    assert list(found.extents) == ["e"]
    assert found.text == "not written: made in 0.1 s, read in 1.1 s"
    assert NotWritten({}, 123.4, 0.0002).text == "not written: made in 123 s, read in under 1 ms"
    named = (Extent("EdgeList", bytes=1 << 30), Extent("VertexIds", bytes=1 << 27))
    assert Terms(1e9, 0.0).decide(("e", "v"), named, 0.1) is None
    assert Terms(1e9, 1.0).decide(("e", "v"), sizes, 0.1) is None
    assert Terms(1e9, 0.0).decide(("v",), sizes[1:], 0.0) is None


def test_the_disk_is_measured_both_ways_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "disk.json").write_text(json.dumps({"bytes_per_second": 5, "measured": 0}))
    read = disk.read_rate(tmp_path)
    kept = json.loads((tmp_path / "disk.json").read_text())
    assert kept["read_bytes_per_second"] == round(read)
    disk.read_rate.cache_clear()
    disk.write_rate.cache_clear()
    monkeypatch.setattr(disk, "_measure", lambda root: pytest.fail("it is measured again"))
    assert disk.read_rate(tmp_path) == kept["read_bytes_per_second"]
    assert disk.write_rate(tmp_path) == kept["bytes_per_second"]
    assert not list((tmp_path / "data").iterdir())


def test_only_stages_that_are_deterministic_say_so() -> None:
    """Predecessors of a search may differ, and measurements do."""
    declared = {name for name, stage in all_stages().items() if stage.deterministic}
    assert declared == {"ingest", "saved", "symmetrize", "reorder", "partition", "compress", "paths"}
    assert not any(all_stages()[name].measures for name in declared)
