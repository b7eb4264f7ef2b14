"""Hubs first and by descending degree; the others keep their order.

Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia (Making Caches Work for Graph Analytics, IEEE Big Data 2017):
only hubs are worth sorting, since the others gain nothing and lose their neighbourhood.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.order.groups import above_mean, by_group


def hub_sort(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number hubs by descending degree, equal ones by vertex, then the others; returns (vertices,)."""
    vertices = len(row_offsets) - 1
    least = above_mean(vertices, int(row_offsets[-1]))
    order = by_group(row_offsets, [least])
    if vertices:
        _sort_hubs(row_offsets, least, order)
    return order


@serial
def _sort_hubs(row_offsets: NDArray[numpy.int64], least: int, order: NDArray[Any]) -> None:
    # A counting sort over the degrees of hubs.
    longest = least
    for vertex in range(len(order)):
        longest = max(longest, row_offsets[vertex + 1] - row_offsets[vertex])
    place = numpy.zeros(longest - least + 2, numpy.int64)
    for vertex in range(len(order)):
        degree = row_offsets[vertex + 1] - row_offsets[vertex]
        if degree >= least:
            place[longest - degree + 1] += 1
    for rank in range(longest - least + 1):
        place[rank + 1] += place[rank]
    for vertex in range(len(order)):
        degree = row_offsets[vertex + 1] - row_offsets[vertex]
        if degree >= least:
            order[vertex] = place[longest - degree]
            place[longest - degree] += 1
