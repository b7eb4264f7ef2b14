"""Shipped workflows that no other test runs, run small; that each has a plan is tested beside the builder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.workflows.report_sections import WORKFLOWS, run


def column(section: dict[str, Any], name: str) -> list[Any]:
    return [row[section["columns"].index(name)] for row in section["rows"]]


def test_the_same_searches_run_on_several_data_sets(tmp_path: Path) -> None:
    run("datasets_bfs", tmp_path, "--set", "sources=2")
    (report,) = tmp_path.glob("runs/*/report.json")
    _, *bodies = json.loads(report.read_text())["reports"]  # after the page of all
    names = [path.stem for path in sorted((WORKFLOWS / "graphs").glob("*.txt"))]
    assert [body["key"] for body in bodies] == [f"summary[dataset={name}]" for name in names]
    assert {body["sections"][0]["verdict"] for body in bodies} == {"passed"}


def test_one_part_of_the_study_of_orders_runs_by_itself(tmp_path: Path) -> None:
    small = ["graphs={kron: {source: {rmat: {scale: 6, edge_factor: 8, seed: 1}}}}", "sources=2"]
    small += ["orders=[original, degree]", "layouts=[csr, varint]"]
    words = [word for value in small for word in ("--set", value)]
    (found,) = run("order_compression_cells", tmp_path, *words).values()
    searched = column(found["Traversal times and rates"], "run")
    assert len([each for each in searched if each.startswith("bfs[")]) == 4
    assert len([each for each in searched if each.startswith("components[")]) == 4
    assert len([each for each in searched if "_auto[" in each]) == 2
    assert set(column(found["Experiments"], "bfs_check: verified")) == {"passed"}
