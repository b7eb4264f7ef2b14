"""Searches that ran together, apart from all others: their rates compare with each other alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.rates import EDGE_RATE
from gravel.stages.sections.told import told

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement


def batches_table(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    """Make the table of searches that ran together."""
    rows = []
    for label, one in members:
        sizes = [search["batch"] for search in one.searches]
        whole = [search["milliseconds"] * size for search, size in zip(one.searches, sizes, strict=True)]
        taken = sum(search["milliseconds"] for search in one.searches)
        edges = sum(search["edges"] for search in one.searches)
        rows.append(
            [
                label,
                one.strategy,
                one.backend,
                len(sizes),
                max(sizes),
                median(whole),
                taken / len(sizes),
                edges / taken / 1e6 if taken > 0 else None,
                one.prepare_milliseconds,
            ]
        )
    return {
        "kind": "table",
        "title": "Batches of searches",
        "about": " ".join(
            [
                "Many sources were searched at once and shared the arcs that were read. Rates are "
                "those of a whole batch, so do not compare them with rates of single searches.",
                *told(members),
            ]
        ),
        "columns": [
            "run",
            "strategy",
            "backend",
            "searches",
            "at once",
            "ms a batch, median",
            "ms a search, share",
            f"{EDGE_RATE} of whole batches",
            "preparation ms",
        ],
        "rows": rows,
    }
