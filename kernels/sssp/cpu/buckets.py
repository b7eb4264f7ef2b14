"""The pile of farther vertices, and the bucket of the nearest of them."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.sssp.buffers import queues
from gravel.kernels.sssp.cpu.words import lengthened

THREADED_FROM = 1 << 15
"""Vertices of a frontier from which on threads are worth waking."""

CHUNK = 1 << 12
"""Vertices of a frontier that a thread takes at a time."""

NEAR, OTHER, FAR, KEPT, ROUND = range(5)
"""Numbers of a search: of both frontiers, of both halves of the pile, and of the round."""


class Queues:
    """What a search has for each vertex: four queues, the round of its last entry, whether it is piled."""

    def __init__(self, vertices: int) -> None:
        *of_vertices, self.marks, self.piled = make(queues(vertices), numpy).values()
        self.of_vertices = tuple(of_vertices)

    def clear(self) -> None:
        """Forget the last search."""
        self.marks[:] = 0
        self.piled[:] = 0


@serial
def next_bucket(
    words: NDArray[Any],
    piled: NDArray[Any],
    counts: NDArray[Any],
    bound: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    kept: NDArray[Any],
    width: Any,
) -> bool:
    """Move the nearest of the pile to the frontier, and who stays to `kept`; say whether there were any.

    The bucket begins at the nearest one, so that none is empty. What has come nearer meanwhile is left out.
    """
    if counts[FAR] == 0:
        return False
    begin = bound[0]
    nearest = words.dtype.type(numpy.int64(-1))
    for i in range(counts[FAR]):
        word = words[far[i]]
        if begin <= word < nearest:
            nearest = word
    bound[0] = max(lengthened(nearest, width), nearest + words.dtype.type(1))
    for i in range(counts[FAR]):
        v = far[i]
        word = words[v]
        if begin <= word < bound[0]:
            near[counts[NEAR]] = v
            counts[NEAR] += 1
            piled[v] = 0
        elif word < begin:
            piled[v] = 0
        else:
            kept[counts[KEPT]] = v
            counts[KEPT] += 1
    counts[FAR], counts[KEPT] = counts[KEPT], 0
    return True
