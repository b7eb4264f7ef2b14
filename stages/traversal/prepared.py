"""How a graph was prepared for a search: its order, layout and split over ranks, as reports tell them.

A measurement carries this itself, so that a report needs neither the order nor the rows, which may be too
large to be kept.
"""

from __future__ import annotations

from typing import Any

from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition


def prepared(stored: Graph | CompressedGraph | Partition) -> dict[str, Any]:
    """Return `order`, `rows` and `partition`, each with the statistics of its artifact, if there is one.

    `order` has `method`, `rows` has `codec`, `partition` has `ranks` and `threshold`.
    """
    found: dict[str, Any] = {}
    if isinstance(stored, Ordering):
        found["order"] = {"method": stored.method, **stored.statistics}
    if isinstance(stored, CompressedGraph):
        statistics = dict(stored.statistics)
        order = statistics.pop("order", None)
        if order is not None:
            found["order"] = order
        found["rows"] = {"codec": stored.codec, **statistics}
    if isinstance(stored, Partition):
        found["partition"] = {"ranks": stored.ranks, "threshold": stored.threshold, **stored.statistics}
    return found
