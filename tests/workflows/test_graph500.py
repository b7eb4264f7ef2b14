"""The Graph500 workflow: its JSON, its page and the printed block say the same, from a cached run as well."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from gravel.stages.sections.graph500 import printed

WORKFLOW = Path(__file__).resolve().parents[2] / "workflows" / "graph500.yaml"

KEYS = ("benchmark[setup=each_search]", "benchmark[setup=once]")


def run(root: Path, *words: str) -> Path:
    with pytest.raises(SystemExit) as stop:
        main.main(
            ["run", str(WORKFLOW), "--cache", str(root), "--cluster", "inline", "--backend", "cpu", *words]
        )
    assert not stop.value.code
    return max(root.glob("runs/*/run.json"), key=lambda path: path.stat().st_mtime_ns).parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def folder(cache: Path) -> Path:
    return run(cache, "--set", "scale=8")


def sections(folder: Path) -> dict[str, dict[str, Any]]:
    (report,) = json.loads((folder / "report.json").read_text())["reports"]
    return {section["title"]: section for section in report["sections"]}


def block(cache: Path, key: str) -> dict[str, str]:
    words = ["report", "--cache", str(cache), "--format", "graph500", "--stage", key]
    text = CliRunner().invoke(main, words).output
    found = (re.fullmatch(r"([\w ]+): +(?:!  )?(\S+)", line) for line in text.splitlines())
    return {match[1]: match[2] for match in found if match} | {"text": text}


def test_the_json_holds_the_block_that_is_printed(cache: Path, folder: Path) -> None:
    table = sections(folder)["Graph500 output"]
    assert table["columns"] == ["field", *KEYS]
    for place, key in enumerate(KEYS, 1):
        told = {row[0]: printed(row[0], row[place]) for row in table["rows"]}
        found = block(cache, key)
        assert found.pop("text")
        assert found == told
        assert (told["SCALE"], told["edgefactor"], told["NBFS"]) == ("8", "16", "64")


def test_the_page_holds_every_field_and_rule(folder: Path) -> None:
    page = re.sub(r"\s+", " ", (folder / "report.html").read_text())
    found = sections(folder)
    for title in ("Graph500 output", "Graph500 rules"):
        assert title in page
        for row in found[title]["rows"]:
            assert re.sub(r"\s+", " ", row[0]) in page
    for said in (
        "Built within each search: 64 searches were prepared anew",
        "Not built within each search",
        "Other random numbers than the official generator",
        "counting any multiple edges and self-loops",
    ):
        assert said in page
    assert ", searches verified." in page


def test_a_cached_run_tells_the_times_of_the_run_that_made_it(cache: Path, folder: Path) -> None:
    before = block(cache, KEYS[0])
    stages = json.loads((folder / "run.json").read_text())["stages"]
    again = json.loads((run(cache, "--set", "scale=8") / "run.json").read_text())["stages"]
    assert {stage["state"] for stage in again if stage["stage"] == "graph500"} == {"cached"}
    assert [stage["seconds"] for stage in again][:2] == [stage["seconds"] for stage in stages][:2]
    after = block(cache, KEYS[0])
    texts = before.pop("text"), after.pop("text")
    assert before == after
    told = "was cached: its times are those of the run that made it"
    assert [told in text for text in texts] == [False, True]
