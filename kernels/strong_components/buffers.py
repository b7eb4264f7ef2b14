"""Arrays of searches for strongly connected components, beside the rows that they read.

`gravel.kernels.buffers` adds them up; `item` are bytes of a vertex.
"""

from __future__ import annotations

from dataclasses import replace

from gravel.kernels.buffers import Buffer, Table

HUB, STATES = 4096, 10  # as in forward_backward.cu


def forward_backward(vertices: int, arcs: int, item: int) -> Table:
    """Arrays of forward_backward.cu."""
    vertex, names = f"u{item}", ("component", "colours", "inward", "outward", "members")
    return (
        *(Buffer(name, vertex, vertices) for name in names),
        Buffer("queue", vertex, 2 * vertices),
        Buffer("hubs", vertex, arcs // HUB + 1),
        Buffer("stamp", "u4", vertices),
        Buffer("state", "u8", STATES, fill=0),
        Buffer("arrivals", "u8", 1, fill=0),
    )


def forward_backward_on_host(vertices: int, item: int) -> Table:
    """Arrays of the same search on the CPU, with the degrees and what it marks on its way."""
    vertex, none = f"u{item}", (1 << 8 * item) - 1
    return _at_host(
        Buffer("component", vertex, vertices, fill=none),
        Buffer("colours", vertex, vertices, fill=none),
        Buffer("queue", "i8", vertices),
        Buffer("seen", "b1", vertices, fill=0),
        *(Buffer(name, "i8", vertices) for name in ("inward", "outward")),
        *(Buffer(name, vertex, vertices) for name in ("found", "left")),
    )


def tarjan(vertices: int, item: int) -> Table:
    """Arrays of `gravel.kernels.ordered.strong_components`, and the labels."""
    return _at_host(
        *(Buffer(name, "i8", vertices) for name in ("offsets", "preorder", "lowlink", "next")),
        *(Buffer(name, f"u{item}", vertices) for name in ("members", "path", "stack", "component")),
        Buffer("done", "u1", vertices),
    )


def _at_host(*buffers: Buffer) -> Table:
    return tuple(replace(each, place="host") for each in buffers)
