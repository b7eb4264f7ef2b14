"""docs/slow-tests.md has a command for every slow test, and every command runs slow tests."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from tests.conftest import COLLECTED

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "slow-tests.md"
COMMAND = re.compile(r"\| `(tests/[\w/.]+)` \|")
MARK = re.compile(r"mark\.slow|slow_among")  # of pytest, or of `tests.parameters`


def test_every_slow_test_has_a_command(request: pytest.FixtureRequest) -> None:
    places = COMMAND.findall(PAGE.read_text(encoding="utf-8"))
    slow = {
        item.nodeid.partition("::")[0]
        for item in request.config.stash[COLLECTED]
        if item.get_closest_marker("slow") and not item.get_closest_marker("gpu")
    }
    without = [file for file in slow if not any(PurePosixPath(file).is_relative_to(each) for each in places)]
    assert without == [], "add a row to docs/slow-tests.md"


def test_every_command_runs_slow_tests() -> None:
    for place in COMMAND.findall(PAGE.read_text(encoding="utf-8")):
        path = ROOT / place
        files = [path] if path.is_file() else path.rglob("test_*.py")
        assert any(MARK.search(file.read_text(encoding="utf-8")) for file in files), place
