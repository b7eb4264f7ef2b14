"""What an order does to the size of rows: bits per arc by order and layout (Moschou, sections 4.4, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.charts import figure, map_panel
from gravel.stages.sections.axes import MAX_SIDE
from gravel.stages.sections.cells import Cell

COLUMN_BITS = 32
"""Of a neighbour in Moschou's CSR, over which a ratio of 1.48 is stated."""


def compression_sections(cells: Sequence[Cell]) -> list[dict[str, Any]]:
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
        rows.append(
            [
                graph,
                order,
                ordering.get("bandwidth"),
                ordering.get("mean_gap"),
                *each,
                layouts[each.index(least)],
                COLUMN_BITS / least if least else None,
            ]
        )
    table = {
        "kind": "table",
        "title": "Compression by order",
        "about": (
            "Bandwidth and mean gap are the largest and the mean |u - v| over arcs. Bits per arc "
            "count the rows without their offsets. The ratio is that of 32-bit columns to the "
            "smallest layout. Moschou states 1.48 for varint on Friendster in crawl order."
        ),
        "columns": [
            "graph",
            "order",
            "bandwidth",
            "mean gap",
            *(f"{layout}, bits per arc" for layout in layouts),
            "smallest",
            "ratio",
        ],
        "rows": rows,
    }
    packed = [layout for layout in layouts if any(bits.get((*key, layout)) != COLUMN_BITS for key in orders)]
    return [table, _maps(bits, orders, packed)]


def _maps(bits: Any, orders: Any, layouts: Sequence[str]) -> dict[str, Any]:
    graphs = list(dict.fromkeys(graph for graph, _ in orders))
    panels, data = [], {}
    for graph in graphs:
        names = [order for each, order in orders if each == graph][:MAX_SIDE]
        grid = [[bits.get((graph, order, layout)) for layout in layouts] for order in names]
        panels.append(map_panel(graph, grid, names, layouts, unit="bits per arc"))
        data[graph] = {"orders": names, "layouts": list(layouts), "bits": grid}
    return figure(
        "Bits per arc by order and layout",
        "Darker means more; the least of each graph is framed.",
        panels,
        data,
        columns=2,
        alt=f"Heat maps of bits per arc over order and layout of {len(graphs)} graphs",
    )
