"""The table of docs/ranks.md of graphs that no machine here holds: what its command prints."""

from __future__ import annotations

import pytest

from tests.benchmarks.beyond import SIZES, row
from tests.docs.blocks import ROOT


@pytest.mark.parametrize(("scale", "ranks"), SIZES)
def test_a_row_is_what_the_command_prints(scale: int, ranks: int) -> None:
    lines = (ROOT / "docs" / "ranks.md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"| {ranks:,} | {scale} |")]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    printed = row(scale, ranks)
    assert all(cell in printed for cell in cells), f"{cells}: {printed}"
    assert ("more than" in printed) == (ranks > 8)
