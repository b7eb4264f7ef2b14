"""Arrays of searches for strongly connected components, beside the rows that they read.

`gravel.kernels.buffers` adds them up; `item` are bytes of a vertex.
"""

from __future__ import annotations

from gravel.kernels.buffers import Table, table
from gravel.kernels.ordered.buffers import strong_components

HUB, STATES = 4096, 10  # as in forward_backward.cu


def forward_backward(vertices: int, arcs: int, item: int) -> Table:
    """Arrays of forward_backward.cu."""
    vertex, each = f"u{item}", (f"u{item}", vertices)
    return table(
        **dict.fromkeys(("component", "colours", "inward", "outward", "members"), each),
        queue=(vertex, 2 * vertices),
        hubs=(vertex, arcs // HUB + 1),
        stamp=("u4", vertices),
        state=("u8", STATES, 0),
        arrivals=("u8", 1, 0),
    )


def forward_backward_on_host(vertices: int, item: int) -> Table:
    """Arrays of the same search on the CPU, with the degrees and what it marks on its way."""
    number, none = ("i8", vertices), (f"u{item}", vertices, (1 << 8 * item) - 1)
    found = (f"u{item}", vertices)
    labels = table("host", component=none, colours=none, queue=number, seen=("b1", vertices, 0))
    return labels + table("host", inward=number, outward=number, found=found, left=found)


def tarjan(vertices: int, item: int) -> Table:
    """What the search of one after the other takes, and its labels."""
    return *strong_components(vertices, item), *table("host", component=(f"u{item}", vertices))
