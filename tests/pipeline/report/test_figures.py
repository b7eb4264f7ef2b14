"""Pages of many levels and of many experiments: made in seconds, below the limit of a page, and readable."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.report.page import SIZE_LIMIT
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Measurement, Verification
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from tests.pipeline.report.sample import write_report
from tests.stages.measured import searched

LEVELS = 100_000

SECONDS = {"one": 2.5, "twenty": 5.0, "a thousand": 5.0}
"""Of one processor, by the number of graphs. Reports take 0.9, 3 and 2, and took 4.3, 6.4 and minutes."""

PASSED = Verification(
    algorithm="bfs", checks=[{"check": "tree", "passed": True, "searches": 2, "detail": ""}]
)


def sections(inputs: dict[str, Artifact]) -> dict[str, dict[str, Any]]:
    made = report(PlainContext(), ReportParameters(labels=tuple(inputs)), inputs=tuple(inputs.values()))
    return {section["title"]: section for section in made.sections}


def page_of(folder: Path, inputs: dict[str, Artifact]) -> Path:
    return write_report(folder / "runs" / "20261120-100000-many-0001", {"many": inputs})


def over_ranks(levels: int) -> Measurement:
    """Make searches of so many levels; every third visits backward, the 777th takes longest."""
    one = searched("partition", 5_000.0, levels=levels, counted=True)
    times = [0.5] * levels
    times[777 % levels] = 9.0
    told = {
        **dict.fromkeys(("visit", "reduce", "exchange", "remote_exchange"), times),
        "local_exchange": [0.0] * levels,
        **{name: [3] * levels for name in ("mask_bytes", "vertex_bytes", "local_vertex_bytes", "normal")},
        "delegates": [1] * levels,
        "backward": [["dd"] if level % 3 == 0 else [] for level in range(levels)],
        "answer_bytes": 12,
    }
    pulled = list(range(0, levels, 3))
    records = [
        {**search, "ranks": told, "levels": {**search["levels"], "pulled": pulled}} for search in one.searches
    ]
    partition = {"ranks": 2, "threshold": 8, "delegates": 3, "scheme": "delegates"}
    return replace(one, searches=records, graph={**one.graph, "partition": partition})


def raced(warp: bool) -> Measurement:
    one = searched("two_phase", 2.0, levels=LEVELS, counted=True)
    options = {"claim": "racing", "warp_culling": warp, "history_culling": warp}
    return replace(one, ran={"function": "f", "backend": "cuda", "options": options})


def test_a_search_of_a_hundred_thousand_levels_stays_a_page(tmp_path: Path) -> None:
    inputs: dict[str, Artifact] = {
        "ranks": over_ranks(LEVELS),
        "bfs[culling=off]": raced(False),
        "bfs[culling=both]": raced(True),
    }
    started = time.process_time()
    page = page_of(tmp_path, inputs)
    assert time.process_time() - started < 12
    assert page.stat().st_size < SIZE_LIMIT
    table = sections(inputs)["Levels of long searches over ranks"]
    rows = {row[1]: row[2:] for row in table["rows"]}
    assert rows["local computation, ms"] == [LEVELS, 0.5, 0.5, 0.5, 0.5, 0.5, 9.0, 777, 0.5]
    quartiles = ["least", "first quartile", "median", "third quartile", "most"]
    assert table["columns"][2:] == ["levels", "first", *quartiles, "in level", "last"]
    frontiers = sections(inputs)["Frontiers of long searches"]
    assert {row[1] for row in frontiers["rows"]} >= {"vertex frontier", "edge frontier"}
    assert all(row[2] == LEVELS for row in frontiers["rows"])


def test_short_searches_have_no_table_of_levels() -> None:
    long = {"Levels of long searches over ranks", "Frontiers of long searches"}
    assert not long & sections({"ranks": over_ranks(60)}).keys()


@pytest.mark.parametrize("graphs", ["one", pytest.param("twenty", marks=pytest.mark.slow), "a thousand"])
def test_a_thousand_experiments_are_a_page_in_seconds(graphs: str, tmp_path: Path) -> None:
    inputs: dict[str, Artifact] = {}
    for a in range(20):
        for b in range(50):
            graph = {"one": "g", "twenty": f"g{a}", "a thousand": f"g{a}-{b}"}[graphs]
            one = searched("serial", 1.0 + a + b / 50, graph=graph)
            ordered = {"order": {"method": f"o{b}"}, "rows": {"codec": "varint", "bits_per_arc": 20.0}}
            inputs[f"bfs[one=a{a},two=b{b}]"] = replace(one, graph={**one.graph, **ordered})
            inputs[f"check[one=a{a},two=b{b}]"] = PASSED
    started = time.process_time()
    made = sections(inputs)
    assert time.process_time() - started < SECONDS[graphs]
    experiments = made["Experiments"]
    assert len(experiments["rows"]) == 1000
    place = experiments["columns"].index("verified")
    assert {row[place] for row in experiments["rows"]} == {"passed"}
    assert page_of(tmp_path, inputs).stat().st_size < SIZE_LIMIT
    assert len(json.dumps(made["Experiments"])) < SIZE_LIMIT
