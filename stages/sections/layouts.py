"""Sizes of compressed and partitioned graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from gravel.stages.artifacts import CompressedGraph, Partition
from gravel.stages.charts import COLORS, Axis, Rows, RowSeries, map_panel
from gravel.stages.sections.cells import Cell
from gravel.stages.sections.section import Made, Place, Section, figure, table
from gravel.stages.sections.studies import short_labels
from gravel.stages.sections.study import MAX_SIDE

MAX_BARS = 40
"""Layouts in one figure; more are in the table alone."""


def _plain(statistics: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in statistics.items() if not isinstance(value, dict | list)}


def _table(
    title: str, first: list[str], rows: list[tuple[list[Any], dict[str, Any]]], **place: Unpack[Place]
) -> Made:
    names = list(dict.fromkeys(name for _, statistics in rows for name in statistics))
    return table(
        title,
        "",
        [*first, *(name.replace("_", " ") for name in names)],
        [[*start, *(statistics.get(name) for name in names)] for start, statistics in rows],
        **place,
    )


def compressed_sections(members: Sequence[tuple[str, CompressedGraph]]) -> list[Made]:
    """Make the table of layouts with bits per arc and ratio."""
    rows = [
        ([label, one.codec, one.vertex_count, one.arc_count], _plain(one.statistics))
        for label, one in members
    ]
    first = ["run", "codec", "vertices", "arcs"]
    packed = [(label, one) for label, one in members if one.statistics.get("bits_per_arc")]
    drawn = [_bits_per_arc(packed)] if 1 < len(packed) <= MAX_BARS else []
    return [_table("Layouts", first, rows, covered_by=("compression by order",)), *drawn]


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
        covered_by=("bits by order", "bits over axes"),
    )


def partition_sections(members: Sequence[tuple[str, Partition]]) -> list[Made]:
    """Make the table of partitions with delegates and arcs per class."""
    rows = [
        ([label, one.ranks, one.threshold, one.arc_count], _plain(one.statistics)) for label, one in members
    ]
    first = ["run", "ranks", "degree threshold", "arcs"]
    return [_table("Partitions", first, rows)]


COLUMN_BITS = 32
"""Of a neighbour in Moschou's CSR, over which a ratio of 1.48 is stated."""


def compression_sections(cells: Sequence[Cell]) -> list[Made]:
    """Make the table of all orders of each graph and a heat map of bits per arc; none without layouts."""
    sized = [cell for cell in cells if cell.bits is not None and not cell.advised]
    layouts = list(dict.fromkeys(cell.layout for cell in sized))
    bits = {(cell.graph, cell.order, cell.layout): cell.bits for cell in sized}
    orders = {(cell.graph, cell.order): cell.ordering for cell in sized}
    if not orders or len(layouts) < 2:
        return []
    rows = []
    for (graph, order), ordering in orders.items():
        each = [bits.get((graph, order, layout)) for layout in layouts]
        least = min(value for value in each if value is not None)
        facts = (graph, order, ordering.get("bandwidth"), ordering.get("mean_gap"), *each)
        rows.append([*facts, layouts[each.index(least)], COLUMN_BITS / least if least else None])
    orders_table = table(
        "Compression by order",
        "Bandwidth and mean gap are the largest and the mean |u - v| over arcs. Bits per arc count the rows "
        "without their offsets. The ratio is that of 32-bit columns to the smallest layout. Moschou states "
        "1.48 for varint on Friendster in crawl order.",
        [
            "graph",
            "order",
            "bandwidth",
            "mean gap",
            *(f"{layout}, bits per arc" for layout in layouts),
            "smallest",
            "ratio",
        ],
        rows,
        name="compression by order",
    )
    packed = [layout for layout in layouts if any(bits.get((*key, layout)) != COLUMN_BITS for key in orders)]
    return [orders_table, _bits_maps(bits, orders, packed)]


def _bits_maps(bits: Any, orders: Any, layouts: Sequence[str]) -> dict[str, Any]:
    graphs = list(dict.fromkeys(graph for graph, _ in orders))
    panels, data = [], {}
    for graph in graphs:
        names = [order for each, order in orders if each == graph][:MAX_SIDE]
        grid = [[bits.get((graph, order, layout)) for layout in layouts] for order in names]
        panels.append(map_panel(graph, grid, names, layouts, unit="bits per arc"))
        data[graph] = {"orders": names, "layouts": list(layouts), "bits": grid}
    return figure(
        "Bits per arc by order and layout",
        "Darker cells have larger values. The smallest of each graph has a frame.",
        panels,
        data,
        columns=2,
        alt=f"Heat maps of bits per arc over order and layout of {len(graphs)} graphs",
        result=360,
        name="bits by order",
    )


SECTIONS = (
    Section(rank=12, make=compression_sections, needs=("cells",)),
    Section(rank=70, make=partition_sections, kinds=("Partition", "DistributedGraph")),
    Section(rank=100, make=compressed_sections, kinds=("CompressedGraph",)),
)
