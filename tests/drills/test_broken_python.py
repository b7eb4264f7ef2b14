"""Python broken on purpose: places are drawn, broken and found, and what is listed as equivalent exists."""

from __future__ import annotations

import ast
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.drills.broken_python import __main__ as drill
from tests.drills.broken_python.places import Place, drawn, places_of
from tests.kernels.tree_copy import ROOT

FILE = "gravel/conversion/networkx.py"
"""Python whose tests are few and take a second."""

TEXT = '''
LIMIT = 3 + 4


def each(first: int = 1, *more: int) -> "int | None":
    """Return 1 + 2."""
    assert first > 2
    for one in more:
        if not one or (first <= one and one is not None):
            continue
        print(first, "é", one, 2 if one else 3)
        first += 1
    if first in more:
        raise ValueError(f"{first + 1}")
    return first * 2 if find(
        first, more
    ) else None
'''


@pytest.fixture(scope="module")
def places() -> list[Place]:
    return drawn(7, 60)


def test_each_operator_breaks_what_it_names() -> None:
    broken = {(place.old, place.new) for place in places_of("gravel/some.py", TEXT)}
    assert broken >= {
        ("not one", "(one)"),
        ("first <= one", "(first < one)"),
        ("one is not None", "(one is None)"),
        ("continue", "break"),
        ("first += 1", "first -= 1"),
        ("first * 2", "(first + 2)"),
        ("find( first, more )", "(find(more, first))"),
        ('print(first, "é", one, 2 if one else 3)', "pass"),
    }
    assert not {old for old, _ in broken} & {"3 + 4", "first > 2", "first + 1", "int | None"}
    assert {place.function for place in places_of("gravel/some.py", TEXT)} == {"each"}


def test_a_place_is_broken_where_it_is_and_nowhere_else(places: list[Place]) -> None:
    written = [(place, (ROOT / place.file).read_text(encoding="utf-8")) for place in places]
    for place, text in [*written, *((place, TEXT) for place in places_of("gravel/some.py", TEXT))]:
        broken = place.broken(text)
        assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(text))
        before, after = text.encode().split(b"\n"), broken.encode().split(b"\n")
        assert after[: place.line - 1] == before[: place.line - 1]
        assert after[place.line :] == before[place.end_line :]
        begin, end = before[place.line - 1][: place.column], before[place.end_line - 1][place.end_column :]
        assert after[place.line - 1] == begin + place.new.encode() + end


def test_a_seed_draws_the_same_places_again(places: list[Place]) -> None:
    assert drawn(7, 60) == places
    assert drawn(8, 60) != places
    assert len(set(places)) == 60
    trust = drawn(7, 60, ["pipeline/trust"])
    assert {place.room for place in trust} == {"pipeline/trust"}
    assert trust[:3] == drawn(7, 3, ["pipeline/trust"])


def test_a_copy_has_all_of_the_package(tmp_path: Path) -> None:
    """Tests that lack a part of it fail before they find anything."""
    copied = drill.Drill(tmp_path, 1)._take().folder
    there, all_of_it = (
        {path.relative_to(folder) for path in (folder / "gravel").rglob("*.py")} for folder in (copied, ROOT)
    )
    assert there == all_of_it


def test_what_is_listed_as_equivalent_is_a_place() -> None:
    listed = json.loads((ROOT / "tests/drills/broken_python/equivalent.json").read_text())
    for each in listed:
        text = (ROOT / each["file"]).read_text(encoding="utf-8")
        there = {(place.function, place.old, place.new) for place in places_of(each["file"], text)}
        assert (each["function"], each["old"], each["new"]) in there, each
        assert each["reason"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_parts_of_a_drill_add_up(tmp_path, monkeypatch, capsys) -> None:
    few = random.Random(1).sample(list(places_of(FILE, (ROOT / FILE).read_text(encoding="utf-8"))), 4)
    monkeypatch.setattr(drill, "FOLDERS", ("gravel/conversion",))
    monkeypatch.setattr(drill, "drawn", lambda *_: few)

    def run(*words: str) -> tuple[str, dict[str, Any]]:
        folder = tmp_path / "drill"
        monkeypatch.setattr(sys, "argv", ["drill", "1", "--folder", str(folder), "--processes", "1", *words])
        drill.main()
        return capsys.readouterr().out, json.loads((folder / "outcomes.json").read_text())

    told, outcomes = run("--count", "2")
    assert "2 of 4 places tried" in told
    assert outcomes.keys() == {str(place) for place in few[:2]}
    told, both = run("--from", "2", "--count", "2")
    assert both.keys() == {str(place) for place in few}
    assert both.items() >= outcomes.items()
    found = [each for each in both.values() if each["outcome"] == "found"]
    assert f"4 of 4 places tried, {len(found)} found" in told
    assert found
    assert all("test_networkx.py" in each["by"] for each in found)
    assert run() == (told[told.index("4 of 4") :], both)
