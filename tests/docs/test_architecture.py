"""The page of the architecture names files and layers that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def text_block(number: int) -> str:
    return re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[number]


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE))
    assert len(named) > 20
    for name in named:
        assert (ROOT / name).is_file() or (ROOT / "pipeline" / name).is_file(), name


def test_everything_that_the_table_of_changes_names_exists():
    _, table = PAGE.split("## Small changes")
    named = set(re.findall(r"`((?:[\w.]+/)+(?:[\w.]+)?)`", table))
    assert len(named) > 25
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_every_file_of_the_drawing_exists():
    folder, found = Path(), 0
    for line in text_block(0).splitlines():
        if (room := re.match(r" (\w+)/ ", line)) is not None:
            folder = ROOT / "pipeline" / room[1]
        for name in re.findall(r"(?<![\w/])(\w+\.py)", line):
            assert (folder / name).is_file(), f"{folder.name}/{name}"
            found += 1
        for name in re.findall(r"(?:stages|kernels)/[\w/]+(?:\.py)?", line):
            assert (ROOT / name).exists(), name
    assert found > 20


def test_the_layers_are_those_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    stated = next(each for each in contracts if each.get("containers") == ["gravel.pipeline"])["layers"]
    drawn = [re.split(r" {2,}", line.strip())[0] for line in text_block(1).strip().splitlines()]
    assert drawn == stated


def test_every_room_is_in_a_layer():
    rooms = {path.parent.name for path in (ROOT / "pipeline").glob("*/__init__.py")}
    drawn = {room for line in text_block(1).splitlines() for room in re.findall(r"\w+", line[:38])}
    assert rooms == drawn
