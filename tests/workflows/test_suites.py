"""The workflows that reproduce the papers' comparisons, small and on the CPU, and what their reports hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gravel.kernels.strategy import strategies_in
from gravel.pipeline.cli import main
from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"

SMALL = {
    "suite": {"side": 12, "cube": 5, "scale": 6, "sources": 2},
    "papers/flex": {"side": 12, "road": "[40, 3]", "sources": 2},
    "strategies": {"scale": 6, "sources": 2},
    "batches": {"scale": 6, "sources": 5},
    "preparation": {"scale": 6, "sources": 2},
    "papers/merrill_culling": {
        "side": 12,
        "road": "[40, 3]",
        "cube": 5,
        "scale": 6,
        "vertices": 100,
        "sources": 2,
    },
}

CHOSEN = {
    "suite": {"search": ["serial", "quadratic_warp", "auto"]},
    "papers/flex": {"search": ["serial", "threads", "config3", "fixed_256"]},
    "strategies": {"strategy": ["serial", "hybrid"]},
    "batches": {},
    "preparation": {"order": ["original", "degree"], "strategy": ["auto"]},
    "papers/merrill_culling": {"graph": ["grid7", "road", "rmat"]},
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def report(name: str, cache: Path, *words: str, chosen: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Run a workflow small and return the sections of its report by title."""
    arguments = [str(WORKFLOWS / f"{name}.yaml"), "--cache", str(cache), "--cluster", "inline", *words]
    for parameter, value in SMALL[name].items():
        arguments += ["--set", f"{parameter}={value}"]
    for axis, values in (CHOSEN[name] if chosen is None else chosen).items():
        for value in values:
            arguments += ["--where", f"{axis}={value}"]
    with pytest.raises(SystemExit) as stop:
        main.main(["run", *arguments, "--backend", "cpu"])
    assert not stop.value.code
    latest = max(cache.glob("runs/*/report.json"), key=lambda path: path.stat().st_mtime)
    (body,) = json.loads(latest.read_text())["reports"]
    return {section["title"]: section for section in body["sections"]}


def rows(section: dict[str, Any], *columns: str) -> list[list[Any]]:
    places = [section["columns"].index(column) for column in columns]
    return [[row[place] for place in places] for row in section["rows"]]


def test_the_suite(cache: Path, tmp_path: Path) -> None:
    road = tmp_path / "road.txt"
    road.write_text("0 1\n1 2\n2 3\n")
    files = f"files={{road: {{file: {road}}}}}"
    chosen = {**CHOSEN["suite"], "graph": ["road", "grid27"]}
    sections = report("suite", cache, "--set", files, chosen=chosen)
    graphs = rows(sections["Graphs searched"], "graph", "vertices")
    assert graphs == [["road", 4], ["grid27", 125]]
    table = rows(sections["Every strategy on every graph"], "graph", "strategy")
    assert table == [[graph, strategy] for graph in ("road", "grid27") for strategy in ("serial", "auto")]
    assert [row[0] for row in sections["Not run on this machine"]["rows"]] == [
        f"bfs[graph={graph},search=quadratic_warp]" for graph in ("road", "grid27")
    ]
    assert [row[0] for row in sections["auto against the best"]["rows"]] == ["road", "grid27"]
    assert set(sections["Frontiers of each graph"]["data"]["grid27"]) == {"vertices", "arcs", "distinct"}
    assert "Strategies side by side" in sections


def test_flex(cache: Path) -> None:
    sections = report("papers/flex", cache)
    table = sections["Every strategy on every graph"]
    assert rows(table, "strategy")[:2] == [["serial"], ["top_down (CPU, 4 threads)"]]
    assert len(sections["Not run on this machine"]["rows"]) == 6
    vertices = rows(sections["Graphs searched"], "graph", "vertices")
    assert vertices == [["regular", 144], ["irregular", 145], ["road", 120]]


def test_the_four_strategies(cache: Path) -> None:
    sections = report("strategies", cache)
    names = [name for (name,) in rows(sections["Every strategy on every graph"], "strategy")]
    assert names == ["serial (distance)", "serial (predecessor)"]
    assert (
        rows(sections["Not run on this machine"], "not run")
        == [["needs a GPU: strategy hybrid has no CPU code"]] * 2
    )


def test_culling(cache: Path) -> None:
    sections = report("papers/merrill_culling", cache)
    assert len(sections["Not run on this machine"]["rows"]) == 12
    assert "Redundant expansion by culling" not in sections
    assert [one for (one,) in rows(sections["Traversal times and rates"], "strategy")] == ["top_down"] * 3


@pytest.mark.parametrize("name", ["suite", "strategies"])
def test_the_searches_of_a_paper_have_its_settings_and_others_none(name: str) -> None:
    plan = build_plan(load_workflow(WORKFLOWS / f"{name}.yaml"))
    four = {"expand_contract", "contract_expand", "two_phase", "hybrid"}
    seen = set()
    for each in plan.runs.values():
        if each.entry == "bfs":
            given: Any = each.parameters
            assert (given.paper == "merrill2012") == (given.strategy in four)
            assert (given.tuning.get("claim") == "racing") == (given.strategy in four)
            seen.add(given.strategy)
    assert four < seen


def test_batches(cache: Path) -> None:
    sections = report("batches", cache)
    assert rows(sections["Batches of searches"], "strategy", "at once") == [["multi_source", 5]]
    assert len(sections["Traversal times and rates"]["rows"]) == 1


def test_preparation(cache: Path) -> None:
    sections = report("preparation", cache)
    table = rows(sections["When preparation has paid for itself"], "run", "against")
    assert [run for run, _ in table] == [
        "original",
        "degree",
    ]
    assert sum(against == "" for _, against in table) == 1


def test_the_suite_has_every_strategy_of_single_searches() -> None:
    plan = build_plan(load_workflow(WORKFLOWS / "suite.yaml"))
    asked = {run.parameters.strategy for run in plan.runs.values() if run.entry == "bfs"}  # type: ignore[attr-defined]
    assert asked == {"auto", *strategies_in("gravel.kernels.bfs")} - {
        *("multi_source", "top_down"),
        *("host_rows", "streamed"),  # of rows that are not in device memory
    }


@pytest.mark.parametrize("sizes", ["{vertices: 9}", "{vertices: 9, edges: 3, degree: 2}"])
def test_a_uniform_graph_has_one_size(tmp_path: Path, sizes: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(f"stages: {{e: {{stage: ingest, source: {{uniform: {sizes}}}}}}}")
    with pytest.raises(WorkflowError) as caught:
        load_workflow(path)
    assert "exactly one of 'edges' and 'degree'" in caught.value.problems[0].message


def test_a_degree_is_half_as_many_edges(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("stages: {e: {stage: ingest, source: {uniform: {vertices: 9, degree: 4}}}}")
    source = load_workflow(path).stages["e"].variants[()].parameters.source  # type: ignore[attr-defined]
    assert source.arguments() == {"vertices": 9, "edges": 18, "seed": 1}
