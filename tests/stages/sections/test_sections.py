"""Captions and figures of reports that say only what holds of the runs they are of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Measurement, Verification
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from tests.stages.measured import searched


def made(inputs: dict[str, Artifact]) -> dict[str, dict[str, Any]]:
    result = report(PlainContext(), ReportParameters(labels=tuple(inputs)), inputs=tuple(inputs.values()))
    return {section["title"]: section for section in result.sections}


def rows_of(one: Measurement, codec: str, bits: float, *, as_written: bool) -> Measurement:
    asked = {**one.asked, **({"layout": codec} if as_written else {})}
    return replace(one, graph={**one.graph, "rows": {"codec": codec, "bits_per_arc": bits}}, asked=asked)


def test_bytes_are_those_of_the_layout_that_was_read():
    plain = searched("serial", 2.0)
    found = made(
        {
            "bfs[layout=csr]": rows_of(plain, "csr", 32.0, as_written=True),
            "bfs[layout=varint]": rows_of(
                replace(plain, strategy="top_down"), "varint", 8.0, as_written=True
            ),
            "bfs[layout=blocks]": rows_of(replace(plain, strategy="hybrid"), "blocks", 8.0, as_written=False),
        }
    )
    table = found["Every strategy on every graph"]
    counted = [row[table["columns"].index("counted MB a search")] for row in table["rows"]]
    assert counted == [(904 * 4 + 31 * 20) / 1e6, (904 * 1 + 31 * 20) / 1e6, (904 * 4 + 31 * 20) / 1e6]
    assert "of encoded rows the layout's mean bytes an arc" in table["about"]


def test_bytes_are_left_out_where_bottom_up_levels_were_not_counted():
    one = searched("direction_optimizing", 2.0)
    pulled = [{**each, "levels": {**each["levels"], "pulled": [1]}} for each in one.searches]
    found = made({"bfs[s=a]": searched("serial", 2.0), "bfs[s=b]": replace(one, searches=pulled)})
    table = found["Every strategy on every graph"]
    place = table["columns"].index("GB/s of counted bytes")
    assert [row[place] is None for row in table["rows"]] == [False, True]
    assert "left out if levels were searched bottom-up" in table["about"]


def test_a_distribution_ends_at_one_and_says_what_has_no_rate():
    one = searched("serial", 2.0, times=(0.5, 1.0, 2.0, 4.0))
    (curve,) = made({"bfs": one})["Rate over sources"]["data"].values()
    assert [share for _, share in curve] == [0.25, 0.5, 0.75, 1.0]
    alone = [{**one.searches[0], "edges": 0, "reached": 1}, *one.searches[1:]]
    figure = made({"bfs": replace(one, searches=alone)})["Rate over sources"]
    (curve,) = figure["data"].values()
    assert curve[-1][1] == 1.0
    assert "1 that reached no edge has no rate" in figure["about"]


def test_one_search_has_no_distribution():
    found = made({"bfs": searched("serial", 2.0, times=(0.5,))})
    assert "Rate over sources" not in found
    assert [row[1] for row in found["Fastest, median and slowest search"]["rows"]] == ["the only one"]


def test_captions_speak_of_nothing_that_is_not_there():
    words = " ".join(
        f"{title} {section['about']}"
        for title, section in made(
            {
                "bfs[s=a]": with_nothing_mapped(searched("top_down", 2.0)),
                "bfs[s=b]": with_nothing_mapped(searched("hybrid", 3.0)),
            }
        ).items()
    )
    for absent in (
        "sequential",  # none was measured
        "mapping",
        "`none`",
        "Redundant expansion",
        "where statistics were asked for",
        "same code",
    ):
        assert absent not in words.replace("Rows that ran the same function", ""), absent


def with_nothing_mapped(one: Measurement) -> Measurement:
    return replace(
        one,
        searches=[{**each, "map_back_milliseconds": 0.0} for each in one.searches],
        ran={"function": f"kernels:{one.strategy}", "backend": "cpu", "options": {"alpha": 15}},
    )


def test_suites_show_spread_on_a_scale_that_no_outlier_hides():
    runs = {
        f"bfs[graph={graph},s={name}]": searched(name, time, graph=graph, times=(0.9, 1.0, 1.2))
        for graph in ("grid", "kron")
        for name, time in (("serial", 1.0), ("top_down", 1.5), ("hybrid", 1000.0))
    }
    figure = made(runs)["Strategies side by side"]
    spread = figure["data"]["grid"]["hybrid"]
    assert spread["first_quartile"] < spread["median_milliseconds"] < spread["third_quartile"]
    assert "logarithmic" in figure["about"]


def test_many_verifications_that_passed_are_a_row_for_each_check():
    checks = [{"check": name, "passed": True, "searches": 3, "detail": ""} for name in ("tree", "source")]
    runs: dict[str, Artifact] = {f"bfs[a={place}]": searched("serial", 1.0 + place) for place in range(27)}
    runs |= {f"check[a={place}]": Verification(algorithm="bfs", checks=checks) for place in range(27)}
    assert [row[:4] for row in made(runs)["Verification"]["rows"]] == [
        ["tree", "passed", 27, 81],
        ["source", "passed", 27, 81],
    ]
