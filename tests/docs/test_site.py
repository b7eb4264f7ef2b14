"""The documentation as a site: it is built without a warning, and its navigation has every page."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.docs.blocks import ROOT

CONFIG = ROOT / "docs" / "mkdocs.yml"


def paths_in(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    entries = nav if isinstance(nav, list) else list(nav.values()) if isinstance(nav, dict) else []
    return [path for each in entries for path in paths_in(each)]


def test_every_page_is_in_the_navigation_once() -> None:
    nav = paths_in(YAML(typ="safe", pure=True).load(CONFIG.read_text())["nav"])
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(nav) == sorted(pages)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="the site is built with the extra docs"
)
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    words = ["-m", "mkdocs", "build", "--strict", "-f", str(CONFIG), "-d", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "tutorial.html").read_text()
    assert "study.yaml" in page
    assert "```" not in page
