"""uPlot in pages is the one that was released, and its licence goes with it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from gravel.pipeline.report.policy import UPLOT, chart_script
from tests.pipeline.report.chart_gallery import write_gallery

DIGESTS = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""SHA-256 of the files of release 1.6.32."""


@pytest.mark.parametrize("name", DIGESTS)
def test_the_files_are_those_that_were_released(name: str):
    assert hashlib.sha256((UPLOT / name).read_bytes()).hexdigest() == DIGESTS[name]
    assert f"| `{name}` | `{DIGESTS[name]}` |" in (UPLOT / "README.md").read_text()


def test_a_page_holds_it_with_its_licence(tmp_path: Path):
    text = write_gallery(tmp_path).read_text()
    (script,) = re.findall(r"<script>(/\*!.*?)</script>", text, re.DOTALL)
    assert script == chart_script()
    assert "Copyright (c) 2022 Leon Sorokin" in script
    assert "Permission is hereby granted" in script
    assert "uPlot (v1.6.32)" in script
    assert "</script" not in chart_script().lower()
    assert len(script.encode()) < 100_000


def test_a_page_without_charts_has_no_script_for_them(tmp_path: Path):
    text = write_gallery(tmp_path, []).read_text()
    assert "uPlot" not in text
    assert len(text.encode()) < 30_000
