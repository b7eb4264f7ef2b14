"""The page of promises names mechanisms and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATH = re.compile(r"`((?:pipeline|stages|kernels|tests)/[\w/.]*|test_\w+\.py|\w+\.py)`")


def test_every_mechanism_and_test_is_there() -> None:
    folder = ROOT
    named = 0
    for line in (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8").splitlines():
        for found in PATH.findall(line):
            # A bare name stands in the folder of the one before it.
            path = ROOT / found if "/" in found else folder / found
            assert path.exists(), f"{found} in {line[:60]}"
            folder = path.parent
            named += "/" in found
    assert named > 40


def test_every_promise_has_a_test() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| mechanism |" not in line]
    assert len(rows) > 25
    for row in rows:
        assert "test" in row.rstrip("|").split("|")[-1], row
