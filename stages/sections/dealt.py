"""Searches whose sources were dealt over workers: the rate of all together, apart from that of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.rates import EDGE_RATE, harmonic_mean, rates

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement


def busy(one: Measurement) -> list[float]:
    """Give the milliseconds that each worker searched, by worker; one worker's where none is named."""
    taken: dict[int, float] = {}
    for search in one.searches:
        worker = search.get("worker", 0)
        taken[worker] = taken.get(worker, 0.0) + search["milliseconds"]
    return [taken[worker] for worker in sorted(taken)]


def dealt_sections(members: Sequence[tuple[str, Measurement]]) -> list[dict[str, Any]]:
    """Make a table of runs over workers, beside those of the same graphs on one; none without such runs."""
    graphs = {
        one.graph.get("digest") for _, one in members if any("worker" in search for search in one.searches)
    }
    rows: list[list[Any]] = []
    for label, one in members:
        if one.algorithm != "bfs" or not one.searches or one.graph.get("digest") not in graphs:
            continue
        taken = busy(one)
        edges, slowest = sum(search["edges"] for search in one.searches), max(taken)
        single = rates(one.searches, "edges")
        rows.append(
            [
                label,
                len(taken),
                len(one.searches),
                slowest,
                edges / slowest / 1e6 if slowest > 0 else None,
                harmonic_mean(single) if single else None,
                sum(taken) / len(taken) / slowest if slowest > 0 else None,
            ]
        )
    if not graphs:
        return []
    return [
        {
            "kind": "table",
            "title": "Sources over workers",
            "about": "Each worker held the whole graph and searched from its share of the sources. The "
            "total rate counts the edges of all searches over the time of the slowest worker. It "
            "is not the rate of one search. Loading the graph and returning labels are not "
            "included.",
            "columns": [
                "run",
                "workers",
                "searches",
                "ms of the slowest worker",
                f"{EDGE_RATE} of all",
                f"{EDGE_RATE} of a search, harmonic mean",
                "evenness",
            ],
            "rows": rows,
        }
    ]
