"""Edges made on all threads of the CPU, each from its number alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import edges, make, vertex_type
from gravel.kernels.row_blocks import even_blocks, run_blocks


def make_edges(
    fill: Callable[..., None], vertices: int, first: int, count: int, *given: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count`; arrays (count,).

    `fill(source, target, first, *given)` is compiled, and fills a part that starts with the edge `first`,
    uint64.
    """
    source, target = make(edges(count, vertex_type(vertices), "host"), numpy).values()

    def part(low: int, high: int) -> None:
        fill(source[low:high], target[low:high], numpy.uint64(first + low), *given)

    run_blocks(part, even_blocks(count))
    return source, target
