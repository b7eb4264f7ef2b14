"""Sizes of compressed and partitioned graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import COLORS, Axis, Rows, RowSeries, figure
from gravel.stages.sections.studies import short_labels

if TYPE_CHECKING:
    from gravel.stages.artifacts import CompressedGraph, Partition


MAX_BARS = 40
"""Layouts in one figure; more are in the table alone."""


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
    packed = [(label, one) for label, one in members if one.statistics.get("bits_per_arc")]
    drawn = [_bits_per_arc(packed)] if 1 < len(packed) <= MAX_BARS else []
    return [_table("Layouts", "", first, rows), *drawn]


def _bits_per_arc(members: Sequence[tuple[str, CompressedGraph]]) -> dict[str, Any]:
    names = short_labels([label for label, _ in members])
    bits = [float(one.statistics["bits_per_arc"]) for _, one in members]
    codecs = list(dict.fromkeys(one.codec for _, one in members))

    bars = RowSeries(
        name="bits per arc",
        values=tuple(bits),
        colors=tuple(codecs.index(one.codec) % COLORS for _, one in members),
        words=tuple(f"{value:.3g}" for value in bits),
    )
    panel = Rows(of="layout", names=tuple(names), axis=Axis(label="bits per arc", low=0), series=(bars,))
    return figure(
        "Bits per arc",
        "Of the rows alone, without their offsets.",
        [panel],
        dict(zip(names, bits, strict=True)),
        alt=f"Bits per arc of {len(names)} layouts",
    )


def partition_sections(members: Sequence[tuple[str, Partition]]) -> list[dict[str, Any]]:
    """Make the table of partitions with delegates and arcs per class."""
    rows = [
        ([label, one.ranks, one.threshold, one.arc_count], _plain(one.statistics)) for label, one in members
    ]
    first = ["run", "ranks", "degree threshold", "arcs"]
    return [_table("Partitions", "", first, rows)]
