"""Tables 1 to 3 of Moschou: which experiments the workflow has, and its report from a run on a CPU."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import load_workflow
from tests.workflows.test_order_compression import WORKFLOWS, column, run

WORKFLOW = WORKFLOWS / "papers/moschou_tables.yaml"
NOT_RUN = "not run: needs a GPU"
PASSES = [f"{name}_pass{prune}" for name in ("single", "multi") for prune in ("", "_unpruned")]


def searches() -> dict[str, set[str]]:
    """The searches of each layout, by the plan alone."""
    plan = build_plan(load_workflow(WORKFLOW, {"placements": "[device, pinned]"}))
    found: dict[str, set[str]] = {"csr": set(), "varint": set()}
    count = 0
    for key in plan.runs:
        if key.startswith("found["):
            at = dict(each.split("=") for each in key[6:-1].split(","))
            found[at["layout"]].add(at["search"])
            count += 1
    assert count == (7 + 12) * 3 * 2  # searches x orders x placements
    return found


def test_every_way_has_every_order_layout_and_placement() -> None:
    found = searches()
    assert found["csr"] == {"adaptive", "bfs", "components", *PASSES}
    assert found["varint"] == {
        *("adaptive_one_lane", "top_down", "bfs", "components"),
        *PASSES,
        *(f"{name}_one_lane" for name in PASSES),
    }


def test_the_searches_of_the_report_have_its_settings() -> None:
    plan = build_plan(load_workflow(WORKFLOW, {"placements": "[pinned]"}))
    for key, one in plan.runs.items():
        if not key.startswith("found["):
            continue
        given: Any = one.parameters
        name = key.partition("search=")[2].rstrip("]")
        assert given.placement == "pinned"
        assert (given.paper is None) == (name in ("top_down", "bfs", "components")), key
        assert (given.tuning.get("decoder") == "one_lane") == name.endswith("one_lane"), key
        if "pass" in name:
            assert given.tuning["prune"] is ("unpruned" not in name)
            assert given.tuning["giant"] == "first"
            assert given.strategy == f"afforest_{'single' if 'single' in name else 'multi'}_pass"
        if name.endswith("one_lane"):
            assert given.backend == "cuda"  # nothing stands in for it on a CPU


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    (found,) = run(
        "papers/moschou_tables", tmp_path_factory.mktemp("cache"), "--set", "vertices=600"
    ).values()
    return found


def lines(section: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row[2]: dict(zip(section["columns"], row, strict=True)) for row in section["rows"]}


def test_tables_1_to_3_stand_as_printed(sections: dict[str, Any]) -> None:
    first = lines(sections["Printed in moschou: table 1"])
    assert [line["Time (ms), paper"] for line in first.values()] == [12009, 4572, 23512, 21569]
    assert [line["Speedup (times as fast), paper"] for line in first.values()] == [1.0, 2.62, 1.0, 1.09]
    second = lines(sections["Printed in moschou: table 2"])
    assert [line["Afforest (compressed), paper"] for line in second.values()] == [21570, 9.13, 0.42]
    third = lines(sections["Printed in moschou: table 3"])
    assert [third[row]["best, paper"] for row in third] == [
        *("RCM (-28 %)", "Original (+15 %)"),
        *(None, "Original (+30 %)"),
    ]
    for table in (first, second, third):
        for line in table.values():
            assert line["verified"] == "passed"
            assert "same kind" in line["size"]
            ours = [value for name, value in line.items() if name.endswith("gravel's") and value is not None]
            assert ours


def test_what_needs_a_gpu_is_shown_as_not_run_and_the_rest_is_measured(sections: dict[str, Any]) -> None:
    first = lines(sections["Printed in moschou: table 1"])
    here = {row: line["Time (ms), its way here"] for row, line in first.items()}
    assert here.pop("Afforest, uncompressed") > 0
    assert set(here.values()) == {NOT_RUN}
    passes = lines(sections["Printed in moschou: Afforest by passes and pruning"])
    assert len(passes) == 4
    for line in passes.values():
        assert line["Uncompressed (ms), its way here"] > 0
        assert line["Compressed (ms), its way here"] == NOT_RUN
        assert line["Compressed, gravel's decoder (ms), its way here"] > 0


def test_the_order_is_timed_and_the_size_of_rows_compared(sections: dict[str, Any]) -> None:
    order = sections["Beside moschou, time of the RCM order"]
    assert column(order, "paper's row") == ["reordering Friendster"]
    assert order["rows"][0][1] == 2300
    assert order["rows"][0][2] > 0
    claims = sections["Claims of the papers, computed from this run"]
    (ratio,) = (row for row in claims["rows"] if row[1].startswith("Columns over varint"))
    assert (ratio[2], ratio[3] > 1) == (1.48, True)


def test_one_table_of_a_kind(sections: dict[str, Any]) -> None:
    """Sections for gravel's own searches would mix those of the report in."""
    assert "What an order does to each algorithm" not in sections
    assert "Plain and compressed rows, original order" not in sections
