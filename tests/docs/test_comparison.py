"""docs/comparison.md says what runs again after a change; its column of gravel is true."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from tests.docs.blocks import ROOT, blocks_of

WORKFLOW = next(
    each.text for each in blocks_of(ROOT / "docs" / "comparison.md") if each.mark == "orders.yaml"
)

EDGES = "1 2\n2 3\n3 4\n"


def gravel(*words: str) -> str:
    result = CliRunner().invoke(main, [*words, "--cache", "cache"])
    assert result.exit_code == 0, result.output
    return result.output


def ran() -> set[str]:
    """Run the workflow and return the entries that were computed."""
    output = gravel("run", "orders.yaml", "--cluster", "inline", "--backend", "cpu")
    return set(re.findall(r" (\w+)(?:\[[^]]*\])?: done in", output))


def rewrite(old: str, new: str) -> Callable[[], object]:
    return lambda: Path("orders.yaml").write_text(WORKFLOW.replace(old, new))


def graph_folder() -> Path:
    return Path(json.loads(gravel("show", "graph", "--json"))[0]["path"])


def damage_the_graph_and_read_it() -> None:
    with (graph_folder() / "column_indices" / "c" / "0").open("r+b") as file:
        file.write(b"\7")
    CliRunner().invoke(main, ["cache", "verify", "--cache", "cache"])


CHANGES: dict[str, tuple[Callable[[], object], set[str]]] = {
    "nothing": (lambda: None, set()),
    "`touch edges.txt`": (lambda: Path("edges.txt").touch(), set()),
    "a comment in `edges.txt`, same graph": (
        lambda: Path("edges.txt").write_text(f"# a comment\n{EDGES}"),
        {"edges"},
    ),
    "`rcm` is added to the orders": (rewrite("degree]", "degree, rcm]"), {"ordered", "bfs", "summary"}),
    "the command, or a parameter, of the search": (
        rewrite("sources: [1]", "sources: [2]"),
        {"bfs", "check", "summary"},
    ),
    "the graph is deleted": (lambda: shutil.rmtree(graph_folder()), {"graph"}),
    "the graph is damaged": (damage_the_graph_and_read_it, {"graph"}),
}


def test_what_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("edges.txt").write_text(EDGES)
    Path("orders.yaml").write_text(WORKFLOW)
    assert ran() == {"edges", "graph", "ordered", "bfs", "check", "summary"}
    page = (ROOT / "docs" / "comparison.md").read_text()
    for name, (change, again) in CHANGES.items():
        assert f"\n| {name} |" in page
        change()
        assert ran() == again, name
        Path("edges.txt").write_text(EDGES)
        Path("orders.yaml").write_text(WORKFLOW)
        assert ran() == set(), f"back from: {name}"
