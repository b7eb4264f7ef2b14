"""The study of orders, layouts and placements: its shape, and its report from a run that a CPU can do."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.kernels.order import METHODS
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow
from tests.workflows.report_sections import WORKFLOWS, run

ORDERS = ["original", "rcm", "degree", "community"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, Any]]]:
    """Every part of the small study with two orders and three layouts."""
    chosen = ["--set", "orders=[original, degree]", "--set", "layouts=[csr, varint, blocks]"]
    chosen += ["--set", "large_layouts=[csr, varint, blocks]"]
    small = ["scale=7", "side=12", "crawl=200", "pages=200", "large_edges=2400"]
    chosen += [word for value in small for word in ("--set", value)]
    return run("order_compression", tmp_path_factory.mktemp("cache"), *chosen)


def column(section: dict[str, Any], name: str) -> list[Any]:
    return [row[section["columns"].index(name)] for row in section["rows"]]


def test_the_study_has_every_combination_and_verifies_each() -> None:
    places = {"placements": "[device, pinned]", "large_placements": "[split, pinned]"}
    settings = {"large_layouts": "[csr, varint, blocks]", **places}
    plan = build_plan(load_workflow(WORKFLOWS / "order_compression.yaml", settings))
    keys = list(plan.runs)
    for part, graphs, places, layouts in (("cells", 3, 2, 4), ("capped", 1, 2, 3)):
        for entry in ("bfs", "components"):
            swept = [key for key in keys if key.startswith(f"{part}.{entry}[")]
            assert len(swept) == graphs * len(ORDERS) * layouts * places
            chosen = [key for key in keys if key.startswith(f"{part}.{entry}_auto[")]
            assert len(chosen) == graphs * places
            for each in swept + chosen:
                name, bracket, rest = each.partition("[")
                assert f"{name}_check{bracket}{rest}" in keys


def test_the_large_graph_can_be_as_large_as_the_reports_and_nothing_of_it_is_kept() -> None:
    settings = {"pages": "65608366", "large_edges": "1950000000", "device_memory": "5.8 GB"}
    plan = build_plan(load_workflow(WORKFLOWS / "order_compression.yaml", settings))
    large: list[Any] = [run for run in plan.runs.values() if run.key.startswith("capped.")]
    for each in large:
        assert bool(each.keep) is (each.stage.name in ("traverse", "verify", "report")), each.key
    capped = [run for run in large if run.stage.name in ("traverse", "reorder")]
    memory = {int(run.parameters.device_memory) for run in capped}
    assert memory == {5_800_000_000}
    (edges,) = [run for run in large if run.stage.name == "ingest"]
    assert edges.parameters.source.communities.edges >= 1_800_000_000


def test_orders_of_the_study_exist() -> None:
    assert set(ORDERS) <= set(METHODS)


def test_both_parts_have_the_tables(parts: dict[str, Any]) -> None:
    assert len(parts) == 2
    for sections in parts.values():
        assert {
            "Plain and compressed rows, original order",
            "Compressed searches in detail",
            "What an order does to each algorithm",
            "What is best for each algorithm",
            "Compression by order",
            "auto against the best order and layout",
            "What auto expected",
        } <= set(sections)


def test_every_cell_is_in_the_tables_and_passed(parts: dict[str, Any]) -> None:
    cells, capped = parts.values()
    best = cells["What is best for each algorithm"]
    assert column(best, "graph") == ["crawl", "crawl", "road", "road", "kron", "kron"]
    assert column(best, "algorithm") == ["BFS", "components"] * 3
    for sections in (cells, capped):
        table = sections["What is best for each algorithm"]
        assert set(column(table, "cells")) == {6}
        assert set(column(table, "all verified")) == {"passed"}
    assert len(cells["What an order does to each algorithm"]["rows"]) == 3 * 2 * 3


def test_bits_by_order_are_those_of_the_rows(parts: dict[str, Any]) -> None:
    cells, _ = parts.values()
    table = cells["Compression by order"]
    assert set(column(table, "csr, bits per arc")) == {32.0}
    assert all(8.0 <= bits < 20.0 for bits in column(table, "varint, bits per arc"))
    assert all(0.0 < bits < 20.0 for bits in column(table, "blocks, bits per arc"))
    kron = [row for row in table["rows"] if row[0] == "kron"]
    assert [row[1] for row in kron] == ["original", "degree"]


def test_auto_stands_against_all_cells_of_its_place(parts: dict[str, Any]) -> None:
    cells, _ = parts.values()
    table = cells["auto against the best order and layout"]
    assert column(table, "algorithm") == ["BFS"] * 3 + ["components"] * 3
    assert set(column(table, "cells")) == {6}
    assert all(column(table, "because"))
