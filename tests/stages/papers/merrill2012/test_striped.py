"""Sections about striped graphs, from measurements whose numbers are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gravel.stages.artifacts import Measurement
from gravel.stages.papers.merrill2012.striped import ENDS, striped_sections
from tests.stages.measured import searched


def told(ranks: int, *, own: int, sent: int, duplicates: int = 0, masked: int = 0) -> dict[str, Any]:
    """One search of a level, in which every rank keeps `own` and sends `sent` to every other."""
    over_wires = sent * ranks * (ranks - 1)
    return {
        "arcs": [own * ranks + over_wires + duplicates + masked],
        "duplicates": [duplicates],
        "masked": [masked],
        "sent": [over_wires],
        "vertex_bytes": [4 * over_wires],
        "visit": [float(ranks - 1)],
        "reduce": [1.0],
        "exchange": [5.0],
    }


CULLED = {"uniquify": True, "local_duplicates": True}


def measured(milliseconds: float, told_by_ranks: dict[str, Any], **more: Any) -> Measurement:
    tuning = CULLED | more.pop("tuning", {})
    asked, ranks = {"output": more.pop("output", "distance"), "tuning": tuning}, more.pop("ranks", 1)
    one = searched("partition", milliseconds, asked=asked, **more)
    records = [search | {"ranks": told_by_ranks} for search in one.searches]
    return replace(one, searches=records, graph=one.graph | {"partition": {"ranks": ranks}})


def sections(members: list[tuple[str, Measurement]]) -> dict[str, dict[str, Any]]:
    return {section["title"]: section for section in striped_sections(members)}


def rate(milliseconds: float, arcs: int = 904) -> float:
    return arcs / milliseconds / 1e6


def test_rates_with_more_ranks() -> None:
    members = [
        (
            f"bfs[graph={graph},ranks={ranks},output={output}]",
            measured(base / gain, told(ranks, own=2, sent=1), output=output, ranks=ranks),
        )
        for graph, base, gains in (("deep", 8.0, (1.0, 0.5)), ("wide", 2.0, (1.0, 2.0)))
        for ranks, gain in zip((1, 3), gains, strict=True)
        for output in ("distance", "predecessor")
    ]
    found = sections(members)
    figure = found["Rates over stripes with more ranks"]
    assert figure["data"]["ranks"] == [1, 3]
    for output in ("distance", "predecessor"):
        assert figure["data"][output]["deep"] == pytest.approx([rate(8), rate(16)])
        assert figure["data"][output]["wide"] == pytest.approx([rate(2), rate(1)])
        assert figure["data"]["gains"][output] == pytest.approx([1.0, 2 / (1 / 0.5 + 1 / 2.0)])
    names = [series["name"] for series in figure["chart"]["panels"][0]["series"]]
    assert names == ["1 rank", "3 ranks"]
    assert "Rates over stripes by size and degree" not in found
    table = found["Searches over stripes"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    three = rows[2]
    assert (three["ranks"], three["arcs"], three["bytes sent"]) == (3, 12, 24)
    assert three["sent for each vertex"] == pytest.approx(6 / 31)
    assert (three["computation ms"], three["communication ms"]) == (3.0, 5.0)


def test_sizes_and_degrees() -> None:
    members = [
        (
            f"sized[vertices={vertices},degree={degree},output={output}]",
            replace(
                measured(100 / degree, told(4, own=1, sent=1), output=output),
                graph={"vertices": vertices, "arcs": 904, "symmetric": True, "partition": {"ranks": 4}},
            ),
        )
        for vertices in (1000, 2000)
        for degree in (8, 64)
        for output in ("distance", "predecessor")
    ]
    figure = sections(members)["Rates over stripes by size and degree"]
    assert figure["about"].startswith("As figure 12: uniform random graphs over 4 ranks")
    assert list(figure["data"]) == ["64, distance", "64, predecessor", "8, distance", "8, predecessor"]
    assert figure["data"]["8, distance"] == pytest.approx({"1000": rate(100 / 8), "2000": rate(100 / 8)})
    assert "Rates over stripes with more ranks" not in sections(members)


def test_what_is_sent_and_what_is_not() -> None:
    members = [
        ("bfs[graph=a,ranks=1]", measured(1.0, told(1, own=4, sent=0))),
        ("bfs[graph=a,ranks=2]", measured(1.0, told(2, own=2, sent=1, duplicates=3, masked=1), ranks=2)),
        (
            "culled[graph=a,culling=none]",
            measured(
                1.0, told(2, own=3, sent=2), tuning={"uniquify": False, "local_duplicates": False}, ranks=2
            ),
        ),
    ]
    data = sections(members)["What is sent over stripes, and what is not"]["data"]
    assert list(data) == ["a", "a (no bitmask or local duplicates)"]
    assert data["a"] == pytest.approx(dict(zip(ENDS, (0.3, 0.1, 0.4, 0.2), strict=True)))
    assert list(data.values())[1] == pytest.approx(dict(zip(ENDS, (0.0, 0.0, 0.6, 0.4), strict=True)))


def test_a_search_that_reaches_nothing_has_no_rate() -> None:
    found = sections([("bfs[ranks=2]", measured(1.0, told(2, own=0, sent=0), arcs=0, ranks=2))])
    assert found["Searches over stripes"]["rows"][0][-1] is None
    assert "Rates over stripes with more ranks" not in found


def test_nothing_is_said_of_other_searches() -> None:
    assert striped_sections([("bfs", searched("serial", 1.0))]) == []
