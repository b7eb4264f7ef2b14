"""Searches over ranks as Pan, Pearce and Owens report theirs (IPDPS 2018, section VI-A3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.rates import geometric_mean, rates

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

SOURCES = 140
"""Random sources of each of the paper's data points."""


def paper_mean_sections(runs: Sequence[tuple[str, Measurement]]) -> list[dict[str, Any]]:
    """Make a table of geometric means over searches with more than one level; none without runs."""
    if not runs:
        return []
    return [
        {
            "kind": "table",
            "title": "Geometric means as the paper takes them",
            "about": (
                f"Pan, Pearce, Owens (IPDPS 2018, section VI-A3) search from {SOURCES} random "
                f"sources, leave out "
                "searches of one level, and report the geometric mean of times or rates. Here "
                "sources are drawn "
                "among vertices with arcs, and a search has as many levels as its farthest vertex is away. "
                "GTEPS count distinct undirected edges of the searched component; the paper counts those of "
                "the generator's list."
            ),
            "columns": [
                "run",
                "searches",
                "with more than one level",
                "geometric mean, ms",
                "geometric mean, GTEPS",
            ],
            "rows": [_row(label, one) for label, one in runs],
        }
    ]


def _row(label: str, one: Measurement) -> list[Any]:
    deep = [search for search in one.searches if search["depth"] > 1 and search["milliseconds"] > 0]
    speeds = rates(deep, "edges")
    return [
        label,
        len(one.searches),
        len(deep),
        geometric_mean([search["milliseconds"] for search in deep]) if deep else None,
        geometric_mean(speeds) if speeds else None,
    ]
