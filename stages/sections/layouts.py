"""Sizes of compressed and partitioned graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stages.artifacts import CompressedGraph, Partition


def _plain(statistics: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in statistics.items() if not isinstance(value, dict | list)}


def _table(
    title: str, about: str, first: list[str], rows: list[tuple[list[Any], dict[str, Any]]]
) -> dict[str, Any]:
    names = list(dict.fromkeys(name for _, statistics in rows for name in statistics))
    return {
        "kind": "table",
        "title": title,
        "about": about,
        "columns": [*first, *(name.replace("_", " ") for name in names)],
        "rows": [[*start, *(statistics.get(name) for name in names)] for start, statistics in rows],
    }


def compressed_sections(members: Sequence[tuple[str, CompressedGraph]]) -> list[dict[str, Any]]:
    """Make the table of layouts with bits per arc and ratio."""
    rows = [
        ([label, one.codec, one.vertex_count, one.arc_count], _plain(one.statistics))
        for label, one in members
    ]
    first = ["run", "codec", "vertices", "arcs"]
    return [_table("Layouts", "", first, rows)]


def partition_sections(members: Sequence[tuple[str, Partition]]) -> list[dict[str, Any]]:
    """Make the table of partitions with delegates and arcs per class."""
    rows = [
        ([label, one.ranks, one.threshold, one.arc_count], _plain(one.statistics)) for label, one in members
    ]
    first = ["run", "ranks", "degree threshold", "arcs"]
    return [_table("Partitions", "", first, rows)]
