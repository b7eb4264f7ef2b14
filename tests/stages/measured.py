"""Measurements made up for tests of reports."""

from __future__ import annotations

from typing import Any

from gravel.stages.artifacts import Measurement


def searched(
    strategy: str,
    milliseconds: float,
    *,
    graph: str = "a",
    prepare: float = 0.5,
    batch: int = 1,
    asked: dict[str, Any] | None = None,
    counted: bool = False,
    levels: int = 2,
    arcs: int = 904,
    times: tuple[float, ...] = (1.0, 1.0),
) -> Measurement:
    """Searches of a graph of 31 vertices with this strategy, each so many times `milliseconds`."""
    records = []
    for place, share in enumerate(times):
        curves: dict[str, Any] = {"vertices": [1] * levels, "arcs": [4] * levels, "pulled": []}
        record: dict[str, Any] = {
            "source": place,
            "milliseconds": milliseconds * share,
            "map_back_milliseconds": 1.0,
            "batch": batch,
            "reached": 31,
            "arcs": arcs,
            "edges": arcs // 2,
            "depth": levels - 1 + place,
            "levels": curves,
        }
        if counted:
            record |= {"expanded": 1130, "redundant_expansion": 1.25}
            curves |= {"expanded": [5] * levels, "distinct": [3] * levels}
        records.append(record)
    return Measurement(
        algorithm="bfs",
        strategy=strategy,
        reason="asked for",
        backend="cpu",
        hardware="a test",
        prepare_milliseconds=prepare,
        searches=records,
        graph={"vertices": 31, "arcs": arcs, "symmetric": True, "digest": graph},
        asked={
            "strategy": strategy,
            "tuning": {},
            "backend": "auto",
            "threads": None,
            "output": "distance",
            **(asked or {}),
        },
    )
