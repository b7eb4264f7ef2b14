"""What a run read from files, and what it left out: lines that stand beside the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache

MAX_NOTES = 12
"""Lines beside an answer; all of them stand with the stage runs."""


def reading_notes(record: Mapping[str, Any], cache: Cache) -> list[str]:
    """List what ingest says of its files, and how many edges are left out where there is one graph."""
    readers = [stage for stage in record["stages"] if stage["stage"] == "ingest" and stage.get("remarks")]
    notes = [remark for stage in readers for remark in stage["remarks"]]
    if len(readers) == 1:
        notes += _left_out(record, cache)
    more = len(notes) - MAX_NOTES
    return (
        notes
        if more <= 0
        else [*notes[:MAX_NOTES], f"and {more:,} more notes, which stand with the stage runs"]
    )


def _left_out(record: Mapping[str, Any], cache: Cache) -> list[str]:
    outputs = [name for stage in record["stages"] for name in stage.get("outputs", ())]
    found = [each for name in dict.fromkeys(outputs) if (each := cache.find(name)) is not None]
    lists = [each for each in found if each.kind == "EdgeList"]
    graphs = [each for each in found if each.kind == "Graph"]
    if len(lists) != 1 or len(graphs) != 1 or graphs[0].attributes["loop_count"]:
        return []
    edges, arcs = lists[0].extent.arcs, graphs[0].extent.arcs
    left = edges - (arcs // 2 if graphs[0].attributes["symmetric"] else arcs)
    return [f"{left:,} of {edges:,} edges are self-loops or duplicates, and left out"] if left > 0 else []
