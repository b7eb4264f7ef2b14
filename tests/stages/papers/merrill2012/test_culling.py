"""The section on redundant expansion: factors by culling, the paper's beside them, and levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.papers.merrill2012.culling import culling_sections
from tests.stages.measured import searched


def raced(gathered: int, warp: bool, history: bool, graph: str = "a") -> Measurement:
    options: dict[str, Any] = {"claim": "racing", "warp_culling": warp, "history_culling": history}
    one = searched("two_phase", 2.0, graph=graph, arcs=1000)
    for search in one.searches:
        search |= {"expanded": gathered, "redundant_expansion": gathered / 1000}
        search["levels"] = {"vertices": [1, 9], "arcs": [100, 900], "expanded": [100, gathered - 100]}
    return replace(one, ran={"function": "f", "backend": "cuda", "options": options})


def test_factors_stand_beside_what_the_paper_states() -> None:
    runs = {
        "bfs[graph=grid7,culling=off]": raced(2500, False, False),
        "bfs[graph=grid7,culling=warp]": raced(1300, True, False),
        "bfs[graph=grid7,culling=history]": raced(1200, False, True),
        "bfs[graph=grid7,culling=both]": raced(1010, True, True),
        "bfs[graph=rmat,culling=off]": raced(1100, False, False, "b"),
        "bfs[graph=rmat,culling=both]": raced(1080, True, True, "b"),
        "bfs[graph=rmat,culling=logical]": searched("top_down", 1.0, graph="b"),
    }
    table, figure = culling_sections(list(runs.items()))
    assert table["rows"] == [
        ["grid7", "two_phase", 2.5, 1.3, 1.2, 1.01, 2.6, "grid7pt.300", "yes"],
        ["rmat", "two_phase", 1.1, None, None, 1.08, None, None, "no"],
    ]
    assert figure["data"]["grid7"]["off"] == [1.0, 2400 / 900]
    assert "compared in shape" in table["about"]


def test_without_racing_claims_there_is_no_such_section() -> None:
    assert culling_sections([("bfs", searched("two_phase", 1.0, counted=True))]) == []
