"""Searches over ranks whose columns lie in host memory: what all GPUs together read there, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.rates import EDGE_RATE, harmonic_mean, rates

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement


def host_column_sections(members: Sequence[tuple[str, Measurement]]) -> list[dict[str, Any]]:
    """Make a table of the runs over ranks that read columns out of host memory; none where none did."""
    rows = [
        _row(label, one)
        for label, one in members
        if one.strategy == "partition" and one.searches and all("link_bytes" in each for each in one.searches)
    ]
    if not rows:
        return []
    return [
        {
            "kind": "table",
            "title": "Ranks with columns in host memory",
            "about": (
                "Means over the sources. Bytes over the links are the 32-byte sectors that warps of "
                "all GPUs requested. GB/s are all these bytes over the time of all searches."
            ),
            "columns": ["run", "ranks", "placement", "ms", EDGE_RATE, "bytes over the links", "GB/s"],
            "rows": rows,
        }
    ]


def _row(label: str, one: Measurement) -> list[Any]:
    read = [search["link_bytes"] for search in one.searches]
    taken = [search["milliseconds"] for search in one.searches]
    found = rates(one.searches, "edges")
    return [
        label,
        one.graph.get("partition", {}).get("ranks"),
        one.asked.get("placement"),
        mean(taken),
        harmonic_mean(found) if found else None,
        mean(read),
        sum(read) / sum(taken) / 1e6 if sum(taken) else None,
    ]
